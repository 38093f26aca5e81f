"""Constrains llama-cpp-python: a logits processor, and a loop that reads forced text at once.

    from structgen.integrations.llama_cpp import LogitsProcessor, write
    llama.create_completion(prompt, logits_processor=[LogitsProcessor(llama, spec)])
    text = write(llama, prompt, spec)

llama-cpp-python drops logits processors silently where `logit_bias` is given as well.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.constraint.compiler import compile as compile_spec
from structgen.errors import HostError, TruncatedError
from structgen.generation.distribution import Sampler, row_rng
from structgen.generation.interfaces import Constraint
from structgen.integrations.matcher import Follower, Matcher
from structgen.masks import bitmask
from structgen.schema.coerce import is_constraint
from structgen.util.versions import warn_of_host
from structgen.vocabulary.vocabulary import Vocabulary


def vocabulary_of(llama: Any) -> Vocabulary:
    """The vocabulary of a loaded model, read from its file, as wide as its logits."""
    path = os.path.realpath(llama.model_path)
    return _vocabulary(path, os.stat(path).st_mtime_ns, llama.n_vocab())


@lru_cache(maxsize=4)
def _vocabulary(path: str, _changed: int, size: int) -> Vocabulary:
    return Vocabulary.from_gguf(path, size)


def constraint_of(llama: Any, spec: Any) -> Constraint:
    """The constraint of a spec for a model, or the constraint that was given."""
    import llama_cpp

    warn_of_host("llama-cpp-python", llama_cpp.__version__)
    found: Constraint = spec if is_constraint(spec) else compile_spec(spec, vocabulary_of(llama))
    return found


class LogitsProcessor:
    """Masks the logits of one text at a time, in `create_completion` and the like.

    spec: what `structgen.compile` takes, or a constraint. HostError for a model with a draft model:
    there, a logits processor cannot know which of the drafts come before the logits.
    """

    def __init__(self, llama: Any, spec: Any) -> None:
        if llama.draft_model is not None:
            raise HostError(
                "logits processors do not work with a draft model",
                host="llama-cpp-python",
                hint="load the model without draft_model; `write` drafts forced text by itself",
            )
        self._follower = Follower(constraint_of(llama, spec))

    def __call__(
        self, input_ids: npt.NDArray[np.intc], scores: npt.NDArray[np.single]
    ) -> npt.NDArray[np.single]:
        """float32[V]: the scores, with -inf where a token would break the text.

        input_ids: intc[n], the prompt and the text so far.
        """
        allowed = np.array(scores, np.float32)
        row = self._follower.row(input_ids.tolist())
        bitmask.apply(allowed[np.newaxis], row[np.newaxis])
        return allowed

    def reset(self) -> None:
        """Begin a new text, whose prompt may begin with all of the last one."""
        self._follower.reset()


def write(
    llama: Any,
    prompt: str,
    spec: Any,
    *,
    max_tokens: int = 512,
    sampler: Sampler = Sampler(temperature=0.0),  # noqa: B008  it is frozen
    seed: int | None = None,
) -> str:
    """A text that fits, behind a prompt.

    Text that every completion begins with is read in one pass, as a draft: each of its tokens is
    kept only if it is the one that is drawn, so the distribution is that of writing token by token.
    TruncatedError when the tokens do not suffice. HostError unless the model was loaded with
    `logits_all=True`: without it only the last logits are there.
    """
    if not llama._logits_all:
        raise HostError(
            "the model keeps the last logits only",
            host="llama-cpp-python",
            hint="load it as Llama(path, logits_all=True)",
        )
    constraint = constraint_of(llama, spec)
    matcher, rng = Matcher(constraint), row_rng(seed, 0)
    row = np.zeros(constraint.vocabulary.words, np.int32)
    llama.reset()
    llama.eval(llama.tokenize(prompt.encode(), add_bos=True, special=True))
    written: list[int] = []
    drafts: list[int] = []  # tokens that have been read behind those written
    while len(written) < max_tokens:
        matcher.fill(row)
        allowed = np.flatnonzero(bitmask.unpack(row, constraint.vocabulary.size))
        at = llama.n_tokens - len(drafts)
        token = int(allowed[sampler.choose(llama.scores[at - 1][allowed].astype(float), rng)])
        matcher.accept(token)
        if matcher.is_terminated:
            break
        written.append(token)
        if drafts and drafts[0] == token:
            del drafts[0]
            continue
        llama.n_tokens = at  # `eval` forgets what has been read behind it
        drafts = _forced(llama, matcher)[: max_tokens - len(written)]
        llama.eval([token, *drafts])
    else:
        text = constraint.vocabulary.decode_bytes(written).decode(errors="replace")
        raise TruncatedError(
            f"the text was not finished after {max_tokens} tokens",
            text=text,
            hint="give more max_tokens",
        )
    return constraint.vocabulary.decode_bytes(written).decode()


def _forced(llama: Any, matcher: Matcher) -> list[int]:
    """The tokens of the text that must come next, as far as they are allowed."""
    text = matcher.constraint.forced_bytes(matcher.state)
    if not text:
        return []
    tokens = llama.tokenize(text, add_bos=False, special=False)
    return list(tokens[: matcher.validate(tokens)])
