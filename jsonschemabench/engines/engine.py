"""The interface that an engine offers to be measured: compile, start, mask, accept, done.

A new engine is one file with a subclass of `Engine`, and one line in `jsonschemabench.engines`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from structgen import Vocabulary
from structgen.grammar.ir import Lexing

Row = npt.NDArray[np.int32]

JSON_SCHEMA, LARK, GBNF, SHIPPED = "json_schema", "lark", "gbnf", "shipped"


@dataclass(frozen=True)
class Spec:
    """What an engine is asked to compile.

    kind: "json_schema", "lark", "gbnf" or "shipped". text: the schema as JSON text (every engine
    parses it by itself, within the measured time), the grammar, or its name if shipped.
    documents: further JSON documents by URI, for references; engines that take none ignore them.
    formats: "assert" or "annotate", for engines that leave the choice. lexing: of a Lark grammar
    "free", "longest" or "viable", likewise.
    """

    kind: str
    text: str
    documents: Mapping[str, Any] = field(default_factory=dict)
    formats: str = "assert"
    lexing: Lexing = "free"


class Refused(Exception):  # noqa: N818  a refusal is an answer of the engine, not a failure of ours
    """An engine says that it will not compile a spec.

    kind: "unsatisfiable" if it says that nothing fits, else the engine's own name for the reason,
    such as "unsupported". message: one line.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = " ".join(message.split())[:500]

    def __str__(self) -> str:
        return self.message


class Matcher(Protocol):
    """One text being written. Masks go into the row that `Compiled.start` was given."""

    def mask(self) -> None:
        """Write the allowed tokens into the row: bit t % 32 of word t // 32."""

    def accept(self, token: int) -> bool:
        """Go on by a token. False when it is not allowed; the matcher is then of no more use."""

    def done(self) -> bool:
        """Whether the text may end here."""

    def forced(self) -> bytes:
        """Bytes that must come next, b"" where there is a choice or the engine cannot say."""


class Compiled(Protocol):
    """A compiled spec. Only the matcher started last is in use, so it may be one started anew."""

    def start(self, row: Row) -> Matcher:
        """A matcher at the start of a text; row: int32, C-contiguous, shape (ceil(V / 32),)."""

    @property
    def memory_bytes(self) -> int | None:
        """Bytes that the compiled spec takes by the engine's own account, None if it has none."""


class Engine(ABC):
    """An engine, measured in a child process of its own.

    name: how commands and results call it. distribution: what pip installs. module: what is
    imported. settings: the choices made for it, as results files record them. kinds: the kinds of
    spec that it reads, the preferred dialect of grammars first.
    """

    name: ClassVar[str]
    distribution: ClassVar[str]
    module: ClassVar[str]
    settings: ClassVar[Mapping[str, str]]
    kinds: ClassVar[tuple[str, ...]]

    @classmethod
    def version(cls) -> str:
        """The installed version."""
        return metadata.version(cls.distribution)

    @abstractmethod
    def prepare(self, vocabulary: Vocabulary) -> None:
        """Take the vocabulary, once in a process; what later specs share is made here."""

    def settle(self) -> None:  # noqa: B027  most engines have nothing to make
        """Make what many specs need, as a server that runs for long does before its first one."""

    @abstractmethod
    def compile(self, spec: Spec) -> Compiled:
        """Compile a spec of one of `kinds`. Raises Refused."""


def has(row: Row, token: int) -> bool:
    """Whether a token's bit is set in a row."""
    return bool(int(row[token >> 5]) >> (token & 31) & 1)
