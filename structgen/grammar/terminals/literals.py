"""In: terminals in Lark's order, their automata. Out: which literals are read by which patterns.

As in Lark's contextual lexer: a pattern that matches all of a literal of the same priority reads
it, and the lexeme is renamed when it is the literal, unless it is ignored. Where only the literal
takes letters of either case, Lark looks for it behind the pattern, too; that finds what the pattern
cannot begin with, and so does a literal whose pattern has come to nothing. Whether a pattern
matches a literal is asked with nothing before it, whatever stands before it in a text.
"""

from __future__ import annotations

import numpy as np

from structgen.errors import UnsupportedSchemaError
from structgen.grammar.ir import Grammar, Terminal
from structgen.grammar.terminals.automata import VIOLATED, Automata, automata_of
from structgen.regular.regex import EMPTY, Regex

FAR = 1 << 28  # bytes to an end where there is none


def literals_of(
    terminals: list[Terminal], automata: list[Automata], grammar: Grammar
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Pairs (pattern, literal) where a match may be the literal; (literal, pattern) where it must.

    Raises UnsupportedSchemaError where a literal cannot be told from a pattern.
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
    """Automata that read the texts of a language and come to no end."""
    found = automata_of(language, EMPTY, ordered=False)
    never, no_longer = np.zeros_like(found.accepts), np.zeros_like(found.no_longer)
    return found._replace(
        accepts=never, no_longer=no_longer, distance=np.full_like(found.distance, FAR)
    )


def check_told_apart(
    literal: Terminal, pattern: Terminal, words: Automata, matches: Automata
) -> None:
    """Raise UnsupportedSchemaError where a literal may end while it is open if a pattern matches.

    The pattern goes before the literal, of which it matches the spelling that is written. words,
    matches: their automata.
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
