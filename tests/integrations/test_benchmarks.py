"""The engines for MaskBench and for JSONSchemaBench's runner, over the names that they import.

Where the benchmarks are on the path (`PYTHONPATH`), their own classes are used.
"""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from structgen.errors import SpecError
from structgen.generation.generator import Generator
from tests.generation.models import build_model, build_tokenizer
from tests.integrations.conformance.stand_ins import installed, module

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer", "maximum": 9}, "b": {"enum": ["x", "ab"]}},
    "required": ["a"],
    "additionalProperties": False,
}


class _Engine:
    """What both benchmarks' engines have: a configuration, if any."""

    def __init__(self, config: Any = None) -> None:
        self.config = config
        self.multi = self.debug = False


class _Codes(enum.IntEnum):
    """Those that are used."""

    OK = 0
    UNSUPPORTED_SCHEMA = 1
    UNKOWN_ERROR = 7


@dataclass
class _Status:
    """How something went."""

    code: int = -1
    message: str | None = None


@dataclass
class _Metadata:
    """When and how."""

    first_token_arrival_time: float | None = None
    grammar_compilation_end_time: float | None = None
    compile_status: _Status = field(default_factory=_Status)
    decoding_status: _Status = field(default_factory=_Status)


def output_for(schema: dict[str, Any]) -> Any:
    """A task of JSONSchemaBench."""
    return SimpleNamespace(
        messages="x",  # the tiny tokenizer has no chat template
        schema=schema,
        generation="",
        metadata=_Metadata(),
        token_usage=SimpleNamespace(input_tokens=0, output_tokens=0),
    )


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """The tiny one."""
    return build_tokenizer()


@pytest.mark.filterwarnings("ignore")
def test_maskbench_reads_instances_token_by_token(tokenizer: Any) -> None:
    """As its runner does: valid ones to their ends, others up to where they break."""
    if not installed("maskbench"):
        module("maskbench.engine", Engine=_Engine)
    from structgen.integrations.evaluations.maskbench import StructgenEngine

    engine: Any = StructgenEngine()
    engine.tokenizer = tokenizer
    engine.init()
    engine.compile_grammar(SCHEMA)
    for value, valid in [
        ({"a": 7}, True),
        ({"a": 7, "b": "ab"}, True),
        ({"b": "x", "a": 3}, True),
        ({"a": 12}, False),
        ({"a": 7, "c": 1}, False),
        ([], False),
    ]:
        engine.reset()
        accepted = True
        for token in tokenizer.encode(json.dumps(value), add_special_tokens=False):
            engine.compute_mask()
            accepted = engine.commit_token(token)
            if not accepted:
                break
        assert accepted == valid, value
    with pytest.raises(SpecError, match='is "nothing"'):
        engine.compile_grammar({"type": "nothing"})
    assert engine.get_id() == "structgen"


@pytest.mark.filterwarnings("ignore")
def test_json_schema_bench_gets_a_text_its_times_and_how_it_went(tokenizer: Any) -> None:
    """A schema that is refused counts as not supported, with the reason."""
    if not installed("core"):
        module("core.engine", Engine=_Engine, EngineConfig=object)
        module("core.registry", register_engine=lambda engine, config: None)
        module(
            "core.types",
            CompileStatus=_Status,
            CompileStatusCode=_Codes,
            DecodingStatus=_Status,
            DecodingStatusCode=_Codes,
        )
    from structgen.integrations.evaluations.json_schema_bench import (
        StructgenConfig,
        StructgenEngine,
    )

    engine: Any = StructgenEngine(StructgenConfig(Generator(build_model(tokenizer), tokenizer)))
    output = output_for(SCHEMA)
    engine._generate(output)
    assert json.loads(output.generation)["a"] <= 9
    about = output.metadata
    assert (int(about.compile_status.code), int(about.decoding_status.code)) == (0, 0)
    assert about.grammar_compilation_end_time <= about.first_token_arrival_time
    assert output.token_usage.output_tokens > 0
    assert engine.decode(engine.encode('{"k"')) == '{"k"'
    assert engine.max_context_length == 96
    refused = output_for({"type": "nothing"})
    engine._generate(refused)
    assert int(refused.metadata.compile_status.code) == 1
    assert '"nothing"' in refused.metadata.compile_status.message
    assert refused.generation == ""
