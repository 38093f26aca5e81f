"""structgen as a model of lm-eval, for tasks whose documents have a JSON Schema.

from structgen.integrations.evaluations.lm_eval import StructgenLM
lm_eval.simple_evaluate(model=StructgenLM(MODEL), tasks=["jsonschema_bench_easy"])
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import Any, NoReturn

from lm_eval.api.model import LM

from structgen.errors import HostError, StructgenError
from structgen.generation.generator import Generator
from structgen.schema.json_schema import JsonSchema

_LOG = logging.getLogger(__name__)
MAX_TOKENS = 1024  # where a task says nothing: lm-eval's own 256 cut off whole objects
SCHEMA = "json_schema"  # the field of a document


class StructgenLM(LM):  # type: ignore[misc]  # untyped
    """Writes a text for each request that fits the schema of its document.

    model: a Generator, or what makes one. Stop sequences of a task are left out: a text ends where
    it is complete. options: of `Generator.generate`, in place of the task's.
    """

    def __init__(self, model: Any, **options: Any) -> None:
        super().__init__()
        self._generator = model if isinstance(model, Generator) else Generator(model)
        self._options = options

    def generate_until(self, requests: Iterable[Any], disable_tqdm: bool = False) -> list[str]:
        """The texts, in the order of the requests; "" where a schema is refused."""
        del disable_tqdm
        return [self._text(request) for request in requests]

    def _text(self, request: Any) -> str:
        context, asked = request.args
        schema = request.doc.get(SCHEMA)
        if schema is None:
            raise HostError(
                f"a document has no {SCHEMA}",
                host="lm-eval",
                hint="structgen writes texts for tasks with schemas, such as jsonschema_bench",
            )
        temperature = asked.get("temperature", 0.0) if asked.get("do_sample") else 0.0
        options = {
            "max_tokens": asked.get("max_gen_toks", MAX_TOKENS),
            "temperature": temperature,
        } | self._options
        text = schema if isinstance(schema, str) else json.dumps(schema)
        try:
            found = self._generator.generate(context, JsonSchema(text), **options)
        except StructgenError as error:
            _LOG.warning("a request got no text: %s", error)
            return ""
        return str(found.text)

    def loglikelihood(self, requests: Any) -> NoReturn:
        """Not for this model: HostError."""
        del requests
        raise HostError("tasks of multiple choice have no schemas", host="lm-eval")

    loglikelihood_rolling = loglikelihood
