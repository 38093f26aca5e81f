"""The backend for SGLang: registration, refusals, trees; its real manager where it is installed."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import structgen as sg
from structgen.errors import HostError
from structgen.integrations.compiled import KEPT
from structgen.integrations.sglang import plugin
from tests.integrations.conformance import stand_ins
from tests.integrations.conformance.adapters import SIZE, TOKENIZER, VOCABULARY

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning")]
needs_sglang = pytest.mark.skipif(
    not stand_ins.installed("sglang"), reason="sglang is not installed"
)
(END,) = VOCABULARY.eos_ids


def backend(whitespace: str | None = None) -> Any:
    """A scheduler's backend."""
    from structgen.integrations.sglang.backend import StructgenBackend

    return StructgenBackend(TOKENIZER, SIZE, END, whitespace)


def tokens(text: str) -> list[int]:
    """A token for each byte."""
    return [VOCABULARY.tokens.index(bytes([byte])) for byte in text.encode()]


def test_it_is_registered_under_its_name() -> None:
    """The plugin verifies the interface, and makes the choice of the command line known."""
    from sglang.srt.constrained import base_grammar_backend

    plugin.register()
    assert plugin.NAME in base_grammar_backend.GRAMMAR_BACKEND_REGISTRY
    wrong = SimpleNamespace(
        BaseGrammarObject=base_grammar_backend.BaseGrammarObject,
        BaseGrammarBackend=SimpleNamespace(dispatch_json=lambda self, text: None),
    )
    with pytest.raises(HostError, match=r"BaseGrammarBackend\.dispatch_json takes") as caught:
        plugin.verify(wrong)
    assert caught.value.host == "sglang"


def test_a_broken_constraint_is_an_answer_and_no_exception() -> None:
    """SGLang fails that request with the message, which has the place."""
    from sglang.srt.constrained.base_grammar_backend import InvalidGrammarObject

    made = backend()
    for found, words in [
        (made.dispatch_json('{"type": "bool"}'), "#/type"),
        (made.dispatch_regex("(a"), "(a"),
        (made.dispatch_ebnf('root ::= "a" b'), "b"),
        (made.dispatch_structural_tag("{}"), "/structures"),
        (made.dispatch_json("{"), "JSON"),
    ]:
        assert isinstance(found, InvalidGrammarObject)
        assert words in found.error_message


def test_a_copy_begins_anew_and_costs_nothing() -> None:
    """Requests share the constraint, and not the text."""
    first = backend().dispatch_regex("abc")
    other = first.copy()
    first.accept_token(tokens("a")[0])
    assert other.matcher.constraint is first.matcher.constraint
    assert other.matcher.state == other.matcher.constraint.start != first.matcher.state
    with pytest.raises(ValueError, match="is not allowed"):
        first.accept_token(tokens("x")[0])
    assert (first.grammar_stats.dispatch_type, other.grammar_stats.dispatch_type) == ("regex",) * 2


def test_kept_grammars_are_bounded() -> None:
    """SGLang's own cache grows for ever."""
    made = backend()
    for number in range(KEPT + 3):
        made.set_cache(("json", str(number)), object())
    assert len(made.cache) == KEPT
    assert ("json", "0") not in made.cache


def test_whitespace_is_the_servers() -> None:
    """`--constrained-json-disable-any-whitespace`, as `create` passes it on."""
    grammar = backend("compact").dispatch_json('{"type": "array"}')
    grammar.accept_token(tokens("[")[0])
    with pytest.raises(ValueError, match="not allowed"):
        grammar.accept_token(tokens(" ")[0])


def test_all_rows_of_a_batch_are_filled_at_once() -> None:
    """Only those listed; an ended text has its end token alone."""
    from sglang.srt.constrained.base_grammar_backend import GrammarRow

    made = backend()
    grammars = [made.dispatch_regex(p) for p in ("a", "b", "c?")]
    grammars[2].accept_token(END)
    assert grammars[2].is_terminated()
    masks = grammars[0].allocate_vocab_mask(SIZE, 5, "cpu")
    entries = [GrammarRow(row, one) for row, one in zip((4, 0, 2), grammars, strict=True)]
    grammars[0].fill_vocab_mask_batched(entries, masks)
    logits = torch.zeros(5, SIZE)
    grammars[0].apply_vocab_mask(logits, masks)
    found = [torch.isfinite(row).nonzero().flatten().tolist() for row in logits]
    everything = list(range(SIZE))
    assert found == [tokens("b"), everything, [END], everything, tokens("a")]


@needs_sglang
@pytest.mark.filterwarnings("ignore")
def test_the_real_walk_masks_every_node_of_a_tree() -> None:
    """SGLang's own walk: a tree of five nodes, of which one is not allowed."""
    source = pytest.importorskip("sglang.srt.speculative.spec_utils")
    grammar = backend().dispatch_json(json.dumps({"enum": [True, "ab"]}))
    (t, r, quote, x) = (tokens(c)[0] for c in 'tr"x')
    # 0 is kept already; its children are `t` (1) and `"` (3); `r` (2) is below `t`, `x` (4) below 3
    drafts = torch.tensor([[0, t, r, quote, x]])
    below = torch.tensor([[1, 2, -1, 4, -1]])
    beside = torch.tensor([[-1, 3, -1, -1, -1]])
    request = SimpleNamespace(grammar=grammar)
    masks, _ = source.generate_token_bitmask([request], below, beside, drafts, SIZE)
    constraint = sg.compile({"enum": [True, "ab"]}, VOCABULARY)
    for node, path in enumerate([[], [t], [t, r], [quote]]):
        state = constraint.state_of(path)
        assert (masks[node].numpy() == constraint.mask_view(state)).all()
    assert bool((masks[4] == -1).all()), "a node that is not allowed is not reached"
    assert grammar.matcher.state == grammar.matcher.constraint.start


@needs_sglang
@pytest.mark.filterwarnings("ignore")
def test_the_real_manager_compiles_copies_and_refuses() -> None:
    """SGLang's own queue of requests, over our backend."""
    from sglang.srt.constrained.base_grammar_backend import InvalidGrammarObject

    made = backend()
    key = ("regex", "a+")
    future, hit = made.get_cached_or_future_value(key, require_reasoning=False)
    assert not hit
    made.set_cache(key, future.result().copy())
    grammar, hit = made.get_cached_or_future_value(key, require_reasoning=False)
    assert hit
    assert grammar.matcher.constraint is future.result().matcher.constraint
    refused, _ = made.get_cached_or_future_value(("json", "{"), require_reasoning=False)
    assert isinstance(refused.result(), InvalidGrammarObject)


@pytest.mark.skipif(stand_ins.installed("sglang"), reason="its options come from its server")
def test_options_of_the_server_are_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """White space; two options that contradict each other are refused."""
    from sglang.srt.runtime_context import get_serving

    from structgen.integrations.sglang.backend import create

    serving = get_serving()
    monkeypatch.setattr(serving, "constrained_json_disable_any_whitespace", True)
    grammar = create(None, TOKENIZER, SIZE, {END}).dispatch_json('{"type": "array"}')
    grammar.accept_token(tokens("[")[0])
    with pytest.raises(ValueError, match="not allowed"):
        grammar.accept_token(tokens(" ")[0])
    monkeypatch.setattr(serving, "constrained_json_whitespace_pattern", " ?")
    with pytest.raises(HostError, match="how JSON is spaced"):
        create(None, TOKENIZER, SIZE, {END})
