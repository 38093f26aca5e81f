"""structgen as an engine of MaskBench, the benchmark of masks in guidance-ai/jsonschemabench.

    cd maskbench; python -m structgen.integrations.evaluations.maskbench --tokenizer MODEL data/

The options are those of MaskBench's own runner, which picks its engines by a flag for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from maskbench.engine import Engine

from structgen.constraint.compiler import compile as compile_spec
from structgen.constraint.constraint import Constraint
from structgen.integrations.huggingface import vocabulary_for
from structgen.integrations.matcher import Matcher
from structgen.schema.json_schema import JsonSchema


class StructgenEngine(Engine):  # type: ignore[misc]  # untyped
    """Compiles a schema, and reads its instances token by token.

    Texts are JSON as `json.dumps` writes it, in any order of keys. A schema that is refused raises
    the error that says so; MaskBench counts it.
    """

    _constraint: Constraint
    _matcher: Matcher

    def get_id(self) -> str:
        """What the results are called."""
        return "structgen"

    def init(self) -> None:
        """Read the tokenizer that the runner has set."""
        self._vocabulary = vocabulary_for(self.tokenizer)
        self._row = np.zeros(self._vocabulary.words, np.int32)

    def compile_grammar(self, schema: dict[str, Any]) -> None:
        """Compile a schema and make its first mask."""
        spec = JsonSchema(schema, property_order="any")
        self._constraint = compile_spec(spec, self._vocabulary)
        self.reset()
        self.compute_mask()

    def reset(self) -> None:
        """Begin a new instance."""
        self._matcher = Matcher(self._constraint)

    def compute_mask(self) -> None:
        """Write the mask of the place that was reached."""
        self._matcher.fill(self._row)

    def commit_token(self, token: int) -> bool:
        """Go on by a token; False where the mask does not allow it."""
        if not self._row[token >> 5] >> (token & 31) & 1:
            return False
        return self._matcher.accept(token)


def main() -> None:
    """Run MaskBench with this engine."""
    from maskbench import runner

    def engine_of(args: Any) -> StructgenEngine:
        engine = StructgenEngine()
        engine.multi, engine.debug = args.multi, args.debug
        engine.tokenizer_model_id = args.tokenizer
        return engine

    runner.get_engine = engine_of
    runner.main()


if __name__ == "__main__":
    main()
