"""The language of a grammar that is regular, where some of its terminals are large.

Rules may be recursive at one end of their alternatives, as lists are.
"""

from __future__ import annotations

from collections.abc import Iterable

from structgen.grammar.ir import Alternative, Grammar, Rule
from structgen.grammar.transforms.lazy_terminals import LazyText, is_free, written
from structgen.regular.regex import EMPTY, Regex, alt, concat, repeat

MOST_WRITTEN = 100_000  # characters in the language, counts written out


def regular_language(grammar: Grammar) -> Regex | None:
    """The texts of a grammar with lazy terminals where they are a regular language, else None."""
    lazy = any(isinstance(t.nested, LazyText) for t in grammar.terminals.values())
    return _Languages(grammar).of_start() if lazy and not grammar.ignore else None


class _Languages:
    """The languages of rules that are not recursive, or only at one end of their alternatives."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._found: dict[str, Regex | None] = {}
        self._open: set[str] = set()

    def of_start(self) -> Regex | None:
        """The language of the start, None where it is not known to be regular or is too large."""
        try:
            found = self._of(self._grammar.start)
        except RecursionError:
            return None
        return None if found is None or written(found) > MOST_WRITTEN else found

    def _of(self, name: str) -> Regex | None:
        terminal = self._grammar.terminals.get(name)
        if terminal is not None:
            if isinstance(terminal.nested, LazyText):
                return terminal.nested.texts
            return terminal.language if is_free(terminal) else None
        if name not in self._found:
            if name in self._open:
                return None  # it is recursive by way of others
            self._open.add(name)
            found = self._of_rule(self._grammar.rules[name])
            self._open.remove(name)
            self._found[name] = found
        return self._found[name]

    def _of_rule(self, rule: Rule) -> Regex | None:
        """The language of a rule: X where X is a | b X is b* a, and where it is a | X b, a b*."""
        own = [a for a in rule.alternatives if rule.name in a]
        base = self._either(a for a in rule.alternatives if rule.name not in a)
        if base is None or not own:
            return base
        for end, cut in ((-1, slice(None, -1)), (0, slice(1, None))):
            if all(a[end] == rule.name and rule.name not in a[cut] for a in own):
                more = self._either(a[cut] for a in own)
                if more is None:
                    return None
                many = repeat(more, 0)
                return concat(many, base) if end else concat(base, many)
        return None

    def _either(self, alternatives: Iterable[Alternative]) -> Regex | None:
        found = []
        for alternative in alternatives:
            parts = [self._of(name) for name in alternative]
            if None in parts:
                return None
            found.append(concat(*(part for part in parts if part is not None)))
        return alt(*found) if found else EMPTY
