"""Scores a demo model on unseen prompts, greedily, with and without the constraint.

`python -m structgen.demo.training.evaluate --n 200 --constraint both` compares every leaf value (by
JSON Pointer) with the right answer, prints a table and may write a JSON file. Output that is not
JSON counts as all fields wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from structgen.demo import model_path
from structgen.demo.training.corpus import Example, example
from structgen.util.tables import markdown

NEW_TOKENS = 200
"""An answer is cut off after this many tokens; the longest right ones have about 150."""


@dataclass(frozen=True)
class Score:
    """Shares in [0, 1] over `prompts` prompts; `fields` counts leaf values."""

    constraint: bool
    prompts: int
    fields: int
    fields_right: float
    answers_right: float
    valid_json: float
    valid_schema: float
    fields_right_by_kind: dict[str, float]
    seconds: float
    wrong: list[dict[str, Any]]


def leaves(value: Any, pointer: str = "") -> dict[str, Any]:
    """The leaf values of a JSON value by JSON Pointer; an empty array or object is a leaf too."""
    if isinstance(value, dict) and value:
        parts = [(str(k).replace("~", "~0").replace("/", "~1"), v) for k, v in value.items()]
    elif isinstance(value, list) and value:
        parts = [(str(i), v) for i, v in enumerate(value)]
    else:
        return {pointer: value}
    found: dict[str, Any] = {}
    for name, inner in parts:
        found.update(leaves(inner, f"{pointer}/{name}"))
    return found


def same(left: Any, right: Any) -> bool:
    """Equality of leaf values that keeps booleans and numbers apart; 40 and 40.0 are equal."""
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def count_right(text: str, answer: dict[str, Any]) -> tuple[int, int]:
    """Right leaf values in the output `text`, and leaf values of answer and output together."""
    wanted = leaves(answer)
    try:
        got = leaves(json.loads(text))
    except ValueError:
        return 0, len(wanted)
    right = sum(
        1 for pointer, value in wanted.items() if pointer in got and same(got[pointer], value)
    )
    return right, len(wanted.keys() | got.keys())


def unseen(count: int, seed: int = 7) -> list[Example]:
    """The evaluation prompts: `count` examples of the evaluation split."""
    rng = random.Random(seed)  # noqa: S311
    return [example(rng, "eval") for _ in range(count)]


def greedy(
    model: Any,
    tokenizer: Any,
    prompts: list[str],
    schemas: list[dict[str, Any]] | None,
    rows: int = 25,
) -> list[str]:
    """Greedy answers to the prompts in the chat format, each masked by its schema if given."""
    texts = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": p}], add_generation_prompt=True, tokenize=False
        )
        for p in prompts
    ]
    ids = [tokenizer(t, add_special_tokens=False).input_ids for t in texts]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    answers = [""] * len(ids)
    masks = None if schemas is None else _masker(tokenizer, model.config.vocab_size)
    for begin in range(0, len(order), rows):
        group = order[begin : begin + rows]
        chosen = None if schemas is None or masks is None else masks([schemas[i] for i in group])
        made = _decode(model, tokenizer, [ids[i] for i in group], chosen)
        for row, i in enumerate(group):
            if chosen is None:
                answers[i] = tokenizer.decode(made[row], skip_special_tokens=True)
            else:
                answers[i] = chosen[row].text(made[row])
    return answers


def _masker(tokenizer: Any, size: int) -> Callable[[list[dict[str, Any]]], list[_Follower]]:
    import structgen as sg

    vocabulary = sg.Vocabulary.from_transformers(tokenizer, size=size)
    return lambda schemas: [_Follower(sg.compile(sg.JsonSchema(s), vocabulary)) for s in schemas]


class _Follower:
    """One compiled schema and the state that its output has reached."""

    def __init__(self, constraint: Any) -> None:
        self.constraint = constraint
        self.state = constraint.start
        self.row = np.zeros(constraint.vocabulary.words, np.uint32)

    def allowed(self) -> Any:
        """bool[V]: which tokens may come next."""
        self.constraint.fill_mask(self.state, self.row)
        bits = np.unpackbits(self.row.view(np.uint8), bitorder="little")
        return bits[: self.constraint.vocabulary.size].astype(bool)

    def push(self, token: int) -> None:
        self.state = self.constraint.advance(self.state, token)

    def text(self, tokens: list[int]) -> str:
        """The text of the tokens, closed in the shortest way if it was cut off."""
        made: bytes = self.constraint.vocabulary.decode_bytes(tokens)
        if not self.constraint.is_accepting(self.state):
            made += self.constraint.shortest_completion(self.state)
        return made.decode()


def _decode(
    model: Any, tokenizer: Any, ids: list[list[int]], followers: list[_Follower] | None
) -> list[list[int]]:
    import torch
    from transformers import DynamicCache

    from structgen.generation.models.caches import cache_argument

    def new_cache() -> DynamicCache:
        return DynamicCache(config=model.config)

    length = max(map(len, ids))
    tokens = torch.tensor([[tokenizer.pad_token_id] * (length - len(r)) + r for r in ids])
    seen = torch.tensor([[0] * (length - len(r)) + [1] * len(r) for r in ids])
    positions = (seen.cumsum(1) - 1).clamp(min=0)
    made: list[list[int]] = [[] for _ in ids]
    running = list(range(len(ids)))
    cache = {cache_argument(model, new_cache): new_cache()}
    for _ in range(NEW_TOKENS):
        with torch.no_grad():
            out = model(
                input_ids=tokens,
                attention_mask=seen,
                position_ids=positions,
                use_cache=True,
                logits_to_keep=1,
                **cache,
            )
        logits = out.logits[:, -1].float()
        if followers is not None:
            for row in running:
                logits[row, ~torch.from_numpy(followers[row].allowed())] = float("-inf")
        best = logits.argmax(-1).tolist()
        for row in list(running):
            if best[row] == tokenizer.eos_token_id:
                running.remove(row)
                continue
            made[row].append(best[row])
            if followers is not None:
                followers[row].push(best[row])
        if not running:
            break
        tokens = torch.tensor(best).unsqueeze(1)
        seen = torch.cat([seen, torch.ones(len(ids), 1, dtype=seen.dtype)], 1)
        positions = positions[:, -1:] + 1
    return made


def evaluate(model: Any, tokenizer: Any, examples: list[Example], constraint: bool) -> Score:
    """Decode all examples greedily and score them."""
    from jsonschema import Draft202012Validator

    begun = time.monotonic()
    schemas = [e.schema for e in examples] if constraint else None
    texts = greedy(model, tokenizer, [e.prompt for e in examples], schemas)
    by_kind: dict[str, list[int]] = {}
    parsed = fitting = perfect = 0
    wrong = []
    for e, text in zip(examples, texts, strict=True):
        right, fields = count_right(text, e.answer)
        entry = by_kind.setdefault(e.kind, [0, 0])
        entry[0], entry[1] = entry[0] + right, entry[1] + fields
        perfect += right == fields
        if right != fields:
            wrong.append(
                {"kind": e.kind, "way": e.way, "prompt": e.prompt, "right": e.target, "got": text}
            )
        try:
            value = json.loads(text)
        except ValueError:
            continue
        parsed += 1
        fitting += Draft202012Validator(e.schema).is_valid(value)
    count, fields = len(examples), sum(f for _, f in by_kind.values())
    return Score(
        constraint=constraint,
        prompts=count,
        fields=fields,
        fields_right=sum(r for r, _ in by_kind.values()) / fields,
        answers_right=perfect / count,
        valid_json=parsed / count,
        valid_schema=fitting / count,
        fields_right_by_kind={k: r / f for k, (r, f) in sorted(by_kind.items())},
        seconds=time.monotonic() - begun,
        wrong=wrong,
    )


def load(folder: Path) -> tuple[Any, Any]:
    """The model of `folder` as saved (half precision), to run in float32, and its tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model: Any = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, local_files_only=True
    )
    model.eval()
    return model, AutoTokenizer.from_pretrained(folder, local_files_only=True)


def table(scores: list[Score]) -> str:
    """The scores as a Markdown table."""
    rows = []
    for s in scores:
        shares = (s.fields_right, s.answers_right, s.valid_json, s.valid_schema)
        state = "on" if s.constraint else "off"
        rows.append([state, f"{s.prompts}", *(f"{share:.1%}" for share in shares)])
    heads = "constraint,prompts,fields right,answers all right,valid JSON,fits schema"
    return markdown(heads.split(","), rows)


def main(arguments: list[str] | None = None) -> None:
    """Score the demo model on unseen prompts."""
    parser = argparse.ArgumentParser(
        prog="python -m structgen.demo.training.evaluate", description=main.__doc__
    )
    parser.add_argument("--n", type=int, default=200, help="number of prompts")
    parser.add_argument("--constraint", choices=("on", "off", "both"), default="both")
    parser.add_argument("--seed", type=int, default=7, help="seed of the prompts")
    parser.add_argument("--model", type=Path, default=model_path(), help="folder with a model")
    parser.add_argument("--out", type=Path, help="JSON file for the scores and the wrong answers")
    given = parser.parse_args(arguments)
    model, tokenizer = load(given.model)
    modes = {"on": [True], "off": [False], "both": [False, True]}[given.constraint]
    examples = unseen(given.n, given.seed)
    scores = [evaluate(model, tokenizer, examples, mode) for mode in modes]
    print(table(scores))  # noqa: T201
    if given.out is not None:
        given.out.write_text(
            json.dumps([asdict(s) for s in scores], ensure_ascii=False, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
