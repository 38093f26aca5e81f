"""Rules about the tokens of a text: which ones, and how many.

A rule about each token is a smaller vocabulary. A rule about their number is a constraint that
counts: a token is allowed if some tokens after it end the text in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from structgen.automata.interface import Automaton, Stored
from structgen.compose.base import from_json, to_json
from structgen.constraint.constraint import Constraint, constraint_of
from structgen.errors import UnsupportedSchemaError
from structgen.regular.regex import matches
from structgen.spec.base import Spec
from structgen.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True)
class TokenRule(Spec):
    """Texts in tokens that each fit `each` (None: any), `at_least` to `at_most` of them."""

    each: Spec | None = None
    at_least: int = 0
    at_most: int | None = None
    kind: ClassVar[str] = "token_rule"

    def automaton(self, saved: Stored | None = None) -> Automaton:
        """Raises UnsupportedSchemaError: see `constraint`."""
        self._refuse(saved)

    def _refuse(self, _saved: object) -> NoReturn:
        raise UnsupportedSchemaError(
            "a rule about tokens says nothing about a text by itself",
            hint="compile it with a vocabulary: alone, or in all_of with one other spec or more",
        )

    def of_text(self) -> Spec:
        """See `Spec.of_text`."""
        from structgen.compose.sequences import FreeText

        return FreeText()

    def narrowed(self, vocabulary: Vocabulary) -> Vocabulary:
        """The vocabulary without the tokens that break the rule, or are not whole characters."""
        language = None if self.each is None else self.each.language()
        if language is None:
            return vocabulary
        tokens = list(vocabulary.tokens)
        for token_id in vocabulary.text_ids.tolist():
            try:
                kept = matches(language, vocabulary.token_bytes(token_id).decode())
            except UnicodeDecodeError:
                kept = False
            if not kept:
                tokens[token_id] = None
        return Vocabulary(
            tokens,
            eos_ids=vocabulary.eos_ids,
            special_ids=vocabulary.special_ids,
            encode=vocabulary.encode,
            prefix=vocabulary.prefix,
        )

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        each = None if self.each is None else to_json(self.each)
        return {"each": each, "at_least": self.at_least, "at_most": self.at_most}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TokenRule:
        """The spec that `to_json` described."""
        each = None if data["each"] is None else from_json(data["each"])
        return cls(each, data["at_least"], data["at_most"])


def constraint_under(
    rules: Sequence[TokenRule],
    spec: Spec,
    texts: Automaton,
    vocabulary: Vocabulary,
    max_bytes: int,
) -> Constraint:
    """The constraint of `spec`, whose texts an automaton reads, under rules about tokens."""
    for rule in rules:
        vocabulary = rule.narrowed(vocabulary)
    least = max((rule.at_least for rule in rules), default=0)
    bounds = [rule.at_most for rule in rules if rule.at_most is not None]
    if least == 0 and not bounds:
        return Constraint(spec, vocabulary, texts, max_bytes=max_bytes)
    from structgen.compose.product.automaton import Product
    from structgen.compose.product.counted import Counted, CountingConstraint
    from structgen.compose.sequences import FreeText

    counted = Counted(Product(texts, FreeText().automaton()), least, min(bounds, default=None))
    return CountingConstraint(spec, vocabulary, counted, max_bytes)


@constraint_of.register
def _of_rule(rule: TokenRule, vocabulary: Vocabulary, max_bytes: int) -> Constraint:
    return constraint_under([rule], rule, rule.of_text().automaton(), vocabulary, max_bytes)
