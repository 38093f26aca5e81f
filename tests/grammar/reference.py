"""A reference recogniser for grammars, straight from the definitions, and Lark's answer.

A lexeme ends where `ir` says; symbols derive sets of ends from each start, as a least fixed point.
Nothing of the automata is used, and of the regular expressions only whether a text matches.
"""

from __future__ import annotations

import json
import signal
from functools import cache
from types import FrameType

from lark import Lark
from lark.exceptions import UnexpectedInput

from structgen.automata.interface import Automaton
from structgen.grammar.ir import Grammar, Terminal
from structgen.grammar.terminals.leftmost_first import MatchState
from structgen.regular.regex import matches
from structgen.spec.base import Spec
from structgen.spec.registry import spec_of


def accepts(grammar: Grammar, text: str) -> bool:
    """Whether a text is one of the grammar's, cut into terminals freely."""

    @cache
    def ends(name: str, start: int) -> frozenset[int]:
        """Where a terminal that starts somewhere may end."""
        return frozenset(ends_of(grammar.terminals[name], text, start))

    def skipped(start: int) -> set[int]:
        """The places that ignored terminals lead to."""
        found, todo = {start}, [start]
        while todo:
            at = todo.pop()
            new = {end for name in grammar.ignore for end in ends(name, at)} - found
            found |= new
            todo += new
        return found

    places = range(len(text) + 1)
    derived: dict[tuple[str, int], set[int]] = {
        (name, start): {end for at in skipped(start) for end in ends(name, at)}
        for name in grammar.terminals
        for start in places
    }
    derived |= {(name, start): set() for name in grammar.rules for start in places}
    grew = True
    while grew:
        grew = False
        for rule in grammar.rules.values():
            for start in places:
                found = derived[rule.name, start]
                before = len(found)
                for alternative in rule.alternatives:
                    reached = {start}
                    for name in alternative:
                        reached = {end for at in reached for end in derived[name, at]}
                    found |= reached
                grew = grew or len(found) > before
    return any(len(text) in skipped(end) for end in derived[grammar.start, 0])


def ends_of(terminal: Terminal, text: str, start: int) -> list[int]:
    """Where a terminal may end by itself; a spec's texts may end anywhere, and may be empty."""
    if terminal.nested is not None:
        places = range(start, len(text) + 1)
        return [end for end in places if fits(terminal.nested, text[start:end])]
    if terminal.lookahead is not None:
        return ends_ahead(terminal.lookahead, text, start)
    pieces = {end: text[start:end] for end in range(start + 1, len(text) + 1)}
    embedded = [end for end, piece in pieces.items() if matches(terminal.language, piece)]
    last = max((end for end, piece in pieces.items() if matches(terminal.longer, piece)), default=0)
    return [end for end in embedded if end >= last]


def ends_ahead(state: MatchState, text: str, start: int) -> list[int]:
    """Where matching may end that begins in a state, by what it says may follow there."""
    found = []
    for end in range(start, len(text) + 1):
        if matches(state.allowed_after(), text[end:]):
            found.append(end)
        following = [to for of, to in state.cached_moves() if end < len(text) and text[end] in of]
        if not following:
            break
        [state] = following
    return found


def fits(spec: Spec, text: str) -> bool:
    """Whether a spec by itself takes a text."""
    automaton = _automaton(spec.kind, json.dumps(spec.to_json()))
    at, _ = automaton.run(automaton.start, text.encode())
    return at >= 0 and automaton.is_accepting(at)


@cache
def _automaton(kind: str, source_rule: str) -> Automaton:
    return spec_of({"kind": kind, **json.loads(source_rule)}).automaton()


class _TooLongError(Exception):
    """Lark does not come to an end."""


def lark_accepts(parser: Lark, text: str) -> bool | None:
    """Whether Lark parses a text; None when it takes more than a second.

    Its Earley parser never ends on some grammars that repeat what may be empty, and stumbles over
    its own results where ignored text could be the end of the start rule as well.
    """

    def stop(_signal: int, frame: FrameType | None) -> None:
        """What is raised within a callback of the collector is lost: then the next tick does it."""
        if frame is not None and frame.f_globals["__name__"].startswith("lark."):
            raise _TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 1, 0.01)
    try:
        parser.parse(text)
    except UnexpectedInput:
        return False
    except _TooLongError:
        return None
    except RuntimeError as error:
        return "multiple start symbol items" in str(error) or None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return True
