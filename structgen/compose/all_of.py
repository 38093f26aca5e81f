"""The intersection of specs: the texts that fit all of them, exactly (`all_of`).

Regular specs are intersected as languages. Another spec goes beside their intersection in a product
automaton; two that are not regular have no automaton together in general, and are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

from structgen.automata.interface import Automaton, Stored
from structgen.automata.pushdown.machine import Machine, TextMachine
from structgen.compose.base import as_spec, from_json, to_json
from structgen.compose.token_rules import TokenRule, constraint_under
from structgen.constraint.constraint import Constraint, constraint_of
from structgen.errors import SpecError, UnsatisfiableSchemaError, UnsupportedSchemaError
from structgen.grammar.specs import GrammarSpec
from structgen.regular.regex import Regex as Language
from structgen.regular.regex import intersect
from structgen.spec.base import MachineSpec, Spec
from structgen.spec.partial_json import PartialValue
from structgen.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True)
class _Rules(MachineSpec):
    """The intersection of the regular specs."""

    texts: Language
    words: str
    kind: ClassVar[str] = "rules"

    def language(self) -> Language:
        """The intersection."""
        return self.texts

    def machine(self) -> Machine[Any]:
        """See `MachineSpec.machine`."""
        return TextMachine(self.texts, f"text that fits all of {self.words}")

    def to_json(self) -> dict[str, Any]:
        """Never asked for: files hold the specs that are combined."""
        raise NotImplementedError


@dataclass(frozen=True)
class AllOf(Spec):
    """The texts that fit every one of the specs; parsed, the value of the first not regular one."""

    specs: tuple[Spec, ...]
    kind: ClassVar[str] = "all_of"

    def _parts(self) -> tuple[list[Spec], Language | None]:
        """The specs that are not known to be regular, and the intersection of the others."""
        texts = [spec for spec in self.specs if not isinstance(spec, TokenRule)]
        found = [(spec, spec.language()) for spec in texts]
        languages = [language for _, language in found if language is not None]
        others = [spec for spec, language in found if language is None]
        infinite = [spec for spec in others if not _is_finite(spec)]
        if len(infinite) > 1:
            regular_of = {id(spec): spec.regular_language() for spec in infinite}
            languages += [language for language in regular_of.values() if language is not None]
            others = [spec for spec in others if regular_of.get(id(spec)) is None]
        return others, intersect(*languages) if languages else None

    def language(self) -> Language | None:
        """The texts as a regular language, if each spec is one."""
        others, language = self._parts()
        return None if others or self.token_rules() else language

    def token_rules(self) -> list[TokenRule]:
        """Those of the specs that are rules about tokens."""
        return [spec for spec in self.specs if isinstance(spec, TokenRule)]

    def of_text(self) -> Spec:
        """See `Spec.of_text`."""
        rest = tuple(spec for spec in self.specs if not isinstance(spec, TokenRule))
        return self if len(rest) == len(self.specs) else AllOf(rest)

    def narrowed(self, vocabulary: Vocabulary) -> Vocabulary:
        """See `Spec.narrowed`."""
        for rule in self.token_rules():
            vocabulary = rule.narrowed(vocabulary)
        return vocabulary

    def automaton(self, saved: Stored | None = None) -> Automaton:
        """See `Spec.automaton`."""
        for rule in self.token_rules():
            rule.automaton()
        others, language = self._parts()
        words = " and ".join(spec.kind for spec in self.specs)
        rules: list[Spec] = []
        if language is not None:
            if language.is_empty():
                raise UnsatisfiableSchemaError(
                    f"no text fits all of {words}", expected="rules that do not exclude each other"
                )
            rules.append(_Rules(language, words))
        first, *more = [*sorted(others, key=_is_finite), *rules]
        for spec in more:
            if not _is_finite(spec):
                raise UnsupportedSchemaError(
                    f"all_of has two specs that are not regular, {first.kind} and {spec.kind}",
                    hint="combine JSON Schemas with allOf in one; state the rest as patterns",
                )
        return _together(first, more, saved) if more else first.automaton(saved)

    def expected(self, automaton: Automaton, at: int, read: bytes) -> str:
        """See `Spec.expected`. The automaton of a grammar names no more than its own terminals."""
        from structgen.grammar.automaton.automaton import GrammarAutomaton

        words = super().expected(automaton, at, read)
        if not isinstance(automaton, GrammarAutomaton) or automaton.guard is None:
            return words
        grammar = self._main()
        others = " and ".join(spec.kind for spec in self.specs if spec is not grammar)
        return f"{words}; also what {others} allows"

    def parse(self, text: str) -> Any:
        """The value. Raises what parsing raises."""
        return self._main().parse(text)

    def partial(self, text: str) -> PartialValue:
        """See `Spec.partial`."""
        return self._main().partial(text)

    def _main(self) -> Spec:
        """The spec that gives the value."""
        others, _ = self._parts()
        return others[0] if others else self.specs[0]

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        return {"specs": [to_json(spec) for spec in self.specs]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AllOf:
        """The spec that `to_json` described."""
        return cls(tuple(from_json(spec) for spec in data["specs"]))


def _together(first: Spec, more: list[Spec], saved: Stored | None) -> Automaton:
    """The automaton of a spec and others that are finite."""
    from structgen.compose.product.automaton import Product

    if isinstance(first, GrammarSpec):
        from structgen.compose.product.guarded import guarded, restored

        if saved is None:
            rules = reduce(Product, (spec.automaton() for spec in more))
            automaton = guarded(first, rules)
        else:
            automaton = restored(saved)
        if automaton is not None:
            return automaton
    result = first.automaton()
    for number, spec in enumerate(more, 1):
        result = Product(result, spec.automaton(), saved if number == len(more) else None)
    return result


def all_of(*specs: Any) -> Spec:
    """Texts that fit each of the specs; a string stands for itself.

    At most one of them may be something else than regular (a JSON Schema, a recursive grammar);
    patterns, choices, `filters`, what is made of these, and grammars without recursion but those of
    Lark are regular. `parse` gives the value of that one.
    Compiling raises UnsatisfiableSchemaError where no text fits all; BudgetError, also while text
    is written, where it takes too long to tell whether a text can still be finished. Beside a
    grammar that is decided (for rules of up to 2,000 positions); beside a JSON Schema it is
    searched for.
    """
    if not specs:
        raise SpecError("all_of has no specs", expected="a spec")
    return AllOf(tuple(map(as_spec, specs)))


def _is_finite(spec: Spec) -> bool:
    """Whether the automaton of a spec has finitely many positions for certain."""
    if spec.language() is not None:
        return True
    from structgen.compose.sequences import AnyOf, FreeText, InOrder
    from structgen.compose.tags import Tag, Tags

    if isinstance(spec, InOrder | AnyOf):
        return all(map(_is_finite, spec.specs))
    if isinstance(spec, Tags):
        return all(map(_is_finite, spec.tags))
    if isinstance(spec, Tag):
        return spec.content is None or _is_finite(spec.content)
    return isinstance(spec, FreeText)


@constraint_of.register
def _of_all(spec: AllOf, vocabulary: Vocabulary, max_bytes: int) -> Constraint:
    texts = spec.of_text().automaton()
    return constraint_under(spec.token_rules(), spec, texts, vocabulary, max_bytes)
