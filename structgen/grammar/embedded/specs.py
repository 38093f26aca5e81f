"""Prepares a grammar with embedded specs: regular ones become terminals, others get automata.

Only where terminals, too, may end wherever they match can a regular spec be a terminal like any
other. The other specs are read by `embedded.automaton`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from structgen.automata.interface import Automaton, Stored
from structgen.errors import BudgetError, StructgenError, UnsatisfiableSchemaError
from structgen.grammar.expressions import without_empty
from structgen.grammar.ir import Alternative, Grammar, Rule, Terminal
from structgen.grammar.terminals.automata import automata_of
from structgen.grammar.transforms.useless import trimmed
from structgen.regular.regex import EMPTY
from structgen.spec.base import Spec

MOST_SAMPLES = 64


@dataclass(frozen=True, eq=False)
class EmbeddedSpec:
    """A spec inside a grammar, with its automaton.

    name: its terminal; source: that in the grammar as written. automaton: reads its texts, of which
    the empty one is left out. lasts: bytes with which they may end.
    """

    name: str
    source: str
    automaton: Automaton
    lasts: frozenset[int]

    @property
    def firsts(self) -> list[int]:
        """The bytes with which its texts begin."""
        return self.automaton.next_bytes(self.automaton.start)

    def samples(self) -> list[bytes]:
        """A shortest text for each first byte, or its beginning; of many first bytes for some."""
        automaton, completions = self.automaton, self.automaton.completions()
        firsts = self.firsts
        found = [] if firsts else [b"\xff"]  # a token has no text: no text begins so
        for byte in firsts[:MOST_SAMPLES]:
            text = bytes((byte,))
            with contextlib.suppress(BudgetError):  # one byte says less, but is right as well
                if len(firsts) <= MOST_SAMPLES:
                    text += completions.shortest(automaton.run(automaton.start, text)[0])
            found.append(text)
        return found


def has_embedded_specs(grammar: Grammar) -> bool:
    """Whether a grammar has embedded specs."""
    return any(terminal.nested is not None for terminal in grammar.terminals.values())


def with_automata(grammar: Grammar) -> tuple[Grammar, list[EmbeddedSpec]]:
    """The trimmed grammar in which only specs with an automaton are left, and these.

    Raises what compiling the specs raises, with the place in the grammar; UnsatisfiableSchemaError
    when no text fits the start.
    """
    rules, terminals = dict(grammar.rules), dict(grammar.terminals)
    inners: list[EmbeddedSpec] = []
    for terminal in trimmed(grammar).terminals.values():
        if terminal.nested is None:
            continue
        with _placed(terminal):
            made, may_be_empty = _made(terminal, terminal.nested, free=grammar.lexing == "free")
        del terminals[terminal.name]
        alternatives: list[Alternative] = [()] if may_be_empty else []
        if made is not None:
            name = f"{terminal.name}/text"
            alternatives.append((name,))
            if isinstance(made, EmbeddedSpec):
                inners.append(made)
                made = terminal
            terminals[name] = replace(made, name=name)
        rules[terminal.name] = Rule(terminal.name, tuple(alternatives), place=terminal.place)
    used = trimmed(replace(grammar, rules=rules, terminals=terminals))
    return used, [inner for inner in inners if inner.name in used.terminals]


def restored(grammar: Grammar, name: str, source: str, saved: Stored) -> EmbeddedSpec:
    """The spec of a terminal, whose automaton was stored. Raises KeyError."""
    spec = grammar.terminals[source].nested
    if spec is None:
        raise KeyError(source)
    return EmbeddedSpec(name, source, spec.automaton(saved), spec.portable().last_bytes())


def _made(
    terminal: Terminal, spec: Spec, *, free: bool
) -> tuple[Terminal | EmbeddedSpec | None, bool]:
    """The terminal or automaton of a spec, None if it has no texts; whether it may be empty."""
    language = spec.language() if free else None
    if language is not None:
        texts = without_empty(language)
        with contextlib.suppress(BudgetError):
            if texts is not EMPTY:
                automata_of(texts, EMPTY, False)
            return replace(terminal, language=texts, nested=None), language.nullable
    try:
        automaton = spec.automaton()
    except UnsatisfiableSchemaError:
        return None, False
    may_be_empty = automaton.is_accepting(automaton.start)
    inner = EmbeddedSpec(
        f"{terminal.name}/text", terminal.name, automaton, spec.portable().last_bytes()
    )
    has_texts = inner.firsts or automaton.specials(automaton.start)
    return inner if has_texts else None, may_be_empty


@contextlib.contextmanager
def _placed(terminal: Terminal) -> Iterator[None]:
    """Add the place in the grammar to the errors of a spec."""
    try:
        yield
    except StructgenError as error:
        where = str(terminal.place) if terminal.place else str(terminal)
        error.location = f"{where}: {error.location}" if error.location else where
        raise
