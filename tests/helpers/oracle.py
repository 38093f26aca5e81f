"""An oracle for schemas and patterns: what is allowed, by brute force.

The naive reference for the whole pipeline. It imports nothing from structgen: JSON is read by
`json`, schemas are judged by `jsonschema` (with numbers kept as exact decimals), patterns by `re`,
and a token is allowed iff some text of the language starts with prefix + token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import product
from random import Random
from typing import Any

import jsonschema
import jsonschema.validators
import referencing

from tests.helpers.evaluation import corrected, python_patterns

Decider = Callable[[bytes], bool]

DIALECTS = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}
MAX_EXPONENT = 100_000  # larger ones are read as this: no schema here tells them apart


# -- deciding whole texts -----------------------------------------------------------------------


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _decimal(text: str) -> Decimal:
    digits, _, exponent = text.lower().partition("e")
    power = max(-MAX_EXPONENT, min(int(exponent or 0), MAX_EXPONENT))
    return Decimal(f"{digits}e{power}")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key comes twice")
    return dict(pairs)


def read_json(data: bytes) -> Any:
    """The value of a JSON text (RFC 8259), numbers with a point or exponent as Decimal.

    ValueError for anything that is not one, that repeats a key, or has an unpaired surrogate.
    """
    value = json.loads(
        data.decode("utf-8"),
        parse_float=_decimal,
        parse_constant=_refuse,
        object_pairs_hook=_members,
    )
    json.dumps(value, default=str, ensure_ascii=False).encode("utf-8")
    return value


def _is_integer(_: Any, value: Any) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


def _multiple_of(
    validator: Any, step: Any, value: Any, _: Any
) -> Iterator[jsonschema.ValidationError]:
    if validator.is_type(value, "number") and Fraction(value) % Fraction(step):
        yield jsonschema.ValidationError(f"{value} is not a multiple of {step}")


def validator_for(
    schema: Any,
    registry: referencing.Registry[Any] | None = None,
    draft: int = 2020,
    formats: bool = False,
) -> Any:
    """A jsonschema validator that counts in exact decimals; `draft` where no `$schema` says.

    In draft 4 a number with a point or exponent is never an integer; the library has it so too.
    Keywords that the library gets wrong are those of `tests.helpers.evaluation`. formats: asserted.
    """
    exact = json.loads(json.dumps(schema), parse_float=Decimal)
    default = jsonschema.validators.validator_for({"$schema": DIALECTS[draft]})
    base = jsonschema.validators.validator_for(exact, default=default)
    types = base.TYPE_CHECKER
    if base is not jsonschema.Draft4Validator:
        types = types.redefine("integer", _is_integer)
    keywords = {"multipleOf": _multiple_of} | corrected(base.VALIDATORS)
    exact_class = jsonschema.validators.extend(base, keywords, type_checker=types)
    if isinstance(exact, dict):
        exact = python_patterns(exact)
        exact.pop("$schema", None)  # else the library's own class would judge where `#` is meant
    options: dict[str, Any] = {} if registry is None else {"registry": registry}
    return exact_class(exact, format_checker=_formats(base) if formats else None, **options)


def _formats(base: Any) -> jsonschema.FormatChecker:
    """The library's checks; the year 0000, which Python's dates lack and RFC 3339 has, counts."""
    checker = jsonschema.FormatChecker()
    checker.checkers = dict(base.FORMAT_CHECKER.checkers)
    for name in {"date", "date-time"} & set(checker.checkers):
        check, errors = checker.checkers[name]
        checker.checkers[name] = (partial(_with_year_zero, check), errors)
    return checker


def _with_year_zero(check: Callable[[object], bool], value: object) -> bool:
    is_zero = isinstance(value, str) and value.startswith("0000-")
    return check(f"2000{value[4:]}" if is_zero else value)  # type: ignore[index]


def json_decider(
    schema: Any,
    registry: referencing.Registry[Any] | None = None,
    draft: int = 2020,
    formats: bool = False,
) -> Decider:
    """Whether a text is JSON whose value is valid; formats are annotations unless `formats`."""
    validator = validator_for(schema, registry, draft, formats)

    def decide(data: bytes) -> bool:
        try:
            value = read_json(data)
        except ValueError:
            return False
        valid: bool = validator.is_valid(value)
        return valid

    return decide


def regex_decider(pattern: str) -> Decider:
    """Whether a text matches from end to end, by Python's `re`."""
    compiled = re.compile(pattern)

    def decide(data: bytes) -> bool:
        try:
            return compiled.fullmatch(data.decode("utf-8")) is not None
        except UnicodeDecodeError:
            return False

    return decide


# -- languages that can be written out ----------------------------------------------------------


def texts_over(alphabet: Sequence[str], length: int, decide: Decider) -> frozenset[bytes]:
    """All texts of up to `length` letters that `decide` lets through."""
    found = (
        "".join(letters).encode()
        for size in range(length + 1)
        for letters in product(alphabet, repeat=size)
    )
    return frozenset(text for text in found if decide(text))


def spellings(value: Any) -> list[bytes]:
    """Every compact JSON text of a value that has no numbers.

    Characters come in all escapes, hexadecimal digits in either case; keys come in every order.
    """
    if isinstance(value, str):
        parts = [_char_spellings(char) for char in value]
        return [b'"' + b"".join(chosen) + b'"' for chosen in product(*parts)]
    if isinstance(value, list):
        chosen_items = product(*map(spellings, value))
        return [b"[" + b",".join(items) + b"]" for items in chosen_items]
    if isinstance(value, dict):
        return [b"{" + b",".join(m) + b"}" for m in _member_lists(list(value.items()))]
    if value is None or isinstance(value, bool):
        return [json.dumps(value).encode()]
    raise TypeError(f"{value!r} has infinitely many spellings")


def _member_lists(members: list[tuple[str, Any]]) -> Iterator[list[bytes]]:
    if not members:
        yield []
    for i, (key, value) in enumerate(members):
        for start, spelt in product(spellings(key), spellings(value)):
            for rest in _member_lists(members[:i] + members[i + 1 :]):
                yield [start + b":" + spelt, *rest]


_SHORT = {'"': b'\\"', "\\": b"\\\\", "/": b"\\/", "\b": b"\\b", "\f": b"\\f", "\n": b"\\n",
          "\r": b"\\r", "\t": b"\\t"}  # fmt: skip


def _char_spellings(char: str) -> list[bytes]:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    digits = [units[i : i + 4] for i in range(0, len(units), 4)]
    cases = [[{d.lower(), d.upper()} for d in unit] for unit in digits]
    escaped = product(*(["".join(c) for c in product(*unit)] for unit in cases))
    found = [b"".join(b"\\u" + unit.encode() for unit in choice) for choice in escaped]
    if char in _SHORT:
        found.append(_SHORT[char])
    if char >= " " and char not in '"\\':
        found.append(char.encode())
    return found


def can_write(data: bytes, tokens: frozenset[bytes]) -> bool:
    """Whether the bytes are a sequence of tokens."""
    reached = {0}
    for at in range(len(data)):
        if at in reached:
            reached |= {at + len(t) for t in tokens if t and data.startswith(t, at)}
    return len(data) in reached


@dataclass(frozen=True)
class Finite:
    """A finite language, written out."""

    texts: frozenset[bytes]

    def rests(self, prefix: bytes) -> list[bytes]:
        """What may follow a prefix up to the end."""
        return [text[len(prefix) :] for text in self.rests_with(prefix)]

    def allows(self, prefix: bytes, token: bytes, tokens: frozenset[bytes]) -> bool:
        """Whether some text goes on with `token` and then in pieces that are all in `tokens`."""
        rests = (text[len(prefix) + len(token) :] for text in self.rests_with(prefix + token))
        return any(can_write(rest, tokens) for rest in rests)

    def rests_with(self, start: bytes) -> list[bytes]:
        """The texts that start like this."""
        return [text for text in self.texts if text.startswith(start)]

    def ends(self, prefix: bytes) -> bool:
        """Whether the prefix is a whole text."""
        return prefix in self.texts

    def shortest(self, prefix: bytes) -> int:
        """Bytes of the shortest rest."""
        return min(map(len, self.rests(prefix)))

    def forced(self, prefix: bytes) -> bytes:
        """The longest common prefix of all rests."""
        rests = self.rests(prefix)
        low, high = min(rests), max(rests)
        size = next(
            (i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low)
        )
        return low[:size]


# -- vocabularies -------------------------------------------------------------------------------

CROSSINGS = (b'":', b'"}', b'","', b'},{"', b"],[", b"1,", b"1]", b": ", b"{}", b"[]", b'{"', b'["')


def random_tokens(texts: Iterable[bytes], rng: Random, count: int = 30) -> list[bytes | None]:
    """A small vocabulary cut out of texts: pieces at any byte, duplicates, and tokens without text.

    Index = token id. Pieces cut UTF-8 characters and escapes, and cross lexemes.
    """
    pool = [text for text in texts if text] or [b"0"]
    tokens: list[bytes | None] = [b"", None]
    for _ in range(count):
        text = rng.choice(pool)
        at = rng.randrange(len(text))
        size = rng.choice((1, 1, 1, 2, 2, 3, 4, 7))
        tokens.append(text[at : at + size])
    tokens += rng.sample(CROSSINGS, 3)
    tokens.append(rng.choice(tokens[2:]))
    tokens.append(bytes(rng.randrange(256) for _ in range(rng.randrange(1, 4))))
    rng.shuffle(tokens)
    return tokens
