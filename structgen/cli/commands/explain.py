"""`structgen explain`: what may come next, or why a token may not, in words."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from structgen.cli import inputs, reading
from structgen.cli.options import (
    add_command,
    add_schema,
    add_tokenizer,
    integer,
    schema_options,
)
from structgen.cli.terminal import Terminal
from structgen.errors import VocabularyError

if TYPE_CHECKING:
    from structgen.vocabulary.vocabulary import Vocabulary

ALLOWED = 0
REFUSED = 1
SHOWN = 80  # characters of a text shown on one line


def add(commands: Any) -> None:
    """Add the command `explain`."""
    parser = add_command(
        commands, "explain", "Say what may come next after a beginning, and why not a token.", run
    )
    add_schema(parser, order="declared", whitespace="bounded")
    parser.add_argument("--prefix", metavar="TEXT", default="", help="the text so far")
    parser.add_argument("--token", metavar="TEXT", help="say whether this token may come next")
    parser.add_argument("--token-id", metavar="ID", type=integer(0), help="the same, by its id")
    parser.add_argument(
        "--top",
        metavar="N",
        type=integer(0),
        default=20,
        help="number of allowed tokens to show (default: 20)",
    )
    parser.add_argument("--json", action="store_true", help="write the answer as JSON")
    add_tokenizer(parser)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Exit status 0 if the beginning (and the token) is allowed, 1 if not."""
    import structgen

    spec = inputs.load_spec(args.schema, schema_options(args))
    vocabulary = inputs.load_vocabulary(args)
    tokens = asked_tokens(args, vocabulary)
    constraint = structgen.compile(spec, vocabulary)
    prefix = reading.argument(args.prefix, "--prefix").encode()
    fits = constraint.read(constraint.start, prefix)[1]
    state = constraint.advance_bytes(constraint.start, prefix[:fits])
    if fits < len(prefix):
        reason = f"the beginning does not fit: {refusal(constraint, state, prefix, fits)}"
        found = {"fits": False, "offset": fits, "reason": reason}
        terminal.result(json.dumps(found, ensure_ascii=False) if args.json else reason)
        return REFUSED
    if not tokens:
        if args.json:
            found = as_json(constraint, state, prefix, args.top)
            terminal.json(found)
        else:
            describe(constraint, state, prefix, args.top, terminal)
        return ALLOWED
    verdicts = [judge(constraint, state, prefix, data, ids) for data, ids in tokens.items()]
    if args.json:
        judged = [
            {"ids": ids, "text": text_of(data), "allowed": fine, "reason": words}
            for (data, ids), (fine, words) in zip(tokens.items(), verdicts, strict=True)
        ]
        terminal.json({"fits": True, "tokens": judged})
    else:
        for _, words in verdicts:
            terminal.result(words)
    return ALLOWED if all(fine for fine, _ in verdicts) else REFUSED


def as_json(constraint: Any, state: int, prefix: bytes, top: int) -> dict[str, Any]:
    """What may follow `state`, for a program; docs/cli.md says what each key means."""
    from structgen.masks import bitmask
    from structgen.util.json_pointer import json_pointer

    vocabulary = constraint.vocabulary
    allowed = bitmask.ids_of(constraint, state).tolist()
    shown = [i for i in allowed if i not in vocabulary.eos_ids][:top]
    return {
        "fits": True,
        "offset": len(prefix),
        "path": json_pointer(prefix),
        "expected": constraint.expected(state),
        "next_bytes": sorted(constraint.allowed_bytes(state)),
        "may_end": constraint.is_accepting(state),
        "forced": text_of(constraint.forced_bytes(state)),
        "shortest_end": text_of(constraint.shortest_completion(state)),
        "tokens_allowed": len(allowed),
        "tokens": [{"id": i, "text": text_of(vocabulary.token_bytes(i))} for i in shown],
    }


def text_of(data: bytes) -> str:
    """Bytes as text; what is no UTF-8 is written as `\\xNN`."""
    return data.decode(errors="backslashreplace")


def asked_tokens(args: argparse.Namespace, vocabulary: Vocabulary) -> dict[bytes, list[int]]:
    """The tokens of `--token` and `--token-id`: their bytes, and the ids that have these bytes.

    VocabularyError for an id that does not exist.
    """
    found: dict[bytes, list[int]] = {}
    if args.token is not None:
        data = reading.argument(args.token, "--token").encode()
        if not data:
            raise VocabularyError("--token is empty", expected="some text")
        found[data] = [int(i) for i in vocabulary.text_ids if vocabulary.token_bytes(i) == data]
    if args.token_id is not None:
        found.setdefault(vocabulary.token_bytes(args.token_id), []).append(args.token_id)
    return found


def judge(
    constraint: Any, state: int, prefix: bytes, data: bytes, ids: list[int]
) -> tuple[bool, str]:
    """Whether the token `data` (of one or several ids) may follow, and why, or why not."""
    import structgen

    vocabulary = constraint.vocabulary
    named = f"{quoted(data)} (token {', '.join(map(str, ids))})" if ids else quoted(data)
    if any(constraint.advance(state, i) != structgen.DEAD for i in ids):
        return True, f"{named} may come next"
    if any(i in vocabulary.eos_ids for i in ids):
        rest = quoted(constraint.shortest_completion(state))
        return False, f"{named} ends the text, which is not complete: it lacks at least {rest}"
    if any(i in vocabulary.special_ids for i in ids) or not data:
        return False, f"{named} is a special or empty token; no text contains it"
    fits = constraint.read(state, data)[1]
    if fits == len(data):
        return True, f"{named} is no single token of this tokenizer, but these bytes may come next"
    inside = constraint.advance_bytes(state, data[:fits])
    reason = refusal(constraint, inside, prefix + data, len(prefix) + fits, len(prefix))
    return False, f"{named} may not come next: {reason}"


def refusal(constraint: Any, state: int, text: bytes, offset: int, start: int = 0) -> str:
    """Which byte of `text` is refused at `state`, where, and what was expected there.

    start: where the part of the text begins that is shown before the byte.
    """
    after = f" after {quoted(text[start:offset])}" if offset > start else ""
    byte = quoted(text[offset : offset + 1])
    expected = constraint.expected(state)
    return f"{byte} at {place(text[:offset])}{after} is refused; expected {expected}"


def place(before: bytes) -> str:
    """The place behind a beginning: its offset, and the JSON Pointer of the value being read."""
    from structgen.util.json_pointer import json_pointer

    pointer = json_pointer(before)
    return f"byte {len(before)}" + (f" inside {pointer}" if pointer else "")


def describe(constraint: Any, state: int, prefix: bytes, top: int, terminal: Terminal) -> None:
    """Print what may follow `state`."""
    from structgen.masks import bitmask
    from structgen.util.byte_words import in_words

    vocabulary = constraint.vocabulary
    lines = {
        "place": place(prefix),
        "expected": constraint.expected(state),
        "next byte": in_words(sorted(constraint.allowed_bytes(state))),
        "may end here": "yes" if constraint.is_accepting(state) else "no",
        "must go on with": quoted(constraint.forced_bytes(state)) or "nothing in particular",
        "shortest end": quoted(constraint.shortest_completion(state)) or "here",
    }
    allowed = bitmask.ids_of(constraint, state).tolist()
    texts = [quoted(vocabulary.token_bytes(i)) for i in allowed if i not in vocabulary.eos_ids]
    lines["tokens allowed"] = f"{len(allowed)} of {vocabulary.size}"
    if texts[:top]:
        more = " ..." if len(texts) > top else ""
        lines["among them"] = " ".join(texts[:top]) + more
    for name, value in lines.items():
        terminal.result(f"{terminal.styled(f'{name:16}', 'dim', on_out=True)} {value}")


def quoted(data: bytes) -> str:
    """Bytes as quoted text, cut if long; "" for none."""
    if not data:
        return ""
    text = data.decode(errors="backslashreplace")
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")
