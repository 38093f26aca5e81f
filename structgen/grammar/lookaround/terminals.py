"""The automata that read a terminal, whether or not its pattern looks ahead."""

from __future__ import annotations

from structgen.grammar.ir import Terminal
from structgen.grammar.lookaround.lookahead import lookahead_automata
from structgen.grammar.terminals.automata import Automata, of_languages


def of_terminal(terminal: Terminal, ordered: bool) -> Automata:
    """The automata of a terminal. ordered: whether terminals have an order (not free lexing)."""
    if terminal.lookahead is None:
        return of_languages(terminal.language, terminal.longer, ordered)
    some = terminal.origin != ""
    return lookahead_automata(terminal.lookahead, terminal.language, ordered, some=some)
