"""Grammars as Python expressions: `seq`, `alt`, `many`, `rule`, ... build pieces of a grammar.

    number = regex("[0-9]+")
    value = rule("value", lambda value: alt(number, seq("(", separated(value, ","), ")")))

A `str` stands for itself, and a spec for any of its texts; `Grammar` makes a spec of a piece. Such
a grammar is about characters only: it has the texts that can be cut into pieces in some way,
wherever each piece ends. There is no lexer that prefers the longest match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from structgen.errors import BudgetError, SpecError
from structgen.grammar.bnf import Bnf
from structgen.grammar.expressions import (
    NOTHING,
    Expression,
    Name,
    Nested,
    Text,
    choice,
    repeated,
    sequence,
)
from structgen.grammar.ir import Grammar as GrammarRules
from structgen.grammar.specs import GrammarSpec
from structgen.grammar.transforms.inlining import regular_language, with_inlining, without_inlining
from structgen.regular.regex import Regex as Language
from structgen.regular.regex import literal as literal_language
from structgen.regular.regex import words
from structgen.regular.syntax.ecma import parse
from structgen.schema.coerce import coerce
from structgen.schema.json_schema import JsonSchema
from structgen.spec.base import Spec
from structgen.spec.registry import spec_of
from structgen.spec.regular import Choice, Regex
from structgen.util.arguments import check_integer

_LARGEST = 1_000_000  # pieces of a grammar, each counted as often as it is used
START = "start"  #: the rule that stands for the whole text


class Piece:
    """A piece of grammar: a node of the tree that the functions of this module build.

    kind: "literal" (value: its text), "regex" (value: its pattern), "spec" (value: a `Spec`),
    "seq", "alt", "many" (value: low and high) or "rule" (value: its name; `define` gives the part).
    """

    __slots__ = ("kind", "parts", "value")

    def __init__(self, kind: str, parts: tuple[Piece, ...] = (), value: Any = None) -> None:
        self.kind = kind
        self.parts = parts
        self.value = value

    def define(self, piece: Piece | Spec | str) -> None:
        """Give the body of a rule that was made without one. Raises SpecError if it has one."""
        if self.kind != "rule" or self.parts:
            raise SpecError(f"{self!r} has been defined", hint="make another rule for it")
        self.parts = (as_piece(piece),)

    def as_spec(self) -> Grammar:
        """The spec of the texts that fit this piece."""
        return Grammar(self)

    def __repr__(self) -> str:
        shown = "" if self.value is None else f" {self.value!r}"
        return f"<{self.kind}{shown[:60]}>"


def literal(text: str) -> Piece:
    """Exactly this text."""
    if not isinstance(text, str):
        raise SpecError(f"{text!r} is not a text", expected="str")
    return Piece("literal", value=text)


def regex(pattern: str) -> Piece:
    """A text that a pattern (ECMA-262) matches from end to end."""
    return Piece("regex", value=Regex(pattern).pattern)


def json_schema(schema: Any, **options: Any) -> Piece:
    """A JSON text that is valid against a schema; options as for `JsonSchema`."""
    return Piece("spec", value=JsonSchema(schema, **options))


def ref(spec: Any) -> Piece:
    """A text of another spec: a grammar in any language, a schema, a Python type, ..."""
    return Piece("spec", value=coerce(spec))


def seq(*parts: Piece | Spec | str) -> Piece:
    """The parts one after the other."""
    return Piece("seq", tuple(map(as_piece, parts)))


def alt(*parts: Piece | Spec | str) -> Piece:
    """One of the parts. Raises SpecError when there is none."""
    if not parts:
        raise SpecError("there is nothing to choose from", expected="at least one part")
    return Piece("alt", tuple(map(as_piece, parts)))


def many(piece: Piece | Spec | str, low: int = 0, high: int | None = None) -> Piece:
    """The piece `low` to `high` times; None is no upper bound."""
    _check_counts(low, high)
    return Piece("many", (as_piece(piece),), (low, high))


def _check_counts(low: int, high: int | None) -> None:
    check_integer("low", low, error=SpecError)
    if high is not None:
        check_integer("high", high, error=SpecError)
    if low < 0 or (high is not None and high < low):
        raise SpecError(f"{low} to {high} times is impossible", expected="0 <= low <= high")


def some(piece: Piece | Spec | str) -> Piece:
    """The piece once or more often."""
    return many(piece, 1)


def optional(piece: Piece | Spec | str) -> Piece:
    """The piece or nothing."""
    return many(piece, 0, 1)


def separated(
    piece: Piece | Spec | str, by: Piece | Spec | str, low: int = 0, high: int | None = None
) -> Piece:
    """The piece `low` to `high` times with `by` between two of them."""
    _check_counts(low, high)
    if high == 0:
        return many(piece, low, 0)
    rest = many(seq(by, piece), max(low - 1, 0), None if high is None else high - 1)
    listed = seq(piece, rest)
    return listed if low > 0 else optional(listed)


def rule(
    name: str, piece: Piece | Spec | str | Callable[[Piece], Piece | Spec | str] | None = None
) -> Piece:
    """A piece with a name, which messages use and which may occur within itself.

    piece: what it is, or a function that is given the rule and says so; without it, `define` does.
    """
    made = Piece("rule", value=name)
    if callable(piece):
        made.define(piece(made))
    elif piece is not None:
        made.define(piece)
    return made


def as_piece(piece: Any) -> Piece:
    """A piece as it is, a text as a literal, anything else as a spec."""
    if isinstance(piece, Piece):
        return piece
    return literal(piece) if isinstance(piece, str) else ref(piece)


def grammar_of(piece: Piece, *, inlines_rules: bool = True) -> GrammarRules:
    """The grammar that starts with a piece. inlines_rules: whether small regular ones are.

    Raises SpecError for rules without a body or two of one name, BudgetError when it is too large.
    """
    try:
        expressions, name = _expressions(piece)
        bnf = Bnf(inlines=True)
        fold = with_inlining if inlines_rules else without_inlining
        for rule_name, expression in fold(expressions).items():
            bnf.add(rule_name, expression)
    except RecursionError as error:
        raise BudgetError("the grammar is nested too deeply", hint="use rules") from error
    return bnf.grammar(name)


def language_of(piece: Piece) -> Language | None:
    """The texts of a piece as a regular language, None if a rule is recursive."""
    try:
        return regular_language(*_expressions(piece))
    except RecursionError as error:
        raise BudgetError("the grammar is nested too deeply", hint="use rules") from error


def _expressions(piece: Piece) -> tuple[dict[str, Expression], str]:
    """The expression of every rule by its name, and the name of the rule to start from."""
    named = _rules(piece)
    _check_size([piece, *named.values()])
    expressions = {name: _expression(body) for name, body in named.items()}
    start = _expression(piece)
    name = start.name if isinstance(start, Name) else _free(START, expressions)
    expressions.setdefault(name, start)
    return expressions, name


def _free(name: str, taken: dict[str, Expression]) -> str:
    """A name that is not taken yet."""
    while name in taken:
        name += "'"
    return name


def _pieces(root: Piece) -> Iterator[Piece]:
    """A piece and all pieces inside it, each once."""
    seen = {id(root)}
    stack = [root]
    while stack:
        piece = stack.pop()
        yield piece
        for part in piece.parts:
            if id(part) not in seen:
                seen.add(id(part))
                stack.append(part)


def _rules(root: Piece) -> dict[str, Piece]:
    """The body of each rule inside a piece."""
    rules: dict[str, Piece] = {}
    for piece in _pieces(root):
        if piece.kind != "rule":
            continue
        if not piece.parts:
            raise SpecError(
                f"the rule {piece.value!r} is not defined",
                hint="call its define(...), or give rule(...) a piece",
            )
        if rules.setdefault(piece.value, piece.parts[0]) is not piece.parts[0]:
            raise SpecError(f"there are two rules {piece.value!r}", hint="rename one of the two")
    return rules


def _check_size(roots: list[Piece]) -> None:
    """Raise BudgetError when writing out pieces that are used twice would be too much."""
    sizes: dict[int, int] = {}
    stack = list(roots)
    while stack:
        piece = stack[-1]
        inner = () if piece.kind == "rule" else piece.parts
        missing = [part for part in inner if id(part) not in sizes]
        if missing:
            stack += missing
            continue
        stack.pop()
        sizes[id(piece)] = 1 + sum(sizes[id(part)] for part in inner)
        if sizes[id(piece)] > _LARGEST:
            raise BudgetError(f"the grammar has more than {_LARGEST} pieces", hint="use rules")


def _expression(piece: Piece) -> Expression:
    """The expression tree of a piece."""
    match piece.kind:
        case "literal":
            text = piece.value
            return Text(literal_language(text), repr(text)) if text else NOTHING
        case "regex":
            return Text(parse(piece.value, anchored=True), f"/{piece.value}/")
        case "spec":
            return _of_spec(piece.value)
        case "seq":
            return sequence(*map(_expression, piece.parts))
        case "alt":
            return choice(*map(_expression, piece.parts))
        case "many":
            return repeated(_expression(piece.parts[0]), *piece.value)
        case _:
            return Name(piece.value)


def _of_spec(spec: Spec) -> Expression:
    """The expression of a spec; regular ones need no automaton of their own."""
    if isinstance(spec, Regex):
        return Text(parse(spec.pattern, anchored=True), f"/{spec.pattern}/")
    if isinstance(spec, Choice):
        return Text(words(spec.texts), " | ".join(map(repr, spec.texts[:9])))
    return Nested(spec)


def to_json(root: Piece) -> dict[str, Any]:
    """A piece as JSON, from which `from_json` makes it again."""
    rules = {name: _json(body) for name, body in _rules(root).items()}
    return {"start": _json(root), "rules": rules}


def _json(piece: Piece) -> list[Any]:
    if piece.kind == "spec":
        portable = piece.value.portable()
        return ["spec", {"kind": portable.kind, **portable.to_json()}]
    if piece.kind == "many":
        return ["many", *piece.value, _json(piece.parts[0])]
    if piece.kind in ("seq", "alt"):
        return [piece.kind, *map(_json, piece.parts)]
    return [piece.kind, piece.value]


def from_json(data: dict[str, Any]) -> Piece:
    """The piece that `to_json` described."""
    rules = {name: rule(name) for name in data["rules"]}
    for name, body in data["rules"].items():
        rules[name].define(_piece(body, rules))
    return _piece(data["start"], rules)


def _piece(data: list[Any], rules: dict[str, Piece]) -> Piece:
    kind, *rest = data
    if kind == "rule":
        return rules[rest[0]]
    if kind == "spec":
        return Piece("spec", value=spec_of(rest[0]))
    if kind == "many":
        return Piece("many", (_piece(rest[2], rules),), (rest[0], rest[1]))
    if kind in ("seq", "alt"):
        return Piece(kind, tuple(_piece(part, rules) for part in rest))
    return Piece(kind, value=rest[0])


@dataclass(frozen=True)
class Grammar(GrammarSpec):
    """The texts of a piece of grammar, made by the combinators (`seq`, `alt`, `many`, ...).

    Equal when written the same way.
    """

    piece: Piece
    kind: ClassVar[str] = "grammar"

    def __post_init__(self) -> None:
        object.__setattr__(self, "piece", as_piece(self.piece))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grammar) and to_json(self.piece) == to_json(other.piece)

    def __hash__(self) -> int:
        return hash((self.piece.kind, len(self.piece.parts)))

    def rules(self) -> GrammarRules:
        """See `GrammarSpec.rules`."""
        return grammar_of(self.piece)

    def rules_as_written(self) -> GrammarRules:
        """See `GrammarSpec.rules_as_written`."""
        return grammar_of(self.piece, inlines_rules=False)

    def regular_language(self) -> Language | None:
        """See `GrammarSpec.regular_language`."""
        return language_of(self.piece)

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        return to_json(self.piece)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Grammar:
        """The spec that `to_json` described."""
        return cls(from_json(data))
