"""lm-eval and outlines, where they are installed: their own loops over the shipped model."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import structgen as sg
from structgen import demo
from structgen.errors import HostError

pytestmark = [pytest.mark.filterwarnings("ignore")]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer", "maximum": 9}},
          "required": ["a"], "additionalProperties": False}  # fmt: skip


def test_lm_eval_gets_texts_that_fit(tmp_path: Path) -> None:
    """A task in lm-eval's own format: valid, compliant; a refused schema is an empty text."""
    lm_eval = pytest.importorskip("lm_eval")
    from lm_eval.tasks import TaskManager

    from structgen.integrations.evaluations.lm_eval import StructgenLM

    rows = [{"json_schema": json.dumps(schema)} for schema in (SCHEMA, {"type": "boolean"})]
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "task.yaml").write_text(
        "task: fits\ndataset_path: json\noutput_type: generate_until\ntest_split: test\n"
        f"dataset_kwargs:\n  data_files:\n    test: {data}\n"
        "doc_to_text: 'Schema: {{json_schema}}'\ndoc_to_target: ''\n"
        "metric_list:\n  - metric: exact_match\n"
    )
    model = StructgenLM(str(demo.model_path()))
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    found = lm_eval.simple_evaluate(model=model, tasks=["fits"], task_manager=manager)
    texts = [sample["resps"][0][0] for sample in found["samples"]["fits"]]
    for text, schema in zip(texts, (SCHEMA, {"type": "boolean"}), strict=True):
        sg.check(schema, text)
    broken: Any = SimpleNamespace(args=("x", {}), doc={"json_schema": '{"type": "bool"}'})
    assert model.generate_until([broken]) == [""]
    with pytest.raises(HostError, match="json_schema"):
        model.generate_until([SimpleNamespace(args=("x", {}), doc={})])
    with pytest.raises(HostError, match="multiple choice"):
        model.loglikelihood([])


def test_outlines_takes_the_processor_for_transformers() -> None:
    """Its generator, with our processor: one call after another."""
    outlines = pytest.importorskip("outlines")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = str(demo.model_path())
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = outlines.from_transformers(AutoModelForCausalLM.from_pretrained(path), tokenizer)
    generator = outlines.Generator(model, processor=sg.LogitsProcessor(SCHEMA, tokenizer))
    for prompt in ("a is 3", "a is 3", "a"):
        sg.check(SCHEMA, generator(prompt, max_new_tokens=40))
