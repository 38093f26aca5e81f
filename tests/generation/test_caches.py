"""Checks that a model's cache is found whatever its argument is called, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers.cache_utils import Cache, DynamicCache
from transformers.utils.generic import ModelOutput

from structgen.errors import ModelError
from structgen.generation.models.caches import cache_argument, has_read
from structgen.generation.models.target import HuggingFaceTarget
from tests.generation.models import (
    SHARED_STATES,
    STATES_ARE_SHARED,
    bloom_model,
    gpt2_model,
    hybrid_model,
    mamba_model,
    mixed_model,
    sliding_model,
)

pytestmark = pytest.mark.matrix
Output: Any = ModelOutput  # has no types


class Fake:
    """Something that reads tokens into a cache as a model of transformers does, and no more."""

    forward: Callable[..., Any]

    def __init__(self) -> None:
        self.embeddings = torch.nn.Embedding(8, 4)
        self.taken: list[str] = []

    def get_input_embeddings(self) -> Any:
        """Where the tokens go in."""
        return self.embeddings

    def __call__(self, **given: Any) -> Any:
        """Call `forward`, as modules do."""
        return self.forward(**given)

    def read(self, name: str, cache: Any, tokens: torch.Tensor) -> Any:
        """Write keys and values to the cache, or to one of its own, and hand it on as `name`."""
        cache = DynamicCache() if cache is None else cache
        states = self.embeddings(tokens)[:, None]
        cache.update(states, states, 0)
        self.taken.append(name)
        return Output({"logits": states[:, 0], name: cache})


class NamesItCache(Fake):
    """Takes it as `cache`."""

    def forward(self, input_ids: Any, cache: Any = None, **given: Any) -> Any:
        """Read."""
        return self.read("cache", cache, input_ids)


class NamesItPast(Fake):
    """Takes it as `past_key_values`, and nothing unknown."""

    def forward(
        self, input_ids: Any, attention_mask: Any, use_cache: bool, past_key_values: Any = None
    ) -> Any:
        """Read."""
        return self.read("past_key_values", past_key_values, input_ids)


class NamesItParams(Fake):
    """Takes it as `cache_params`."""

    def forward(self, input_ids: Any, cache_params: Any = None, **given: Any) -> Any:
        """Read."""
        return self.read("cache_params", cache_params, input_ids)


class NamesItNowhere(Fake):
    """Passes everything on, so that only its output tells."""

    def forward(self, **given: Any) -> Any:
        """Read under a name that nobody knows yet."""
        return self.read("memory", given.get("memory"), given["input_ids"])


class NamesItOnce(Fake):
    """Has a name for it that only the declaration tells, for its output carries none unasked."""

    def forward(self, input_ids: Any, remembered: Cache | None = None, **given: Any) -> Any:
        """Read."""
        if remembered is None:
            return Output(logits=self.embeddings(input_ids))
        return self.read("remembered", remembered, input_ids)


class KeepsTheOldName(Fake):
    """Was renamed: the old name still works, and warns."""

    def forward(self, input_ids: Any, cache: Any = None, **given: Any) -> Any:
        """Read; a warning is an error here."""
        if "past_key_values" in given:
            raise FutureWarning("`past_key_values` is deprecated")
        return self.read("cache", cache, input_ids)


class MeansSomethingElse(Fake):
    """Has a parameter of that name that is no cache of this kind, as XLM has."""

    def forward(self, input_ids: Any, cache: dict[str, Any] | None = None, **given: Any) -> Any:
        """Read without remembering."""
        if cache is not None:
            cache["slen"] = 1
        return Output(logits=self.embeddings(input_ids))


class IgnoresIt(Fake):
    """Takes any argument, and does nothing with it."""

    def forward(self, input_ids: Any, past_key_values: Any = None, **given: Any) -> Any:
        """Read without remembering, and hand on what came."""
        return Output(logits=self.embeddings(input_ids), past_key_values=past_key_values)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (NamesItCache, "cache"),
        (NamesItPast, "past_key_values"),
        (NamesItParams, "cache_params"),
        (NamesItNowhere, "memory"),
        (NamesItOnce, "remembered"),
        (KeepsTheOldName, "cache"),
    ],
)
def test_the_name_is_that_under_which_it_is_written_to(kind: type[Fake], name: str) -> None:
    """Output, declaration or usual names lead to it; few tokens are read.

    The outputs of newer releases say `cache` for older names, which the model then does not take.
    """
    model = kind()
    assert cache_argument(model, DynamicCache) == name
    assert set(model.taken) == {name}
    assert len(model.taken) <= 3


@pytest.mark.parametrize("kind", [MeansSomethingElse, IgnoresIt])
def test_a_name_alone_is_not_enough(kind: type[Fake]) -> None:
    """What writes to no cache is refused, with what was expected."""
    with pytest.raises(ModelError, match="takes no cache of what it has read") as caught:
        cache_argument(kind(), DynamicCache)
    assert "a transformers Cache, and writes to it" in caught.value.expected


def test_what_the_trial_ran_into_is_said_in_one_line() -> None:
    """A model that cannot read at all says why."""

    class Broken(Fake):
        def forward(self, **given: Any) -> Any:
            raise RuntimeError("no kernel for this device\nand a long trace")

    with pytest.raises(ModelError, match=r"\(RuntimeError: no kernel for this device\)") as caught:
        cache_argument(Broken(), DynamicCache)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("build", "only_states"),
    [
        (gpt2_model, False),
        (bloom_model, False),
        (sliding_model, False),
        (mixed_model, False),
        pytest.param(mamba_model, True, marks=SHARED_STATES),
        pytest.param(hybrid_model, False, marks=SHARED_STATES),
    ],
)
def test_models_of_transformers_are_told_apart_by_their_layers(
    build: Callable[[], Any], only_states: bool
) -> None:
    """Whatever this release calls the cache; the model's own cache comes under the same name."""
    target = HuggingFaceTarget(build())
    output = target.model(torch.tensor([[1, 2]]), use_cache=True)
    assert isinstance(output[target._cache_name], Cache)
    assert target._only_states == only_states


@pytest.mark.skipif(STATES_ARE_SHARED, reason="recurrent models share the common cache")
@pytest.mark.parametrize("build", [mamba_model, hybrid_model])
def test_old_releases_say_which_one_serves_recurrent_models(build: Callable[[], Any]) -> None:
    """Their caches were of kinds of their own, which have no rows to be selected."""
    with pytest.raises(ModelError, match=r"takes no cache.*transformers 5\.5 or newer"):
        HuggingFaceTarget(build())


def test_the_trial_leaves_no_trace(model: Any) -> None:
    """The cache that was tried is thrown away; weights and buffers are as before."""
    before = {name: value.clone() for name, value in model.state_dict().items()}
    target = HuggingFaceTarget(model)
    assert not has_read(target._new_cache())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
