"""The base of all specs: a set of texts, as an immutable value that makes an automaton."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from structgen.automata.interface import Automaton, Stored
from structgen.automata.pushdown.engine import Engine
from structgen.automata.pushdown.machine import Machine
from structgen.regular.regex import Regex
from structgen.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from structgen.spec.partial_json import PartialValue

ANY_BYTE = frozenset(range(256))


class Captured(NamedTuple):
    """A piece of a text that a rule of a grammar has read. start, end: in characters."""

    name: str
    text: str
    start: int
    end: int


class ReadToken(NamedTuple):
    """A token that has been read. start, end: where its text stands, in characters.

    apart: whether it can only have been read for itself, as special tokens are, not for its bytes.
    """

    number: int
    text: bytes
    start: int
    end: int
    apart: bool


class Spec(ABC):
    """A set of texts: what a user asks for.

    kind: the name under which `spec.registry` and saved files know the class.
    """

    kind: ClassVar[str]

    @abstractmethod
    def automaton(self, saved: Stored | None = None) -> Automaton:
        """The automaton of exactly these texts: new, or as `Automaton.stored` described it.

        Raises the errors of `structgen.errors`.
        """

    @classmethod
    def restored(cls, spec: Callable[[], Spec], saved: Stored) -> Automaton:
        """The automaton that `Automaton.stored` described, with the same positions.

        `spec` makes the spec, which may take long; it is only called when something is missing.
        """
        return spec().of_text().automaton(saved)

    def of_text(self) -> Spec:
        """The spec without its rules about tokens, which an automaton over bytes cannot know."""
        return self

    def narrowed(self, vocabulary: Vocabulary) -> Vocabulary:
        """The vocabulary without the tokens that the spec rules out."""
        return vocabulary

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The spec as JSON, from which `from_json` makes it again."""

    def parse(self, text: str) -> Any:
        """The value that a text of this spec stands for."""
        return text

    def captures(
        self,
        text: str,  # noqa: ARG002
        tokens: Sequence[ReadToken] = (),  # noqa: ARG002
    ) -> tuple[Captured, ...]:
        """What rules of a grammar are to capture of a finished text, in the order they end.

        tokens: those that wrote the text, where the grammar names tokens. Raises SpecError for a
        text that does not fit.
        """
        return ()

    def partial(self, text: str) -> PartialValue:
        """The value so far of a text that is not finished; here, the text itself."""
        from structgen.spec.partial_json import PartialValue

        return PartialValue(begun=bool(text), value=text, open=())

    def expected(self, automaton: Automaton, at: int, _read: bytes) -> str:
        """What may come next, in words for messages; `at` is the position after a beginning."""
        return automaton.expected(at)

    def portable(self) -> Spec:
        """A spec of the same texts that can be written as JSON (a Python type becomes a schema)."""
        return self

    def as_read(self) -> Spec:
        """The spec whose texts `parse` of a composed spec takes: others may have written them."""
        return self

    def language(self) -> Regex | None:
        """The texts as a regular language; None where they are not known to be one.

        Raises what compiling the spec would raise.
        """
        return None

    def regular_language(self) -> Regex | None:
        """The same, but also for grammars without recursion, whose `language` is None."""
        return self.language()

    def last_bytes(self) -> frozenset[int]:
        """Bytes that a text may end with; all 256 where that is not known."""
        return ANY_BYTE


class MachineSpec(Spec):
    """A spec whose texts a pushdown automaton over lexemes reads (`automata.pushdown`)."""

    @abstractmethod
    def machine(self) -> Machine[Any]:
        """The machine that reads exactly these texts. Raises the errors of `structgen.errors`."""

    def automaton(self, saved: Stored | None = None) -> Automaton:
        """See `Spec.automaton`."""
        if saved is not None:
            return Engine.restored(self.machine, saved)
        machine = self.machine()
        return Engine(lambda: machine)

    @classmethod
    def restored(cls, spec: Callable[[], Spec], saved: Stored) -> Automaton:
        """See `Spec.restored`; the spec is made when the saved tables do not suffice."""

        def machine() -> Machine[Any]:
            made = spec()
            if not isinstance(made, MachineSpec):
                raise TypeError(f"{made.kind} has no machine")
            return made.machine()

        return Engine.restored(machine, saved)
