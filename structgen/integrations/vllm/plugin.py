"""Puts structgen into the place of vLLM's backend "outlines"; an entry point that vLLM calls.

vLLM has no hook for backends of others: their names are fixed, and each is imported when it is
first needed. So this puts structgen's class and validator where those of "outlines" are looked up:

    STRUCTGEN_VLLM=1 vllm serve MODEL --structured-outputs-config.backend outlines

Without the environment variable nothing happens. With it, an interface that is not the one this was
written for is an error when vLLM starts, and never a server without constraints. vLLM calls it in
each of its processes, perhaps several times.
"""

from __future__ import annotations

import os
from typing import Any

from structgen.errors import HostError
from structgen.integrations.interfaces import check_methods
from structgen.util.versions import warn_of_host

VARIABLE = "STRUCTGEN_VLLM"
#: Methods that vLLM's abstract classes have, with their parameters.
GRAMMAR = {
    "accept_tokens": ("self", "request_id", "tokens"),
    "validate_tokens": ("self", "tokens"),
    "rollback": ("self", "num_tokens"),
    "fill_bitmask": ("self", "bitmask", "batch_index"),
    "is_terminated": ("self",),
    "reset": ("self",),
}
BACKEND = {
    "compile_grammar": ("self", "request_type", "grammar_spec", "stop_token_ids"),
    "allocate_token_bitmask": ("self", "max_num_seqs"),
    "destroy": ("self",),
}
KINDS = {"JSON", "JSON_OBJECT", "REGEX", "GRAMMAR", "CHOICE", "STRUCTURAL_TAG"}
_NAMES = ("OutlinesBackend", "validate_structured_output_request_outlines")


def register() -> None:
    """The entry point `vllm.general_plugins`. HostError for a vLLM with another interface."""
    if os.environ.get(VARIABLE, "0") in ("", "0"):
        return
    import vllm
    from vllm.v1.structured_output import backend_outlines, backend_types

    warn_of_host("vllm", vllm.__version__)
    verify(backend_types, backend_outlines)
    backend_outlines.OutlinesBackend = _backend
    backend_outlines.validate_structured_output_request_outlines = _validate


# Both load structgen when they are first called: most of vLLM's processes never need it.


def _backend(*given: Any, **named: Any) -> Any:
    from structgen.integrations.vllm.backend import StructgenBackend

    return StructgenBackend(*given, **named)


def _validate(params: Any) -> None:
    from structgen.integrations.vllm.backend import validate

    validate(params)


def verify(backend_types: Any, backend_outlines: Any) -> None:
    """Raise HostError unless vLLM's modules have the interface that `backend` implements."""
    for name, methods in (
        ("StructuredOutputGrammar", GRAMMAR),
        ("StructuredOutputBackend", BACKEND),
    ):
        _check_abstract(backend_types, name, methods)
        check_methods("vllm", backend_types, name, methods)
    kinds = {one.name for one in backend_types.StructuredOutputOptions}
    if kinds != KINDS:
        raise HostError(f"the kinds of constraints are {', '.join(sorted(kinds))}", host="vllm")
    for name in _NAMES:
        if not hasattr(backend_outlines, name):
            raise HostError(f"{backend_outlines.__name__} has no {name}", host="vllm")


def _check_abstract(module: Any, name: str, methods: dict[str, tuple[str, ...]]) -> None:
    """Raise HostError unless the abstract methods of a class are these: one more is not served."""
    found = getattr(module, name, None)
    abstract = getattr(found, "__abstractmethods__", None)
    if abstract != methods.keys():
        shown = "no such class" if found is None else ", ".join(sorted(abstract or ()))
        raise HostError(f"the abstract methods of {name} are: {shown}", host="vllm")
