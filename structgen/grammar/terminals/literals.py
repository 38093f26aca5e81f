"""Which literals are matched by which patterns: keywords against names, as in Lark's lexer.

As in Lark's contextual lexer: a pattern that matches all of a literal of the same priority reads
it, and the lexeme's type is changed to the literal's where the text is the literal, unless the
pattern is ignored. The lexer then does not look for the literal itself. Where only the literal
ignores case, Lark looks for it behind the pattern, too; so it does where the pattern matches
nothing here. Whether a pattern matches a literal is decided with nothing before it, whatever stands
before it in a text.
"""

from __future__ import annotations

import numpy as np

from structgen.errors import UnsupportedSchemaError
from structgen.grammar.ir import Grammar, Terminal
from structgen.grammar.terminals.automata import FAR, VIOLATED, Automata, automata_of
from structgen.regular.regex import EMPTY, Regex


def literals_of(
    terminals: list[Terminal], automata: list[Automata], grammar: Grammar
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Pairs (pattern, literal) whose lexeme may be the literal; (literal, pattern) that reads it.

    Both by number in Lark's order. Raises UnsupportedSchemaError where a literal cannot be told
    from a pattern.
    """
    renames: list[tuple[int, int]] = []
    withins: list[tuple[int, int]] = []
    variants = grammar.variants
    ignored = {*grammar.ignore} if variants is None else variants.skipped
    for i, pattern in enumerate(terminals):
        if pattern.text is not None:
            continue
        for j, literal in enumerate(terminals):
            if literal.text is None or literal.priority != pattern.priority:
                continue
            if variants is None:
                reads = reads_whole(automata[i], literal.text)
            else:
                reads = (pattern.origin or pattern.name, literal.origin or literal.name) in (
                    variants.reads
                )
            if not reads:
                continue
            if pattern.name not in ignored:
                renames.append((i, j))
            if literal.flags <= pattern.flags:
                if variants is None or (pattern.name, literal.origin or literal.name) not in (
                    variants.apart
                ):
                    withins.append((j, i))
            elif i < j and not (pattern.origin and pattern.language is EMPTY):
                if variants is None:
                    check_told_apart(literal, pattern, automata[j], automata[i])
                withins.append((j, i))
    return renames, withins


def reads_whole(automata: Automata, text: str) -> bool:
    """Whether a terminal matches all of a text by itself."""
    state = 0
    for byte in text.encode():
        state = int(automata.next[state, byte])
        if state < 0:
            return False
    return bool(automata.accepts[state] and not automata.violated_at_end[automata.no_longer[state]])


def never_accepting(language: Regex) -> Automata:
    """The automata of a language with no accepting state: what the lexer looks for in vain."""
    found = automata_of(language, EMPTY, ordered=False)
    never, no_longer = np.zeros_like(found.accepts), np.zeros_like(found.no_longer)
    return found._replace(
        accepts=never, no_longer=no_longer, distance=np.full_like(found.distance, FAR)
    )


def check_told_apart(
    literal: Terminal, pattern: Terminal, words: Automata, matches: Automata
) -> None:
    """Raise UnsupportedSchemaError where a literal may end before it is known if a pattern matches.

    The pattern goes before the literal and matches it as written. words, matches: their automata.
    """
    todo = [(0, 0)]
    seen = set(todo)
    while todo:
        i, j = todo.pop()
        for byte in np.flatnonzero(words.next[j] >= 0).tolist():
            pair = (int(matches.next[i, byte]), int(words.next[j, byte]))
            if pair[0] < 0 or matches.no_match[pair[0]] == VIOLATED or pair in seen:
                continue
            if words.accepts[pair[1]]:
                raise UnsupportedSchemaError(
                    f"the lexer cannot tell {literal} from {pattern}, of which it may not be known"
                    " behind some of its spellings whether it matches there",
                    keyword="i",
                    location=str(literal.place or ""),
                    hint="let the pattern match every spelling, whatever follows",
                )
            seen.add(pair)
            todo.append(pair)
