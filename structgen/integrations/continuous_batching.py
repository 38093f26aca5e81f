"""Constrains single requests of transformers' continuous batching, each by a spec of its own.

    manager = model.init_continuous_batching(generation_config=config)
    processor = constrain(manager, tokenizer)  # before it starts
    manager.start()
    manager.add_request(prompt_ids, constraint=processor.compile(spec))
    manager.add_request(prompt_ids)  # free text beside it

transformers asks a processor of this kind for one int32 a row before each forward pass. Here it is
the number of a row in a table of masks, which are filled at that moment from the tokens of the
requests; the masks are applied to the logits later. The table never moves, so this also holds where
the forward pass is replayed as a graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from transformers.generation.continuous_batching import cb_logits_processors

from structgen.constraint.compiler import compile as compile_spec
from structgen.constraint.constraint import Constraint
from structgen.errors import GenerationError, StructgenError, VocabularyError
from structgen.integrations.huggingface import elsewhere, vocabulary_for
from structgen.integrations.matcher import Follower, Matcher, fill_each_matcher
from structgen.masks import bitmask
from structgen.schema.coerce import is_constraint
from structgen.vocabulary.vocabulary import Vocabulary

CONSTRAINT = "constraint"  # the argument of a request
_FOLLOWER = "_follower"  # beside it in a request that runs, so that it goes and forks with it


def constrain(
    manager: Any, tokenizer: Any, *, eos_ids: Iterable[int] | None = None
) -> ContinuousBatchingProcessor:
    """Let the requests of a manager that has not started take `constraint=`.

    manager: what `model.init_continuous_batching` returns. tokenizer: that of the model. eos_ids:
    the tokens that end a text; without them those of the manager's generation config, or else of
    the tokenizer. The masks come before temperature, top-k and top-p.

    GenerationError for a manager that has started, that prepares a batch before the tokens of the
    last one are known (`use_async_batching`), or whose model is spread over several processes.
    """
    if manager.batch_processor is not None or manager.is_running():
        raise GenerationError(
            "the manager has started, and its processors are fixed",
            hint="call constrain() before start() and warmup()",
        )
    if manager.continuous_batching_config.use_async_batching:
        raise GenerationError(
            "use_async_batching prepares a batch before the tokens of the last one are known",
            hint="give ContinuousBatchingConfig(use_async_batching=False)",
        )
    if manager.distributed_helper.tp_size > 1:
        raise GenerationError(
            "constraints are not sent to the processes of a tensor-parallel model"
        )
    ends = manager.generation_config.eos_token_id if eos_ids is None else [*eos_ids]
    ends = [ends] if isinstance(ends, int) else ends or []
    logits = manager.model.config.get_text_config().vocab_size
    known = tuple(sorted(end for end in ends if end >= 0)) or None
    vocabulary = vocabulary_for(tokenizer, max(logits, len(tokenizer)), known)
    most = manager.continuous_batching_config.max_requests_per_batch
    processor = ContinuousBatchingProcessor(vocabulary, most, manager.model.device)
    processors = manager.logit_processor
    processors.logits_processor.insert(0, processor)
    processors.tensors_required += 1
    processors.do_processing = True
    processors._retrieve_processors_kwargs()
    return processor


class ContinuousBatchingProcessor(cb_logits_processors.ContinuousBatchingLogitsProcessor):
    """Masks the logits of the requests that have a constraint; `constrain` makes it.

    A request whose constraint cannot go on (another vocabulary, a bound that was reached) ends at
    once, and its result says why in `error`. The others go on.
    """

    def __init__(self, vocabulary: Vocabulary, most: int, device: torch.device) -> None:
        if not vocabulary.eos_ids:
            raise VocabularyError(
                "the vocabulary has no end token, so requests would not stop", hint="give eos_ids"
            )
        self.supported_kwargs = {CONSTRAINT: Constraint}  # the host checks the types
        self.ignored_kwargs = ()
        self.vocabulary = vocabulary
        shape = most + 1, vocabulary.words
        pinned = device.type == "cuda"
        self._host = torch.empty(shape, dtype=torch.int32, pin_memory=pinned)
        self._host[0] = -1  # of rows without a constraint
        self._table = self._host if device.type == "cpu" else self._host.to(device)

    def compile(self, spec: Any) -> Constraint:
        """The constraint of a spec, to be given to requests, also to many at once.

        What `structgen.compile` raises; VocabularyError for a constraint that was compiled for
        another vocabulary.
        """
        if is_constraint(spec):
            self._check(spec)
            constraint: Constraint = spec
            return constraint
        return compile_spec(spec, self.vocabulary)

    def _check(self, constraint: Constraint) -> None:
        if constraint.vocabulary.hash != self.vocabulary.hash:
            raise VocabularyError(
                f"the constraint is for another vocabulary, of {constraint.vocabulary.size} tokens",
                expected=f"that of the processor, of {self.vocabulary.size}",
                hint="compile the spec by the processor's compile()",
            )

    def fill_defaults(self, int32_tensor: torch.Tensor) -> None:
        """Row 0, which allows all tokens."""
        int32_tensor.zero_()

    def prepare_tensor_args(self, requests_with_new_token: Sequence[Any]) -> torch.Tensor:
        """int32[requests]: which row of the table each request's logits are masked by."""
        numbers = [0] * len(requests_with_new_token)
        states = []
        for i, request in enumerate(requests_with_new_token):
            if request.state.logit_processor_kwargs.get(CONSTRAINT) is not None:
                states.append(request.state)
                numbers[i] = len(states)
        if states:
            self._fill(states)
        return torch.tensor(numbers, dtype=torch.int32)

    def _fill(self, states: Sequence[Any]) -> None:
        """Write the mask of the i-th of the host's requests to row i + 1 of the table."""
        rows = self._host[1 : len(states) + 1].numpy()
        matchers = {}
        errors: dict[int, Exception] = {}
        for i, state in enumerate(states):
            try:
                matchers[i] = self._matcher(state)
            except StructgenError as error:
                errors[i] = error
        places = [*matchers]
        failed = fill_each_matcher([*matchers.values()], rows, places)
        errors |= {places[k]: error for k, error in failed.items()}
        for i, reason in errors.items():
            states[i].error = str(reason)
            rows[i] = 0
            bitmask.allow(rows[i], sorted(states[i]._eos_token_ids or self.vocabulary.eos_ids))
        if self._table is not self._host:
            self._table[1 : len(states) + 1].copy_(self._host[1 : len(states) + 1])

    def _matcher(self, state: Any) -> Matcher:
        """What has followed a request to its last token."""
        given = state.logit_processor_kwargs
        follower: Follower | None = given.get(_FOLLOWER)
        if follower is None:
            self._check(given[CONSTRAINT])
            # a request that lost its cache has what it wrote behind its prompt
            prompt = state._true_initial_tokens or len(state.initial_tokens)
            follower = Follower(given[CONSTRAINT], state._eos_token_ids, prompt)
            given[_FOLLOWER] = follower
        if not follower.follow(state.initial_tokens + state.generated_tokens):
            raise GenerationError("the host went on by a token that its constraint does not allow")
        return follower.matcher

    def __call__(self, scores: torch.Tensor, tensor_arg: torch.Tensor) -> torch.Tensor:
        """scores float[rows, V], with -inf where a token would break a request's constraint."""
        words = bitmask.words(scores.shape[1])
        rows = self._table[tensor_arg[: len(scores)].long(), :words]
        if elsewhere(scores):
            return scores.masked_fill(~bitmask.unpack_tensor(rows, scores.shape[1]), -torch.inf)
        bitmask.apply(scores, rows.numpy())
        return scores
