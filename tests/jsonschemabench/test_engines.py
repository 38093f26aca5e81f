"""All engines agree on trivial schemas and grammars, so each is called rightly."""

from __future__ import annotations

import importlib.util
import json
import warnings
from typing import Any

import numpy as np
import pytest

import structgen
from jsonschemabench.engines import ENGINES, available, engine_class
from jsonschemabench.engines.engine import GBNF, JSON_SCHEMA, LARK, Engine, Refused, Spec, has
from jsonschemabench.errors import EngineMissingError
from structgen import Vocabulary

END = 257
# Beside the single bytes one longer token, and a special one that must never be allowed in text.
TOKENS = [*(bytes((i,)) for i in range(256)), b"tr", b"<end>", b"<other>"]
VOCABULARY = Vocabulary(TOKENS, eos_ids=[END], special_ids=[258], encode=lambda t: [*t.encode()])

CASES: list[tuple[dict[str, Any], list[str], list[str]]] = [
    ({"type": "boolean"}, ["true", "false"], ["null", "tru", "truer"]),
    ({"type": "integer"}, ["0", "-17", "123"], ["01", '"1"', "-", "1a"]),
    ({"enum": ["a", 1]}, ['"a"', "1"], ['"b"', "2", '"a']),
    (
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "required": ["a"],
            "additionalProperties": False,
        },
        ['{"a": "x"}', '{"a": ""}'],
        ["{}", '{"a": 1}', '{"b": "x"}', '{"a": "x"'],
    ),
    (
        {"type": "array", "items": {"type": "null"}, "minItems": 1, "maxItems": 2},
        ["[null]", "[null, null]"],
        ["[]", "[1]", "[null, null, null]"],
    ),
]
GRAMMARS = {LARK: 'start: "SELECT " /[a-z]+/ ";"', GBNF: 'root ::= "SELECT " [a-z]+ ";"'}


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine that is installed."""
    try:
        made = engine_class(request.param)()
    except EngineMissingError as error:
        pytest.skip(str(error))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs are not ours to fix
        made.prepare(VOCABULARY)
    return made


def accepts(engine: Engine, spec: Spec, text: str) -> bool:
    """Whether the engine lets a text through byte by byte; its answers are compared on the way."""
    row = np.zeros(VOCABULARY.words, np.int32)
    matcher = engine.compile(spec).start(row)
    for token in text.encode():
        matcher.mask()
        assert not has(row, 258)
        assert has(row, END) == matcher.done()
        if not has(row, token):
            return False
        assert matcher.accept(token)
    matcher.mask()
    assert has(row, END) == matcher.done()
    return matcher.done() and bool(matcher.accept(END))


@pytest.mark.parametrize(("schema", "valid", "invalid"), CASES, ids=lambda v: json.dumps(v)[:30])
def test_engines_agree_on_trivial_schemas(
    engine: Engine, schema: dict[str, Any], valid: list[str], invalid: list[str]
) -> None:
    """Valid texts go through to the end token, the others do not."""
    spec = Spec(JSON_SCHEMA, json.dumps(schema))
    assert [t for t in valid if not accepts(engine, spec, t)] == []
    assert [t for t in invalid if accepts(engine, spec, t)] == []


def test_the_row_holds_the_mask_of_the_state(engine: Engine) -> None:
    """`true` begins with "t" or "tr"; behind that the only token is "u"."""
    row = np.full(VOCABULARY.words, -1, np.int32)
    compiled = engine.compile(Spec(JSON_SCHEMA, '{"enum": [true, "x"]}'))
    for _ in range(2):  # a second text begins where the first did
        matcher = compiled.start(row)
        matcher.mask()
        allowed = [TOKENS[t] for t in range(len(TOKENS)) if has(row, t)]
        assert [t for t in allowed if t.strip() and t != b'"'] == [b"t", b"tr"]
        assert matcher.accept(256)
        matcher.mask()
        assert [TOKENS[t] for t in range(len(TOKENS)) if has(row, t)] == [b"u"]
        assert matcher.forced() in (b"", b"ue")


@pytest.mark.parametrize("schema", [{"type": "object", "not": {"required": ["a"]}, "$ref": "#/x"}])
def test_a_schema_that_is_not_compiled_is_refused(engine: Engine, schema: dict[str, Any]) -> None:
    """As an answer with a kind and one line, not as another error."""
    with pytest.raises(Refused) as caught:
        engine.compile(Spec(JSON_SCHEMA, json.dumps(schema)))
    assert caught.value.kind
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", GRAMMARS)
def test_engines_agree_on_a_trivial_grammar(engine: Engine, kind: str) -> None:
    """In each dialect that an engine reads; structgen may say that it does not read it yet."""
    if kind not in engine.kinds:
        pytest.skip(f"{engine.name} reads no {kind}")
    spec = Spec(kind, GRAMMARS[kind])
    if not hasattr(structgen, {LARK: "Lark", GBNF: "Gbnf"}[kind]) and engine.name == "structgen":
        with pytest.raises(Refused, match="reads no"):
            engine.compile(spec)
        return
    assert accepts(engine, spec, "SELECT ab;")
    assert not accepts(engine, spec, "SELECT ;")


def test_structgen_finds_documents_and_leaves_formats_alone_on_request() -> None:
    """What the Test Suite needs beside the schema."""
    engine = engine_class("structgen")()
    engine.prepare(VOCABULARY)
    schema = '{"$ref": "http://localhost:1234/x.json"}'
    documents = {"http://localhost:1234/x.json": {"type": "string", "format": "date"}}
    assert not accepts(engine, Spec(JSON_SCHEMA, schema, documents), '"x"')
    assert accepts(engine, Spec(JSON_SCHEMA, schema, documents, "annotate"), '"x"')


def test_an_engine_names_its_version_and_settings(engine: Engine) -> None:
    """Results files record them, so they are text."""
    assert engine.version()[0].isdecimal()
    assert engine.settings
    assert all(isinstance(s, str) for pair in engine.settings.items() for s in pair)


def test_an_unknown_engine_is_named_with_the_known_ones() -> None:
    """One line says what there is."""
    with pytest.raises(EngineMissingError, match=r"no engine 'outlines'.*outlines-core"):
        engine_class("outlines")


def test_an_engine_that_is_not_installed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are measured; without any there is nothing to do."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "llguidance" else find(name)
    )
    found, left_out = available(["structgen", "llguidance", "structgen"])
    assert list(found) == ["structgen"]
    assert left_out == [
        "the engine llguidance is not installed; run: pip install 'structgen[bench]'"
    ]
    with pytest.raises(EngineMissingError, match="no engine can be measured"):
        available(["llguidance"])


def test_a_variant_has_a_constant_set_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """In its module and where it was imported by name, and nowhere else."""
    from structgen.constraint import compiler, constraint
    from structgen.vocabulary import table

    for module in (constraint, compiler):
        monkeypatch.setattr(module, "MAX_BYTES", vars(module)["MAX_BYTES"])  # put back later
    monkeypatch.setattr(table, "MAX_BYTES", 0, raising=False)
    variant = engine_class("structgen@constraint.constraint.MAX_BYTES=12345")
    assert variant.name == "structgen@constraint.constraint.MAX_BYTES=12345"
    variant().prepare(VOCABULARY)
    assert [vars(module)["MAX_BYTES"] for module in (constraint, compiler)] == [12345, 12345]
    assert vars(table)["MAX_BYTES"] == 0


@pytest.mark.parametrize("setting", ["masks.nothing.A=1", "masks.shared.A=1", "x"])
def test_a_variant_of_nothing_is_an_error(setting: str) -> None:
    """Neither a module, nor a constant, nor a value."""
    with pytest.raises(EngineMissingError, match="there is no variant"):
        engine_class(f"structgen@{setting}")
