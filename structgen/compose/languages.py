"""In: a spec. Out: its texts as a regular language, where they are one that is known as such."""

from __future__ import annotations

from structgen.grammar.specs import GrammarSpec
from structgen.regular.regex import Regex as Language
from structgen.regular.regex import words
from structgen.schema.specs import Choice, Regex, Spec


def language_of(spec: Spec) -> Language | None:
    """The regular language of a pattern, a choice, a filter, or a combination of such; else None.

    Raises what compiling the spec would raise.
    """
    if isinstance(spec, Regex):
        from structgen.regular.syntax.ecma import parse

        return parse(spec.pattern, anchored=True)
    if isinstance(spec, Choice):
        return words(spec.texts)
    found = getattr(spec, "language", None)
    language: Language | None = None if found is None else found()
    return language


def regular_language_of(spec: Spec) -> Language | None:
    """`language_of`, also of a grammar without recursion, which is not read as a pattern by itself.

    Raises what compiling the spec would raise.
    """
    return spec.regular_language() if isinstance(spec, GrammarSpec) else language_of(spec)
