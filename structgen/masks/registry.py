"""Find the class that computes the token masks of an automaton.

An automaton knows nothing of vocabularies. Its class names the class of its masks
(`Automaton.MASKS`), which stands above it, and is imported when masks are first asked for.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from structgen.automata.interface import Automaton, Masks
from structgen.vocabulary.vocabulary import Vocabulary


def masks_of(automaton: Automaton, vocabulary: Vocabulary) -> Masks:
    """The token masks of an automaton over a vocabulary, made anew."""
    made: Masks = _class_of(automaton.MASKS)(automaton, vocabulary)
    return made


@cache
def _class_of(name: str) -> type:
    module, _, found = name.partition(":")
    made: type = getattr(import_module(module), found)
    return made
