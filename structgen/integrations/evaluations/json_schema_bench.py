"""structgen as an engine of JSONSchemaBench's own runner, epfl-dlab/jsonschemabench.

from core.bench import bench  # in its folder
from structgen.integrations.evaluations.json_schema_bench import StructgenConfig, StructgenEngine

bench(StructgenEngine(StructgenConfig(model=MODEL)), ["Github_easy"], limit=100)
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from core.engine import Engine, EngineConfig
from core.registry import register_engine
from core.types import CompileStatus, CompileStatusCode, DecodingStatus, DecodingStatusCode

from structgen.errors import StructgenError
from structgen.generation.generator import Generator
from structgen.schema.json_schema import JsonSchema


@dataclass
class StructgenConfig(EngineConfig):  # type: ignore[misc]  # untyped
    """model: what `structgen.Generator` takes. temperature, max_tokens: as for `generate`."""

    model: Any
    temperature: float = 0.0
    max_tokens: int = 1024


class StructgenEngine(Engine):  # type: ignore[misc]  # untyped
    """Writes a text that fits the schema; a schema that is refused counts as not supported."""

    name = "structgen"

    def __init__(self, config: StructgenConfig) -> None:
        super().__init__(config)
        model = config.model
        self._generator = model if isinstance(model, Generator) else Generator(model)

    def _generate(self, output: Any) -> None:
        """Write the text of one task, with when its parts were done and how they went."""
        about = output.metadata
        spec = JsonSchema(json.dumps(output.schema))
        try:
            self._generator.specs.get(spec)
        except StructgenError as error:
            code = CompileStatusCode.UNSUPPORTED_SCHEMA
            about.compile_status = CompileStatus(code, str(error))
            return
        about.grammar_compilation_end_time = time.time()
        about.compile_status = CompileStatus(CompileStatusCode.OK)
        try:
            stream = self._generator.stream(
                output.messages,
                spec,
                temperature=self.config.temperature,
                max_tokens=self.config.max_tokens,
            )
            for _ in stream:
                about.first_token_arrival_time = about.first_token_arrival_time or time.time()
            found = stream.result
        except StructgenError as error:
            about.decoding_status = DecodingStatus(DecodingStatusCode.UNKOWN_ERROR, str(error))
            return
        about.decoding_status = DecodingStatus(DecodingStatusCode.OK)
        output.generation = found.text
        output.token_usage.input_tokens = found.prompt_tokens
        output.token_usage.output_tokens = len(found.tokens)

    @property
    def max_context_length(self) -> int:
        """Tokens that the model can read."""
        return self._generator.target.context or 1 << 30

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        ids: list[int] = self._generator.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def decode(self, ids: list[int]) -> str:
        """The text of tokens."""
        return self._generator.vocabulary.decode_bytes(ids).decode(errors="replace")


register_engine(StructgenEngine, StructgenConfig)
