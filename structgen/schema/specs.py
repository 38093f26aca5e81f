"""In: what a user wants the text to be. Out: specs, each of which makes its machine.

A spec is a frozen value: `JsonSchema`, `Regex`, `Choice`, or `PythonType` (in `python_types`).
`coerce` turns what `compile` and `generate` accept (a Pydantic model, a schema as a dict) into one.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from structgen.automata.interface import Automaton, Stored
from structgen.automata.pushdown.machine import Machine, TextMachine
from structgen.errors import BudgetError, SpecError, UnsatisfiableSchemaError

if TYPE_CHECKING:
    from referencing import Registry

    from structgen.constraint.constraint import Constraint
    from structgen.grammar.ir import Grammar
    from structgen.schema.normal_form.nodes import Node
    from structgen.schema.partial_json import PartialValue
    from structgen.vocabulary.vocabulary import Vocabulary

ORDERS = ("declared", "any")
FORMATS = ("assert", "annotate")
SPELLINGS = ("auto", "natural", "any")
SURROGATES = ("refuse", "allow")


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
        from structgen.schema.partial_json import PartialValue

        return PartialValue(begun=bool(text), value=text, open=())

    def as_rules(self) -> Grammar | None:
        """The rules by which a grammar can take these texts in as its own; None if it cannot."""
        return None

    def expected(self, automaton: Automaton, at: int, _read: bytes) -> str:
        """What may come next in words, where its automaton has read a beginning up to `at`."""
        return automaton.expected(at)

    def portable(self) -> Spec:
        """A spec of the same texts that `from_json` can make again."""
        return self

    def constraint(self, vocabulary: Vocabulary, max_bytes: int) -> Constraint:
        """What `structgen.compile` makes of the spec."""
        from structgen.constraint.constraint import Constraint

        return Constraint(self, vocabulary, self.automaton(), max_bytes=max_bytes)


class MachineSpec(Spec):
    """A set of texts that a pushdown automaton over lexemes reads."""

    @abstractmethod
    def machine(self) -> Machine[Any]:
        """The machine that reads exactly these texts. Raises the errors of `structgen.errors`."""

    def automaton(self, saved: Stored | None = None) -> Automaton:
        """See `Spec.automaton`."""
        from structgen.automata.pushdown.engine import Engine

        if saved is not None:
            return Engine.restored(self.machine, saved)
        machine = self.machine()
        return Engine(lambda: machine)

    @classmethod
    def restored(cls, spec: Callable[[], Spec], saved: Stored) -> Automaton:
        """See `Spec.restored`; the spec is made when the saved tables do not suffice."""
        from structgen.automata.pushdown.engine import Engine

        def machine() -> Machine[Any]:
            made = spec()
            if not isinstance(made, MachineSpec):
                raise TypeError(f"{made.kind} has no machine")
            return made.machine()

        return Engine.restored(machine, saved)


@dataclass(frozen=True)
class JsonSchema(MachineSpec):
    """The JSON texts whose value is valid against a schema.

    schema: an object, a boolean, or JSON text. property_order: "declared" writes the keys of
    `properties` as they appear, then other required keys, then any others; "any" leaves the order
    free. whitespace: "bounded" (an optional space, or line break with indentation, between
    lexemes), "compact" (none), "any" (all that JSON allows), or a pattern for the gaps. formats:
    "assert" the formats of the specifications, or "annotate" all. registry: further documents that
    references may lead to; nothing is ever fetched. spelling: "natural" writes integers in digits
    (never 1.0 or 1e2) and keys without needless escapes, "any" allows every spelling; "auto" is
    "any" where order and white space are both "any", else "natural". surrogates: "refuse" unpaired
    surrogates such as \\ud800, or "allow" their escapes in values that are strings, where each is
    one character that patterns see as U+FFFD.

    With property_order="any" and whitespace="any" the language is exactly the set of JSON texts
    (RFC 8259, without duplicate keys and unpaired surrogates) whose value is valid; of numbers with
    an exponent, under constraints, those whose point is near the first digit (see
    `automaton.numbers`).
    """

    schema: Any
    property_order: str = "declared"
    whitespace: str = "bounded"
    formats: str = "assert"
    spelling: str = "auto"
    registry: Registry[Any] | None = field(default=None, compare=False)
    surrogates: str = "refuse"
    kind: ClassVar[str] = "json_schema"

    def __post_init__(self) -> None:
        if isinstance(self.schema, str | bytes):
            object.__setattr__(self, "schema", load_json(self.schema))
        if self.property_order not in ORDERS:
            raise SpecError(
                f"property_order is {self.property_order!r}", expected=" or ".join(ORDERS)
            )
        if self.formats not in FORMATS:
            raise SpecError(f"formats is {self.formats!r}", expected=" or ".join(FORMATS))
        if self.spelling not in SPELLINGS:
            raise SpecError(f"spelling is {self.spelling!r}", expected=" or ".join(SPELLINGS))
        if self.surrogates not in SURROGATES:
            raise SpecError(f"surrogates is {self.surrogates!r}", expected=" or ".join(SURROGATES))

    @property
    def natural(self) -> bool:
        """Whether values are spelled the usual way only."""
        free = self.property_order == self.whitespace == "any"
        return self.spelling == "natural" or (self.spelling == "auto" and not free)

    def machine(self) -> Machine[Any]:
        """See `MachineSpec.machine`."""
        from structgen.schema.keywords.schemas import Schemas
        from structgen.schema.machine.any_value import free_machine
        from structgen.schema.machine.lexicon import json_lexicon
        from structgen.schema.machine.machine import JsonMachine
        from structgen.schema.machine.whitespace import layout_of

        layout, gap = layout_of(self.whitespace, self.natural, self.surrogates == "allow")
        declared = self.property_order == "declared"
        schemas = Schemas(
            self.schema,
            assert_formats=self.formats == "assert",
            declared=declared,
            gap=gap,
            natural=self.natural,
            registry=self.registry,
        )
        try:
            schemas.complete()
            root = schemas.node(schemas.root)
            possible = schemas.costs.possible(schemas.root)
        except RecursionError as error:
            raise BudgetError(
                "the schema is nested too deeply", hint="nest subschemas less deeply"
            ) from error
        if not possible:
            raise UnsatisfiableSchemaError(
                "no JSON value fits the schema",
                location="#",
                expected="at least one value",
                hint="look for constraints that exclude each other",
            )

        def describe(nodes: Iterable[Node]) -> str:
            from structgen.schema.report.words import Words

            return Words(schemas).values(nodes)

        lexicon = json_lexicon(layout, "natural" if self.natural else "any", declared, gap)
        free = free_machine(layout, declared, gap)
        return JsonMachine(root, schemas.node, schemas.costs, layout, describe, lexicon, free)

    def parse(self, text: str) -> Any:
        """The JSON value."""
        return json.loads(text)

    def partial(self, text: str) -> PartialValue:
        """The JSON value so far."""
        from structgen.schema.partial_json import read_partial

        return read_partial(text)

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        documents = {}
        if self.registry is not None:
            from structgen.schema.references.documents import stated

            documents = {uri: stated(self.registry[uri]) for uri in self.registry}
        return {
            "schema": self.schema,
            "property_order": self.property_order,
            "whitespace": self.whitespace,
            "formats": self.formats,
            "spelling": self.spelling,
            "surrogates": self.surrogates,
            "documents": documents,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> JsonSchema:
        """The spec that `to_json` described."""
        documents = data.pop("documents", {})
        registry = None
        if documents:
            from referencing import Registry, Specification

            registry = Registry[Any]().with_contents(
                documents.items(), default_specification=Specification.OPAQUE
            )
        return cls(**data, registry=registry)


@dataclass(frozen=True)
class Regex(MachineSpec):
    """The texts that a pattern (ECMA-262) matches from end to end."""

    pattern: str
    kind: ClassVar[str] = "regex"

    def machine(self) -> Machine[Any]:
        """See `MachineSpec.machine`."""
        from structgen.regular.syntax.ecma import parse

        language = parse(self.pattern, anchored=True)
        if language.is_empty():
            raise UnsatisfiableSchemaError(
                "no text fits the pattern", location=self.pattern, expected="at least one text"
            )
        return TextMachine(language, f"text matching {self.pattern}")

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        return {"pattern": self.pattern}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Regex:
        """The spec that `to_json` described."""
        return cls(**data)


@dataclass(frozen=True)
class Choice(MachineSpec):
    """One of several texts."""

    texts: Sequence[str]
    kind: ClassVar[str] = "choice"

    def __post_init__(self) -> None:
        texts = self.texts
        if isinstance(texts, str) or not all(isinstance(t, str) for t in texts):
            raise SpecError("the choices are not a sequence of strings", expected="list[str]")
        object.__setattr__(self, "texts", tuple(texts))

    def machine(self) -> Machine[Any]:
        """See `MachineSpec.machine`."""
        from structgen.regular.regex import words

        if not self.texts:
            raise UnsatisfiableSchemaError("there is nothing to choose from", expected="a choice")
        return TextMachine(words(self.texts), "one of " + ", ".join(map(repr, self.texts[:9])))

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        return {"texts": list(self.texts)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Choice:
        """The spec that `to_json` described."""
        return cls(**data)


HOMES = {
    "json_schema": "structgen.schema.specs:JsonSchema",
    "regex": "structgen.schema.specs:Regex",
    "choice": "structgen.schema.specs:Choice",
    "lark": "structgen.grammar.specs:Lark",
    "gbnf": "structgen.grammar.specs:Gbnf",
    "ebnf": "structgen.grammar.specs:Ebnf",
    "grammar": "structgen.grammar.specs:Grammar",
    "literal": "structgen.compose.base:Literal",
    "free_text": "structgen.compose.sequences:FreeText",
    "sequence": "structgen.compose.sequences:InOrder",
    "any_of": "structgen.compose.sequences:AnyOf",
    "all_of": "structgen.compose.all_of:AllOf",
    "tag": "structgen.compose.tags:Tag",
    "tags": "structgen.compose.tags:Tags",
    "tools": "structgen.compose.tools.tools:Tools",
    "parameters": "structgen.compose.tools.parameters:Parameters",
    "filter": "structgen.compose.filters:Filter",
    "token_rule": "structgen.compose.token_rules:TokenRule",
}


def class_of(kind: object) -> type[Spec]:
    """The class of the specs of a kind. Raises SpecError."""
    home = HOMES.get(kind) if isinstance(kind, str) else None
    if home is None:
        raise SpecError(f"{kind!r} is no kind of spec", expected=" or ".join(HOMES))
    module, _, name = home.partition(":")
    found: type[Spec] = getattr(import_module(module), name)
    return found


def spec_of(data: dict[str, Any]) -> Spec:
    """The spec that `{"kind": spec.kind, **spec.to_json()}` describes. Raises SpecError."""
    rest = dict(data)
    made: Any = class_of(rest.pop("kind", None))
    try:
        spec: Spec = made.from_json(rest)
    except (TypeError, KeyError, AttributeError) as error:
        raise SpecError(f"this is no {data['kind']} spec: {error}") from error
    return spec


def load_json(text: str | bytes) -> Any:
    """Parse JSON; SpecError with line and column when it is not."""
    try:
        return json.loads(text)
    except UnicodeDecodeError as error:
        raise SpecError("the schema is not UTF-8", location=f"byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise SpecError(
            f"the schema is not JSON: {error.msg}",
            location=f"line {error.lineno} column {error.colno}",
            expected="JSON text",
        ) from error
    except RecursionError as error:
        raise SpecError("the schema is nested too deeply to be read") from error


def coerce(spec: Any) -> Spec:
    """The spec that a user's object means: a spec, a Python type, or a schema as dict or bool."""
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, dict | bool):
        return JsonSchema(spec)
    from structgen.schema.python.types import PythonType, is_python_type

    if is_python_type(spec):
        python_type: Spec = PythonType(spec)
        return python_type
    from structgen.grammar.combinators import Piece
    from structgen.grammar.specs import Grammar as PieceGrammar

    if isinstance(spec, Piece):
        return PieceGrammar(spec)
    raise SpecError(
        f"{spec!r} is not a spec",
        expected="JsonSchema, Regex, Lark, ..., a schema as a dict, or a Python type",
        hint="for JSON text use structgen.JsonSchema(text)",
    )
