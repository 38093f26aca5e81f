"""What every spec is: a set of texts, which makes the automaton that reads them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from structgen.automata.interface import Automaton, Stored
from structgen.automata.pushdown.engine import Engine
from structgen.automata.pushdown.machine import Machine
from structgen.regular.regex import Regex
from structgen.spec.partial_json import PartialValue
from structgen.vocabulary.vocabulary import Vocabulary

ANY_BYTE = frozenset(range(256))


class Spec(ABC):
    """A set of texts."""

    kind: ClassVar[str]

    @abstractmethod
    def automaton(self, saved: Stored | None = None) -> Automaton:
        """What reads exactly these texts: new, or as `Automaton.stored` described it.

        Raises the errors of `structgen.errors`.
        """

    @classmethod
    def restored(cls, spec: Callable[[], Spec], saved: Stored) -> Automaton:
        """The automaton that `Automaton.stored` described, with the same positions.

        `spec` makes the spec, which may take long; it is called when something is missing.
        """
        return spec().of_text().automaton(saved)

    def of_text(self) -> Spec:
        """The spec without what it says of tokens: its automaton is that of its constraints."""
        return self

    def narrowed(self, vocabulary: Vocabulary) -> Vocabulary:
        """The vocabulary of its constraints: without the tokens that the spec rules out."""
        return vocabulary

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The spec as JSON, from which `from_json` makes it again."""

    def parse(self, text: str) -> Any:
        """The value that a text of this spec stands for."""
        return text

    def partial(self, text: str) -> PartialValue:
        """What the beginning of a text says already; here, itself."""
        return PartialValue(begun=bool(text), value=text, open=())

    def expected(self, automaton: Automaton, at: int, _read: bytes) -> str:
        """What may come next in words, where its automaton has read a beginning up to `at`."""
        return automaton.expected(at)

    def portable(self) -> Spec:
        """A spec of the same texts that `from_json` can make again."""
        return self

    def language(self) -> Regex | None:
        """The texts as a regular language, where they are one that is known as such; else None.

        Raises what compiling the spec would raise.
        """
        return None

    def regular_language(self) -> Regex | None:
        """`language`, also of a grammar without recursion, whose `language` is None."""
        return self.language()

    def last_bytes(self) -> frozenset[int]:
        """Bytes among which is the last byte of every text (all 256 where nobody knows)."""
        return ANY_BYTE


class MachineSpec(Spec):
    """A set of texts that a pushdown automaton over lexemes reads."""

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
