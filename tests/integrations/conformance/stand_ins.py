"""Stand-ins for hosts that are not installed: the few names that our adapters import of each.

They have the methods and parameters of the real interfaces, and none of what is behind them. Where
a host is installed its own modules are used instead.
"""

from __future__ import annotations

import enum
import importlib.util
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple


def installed(name: str) -> bool:
    """Whether a package is there, and is no stand-in."""
    known = sys.modules.get(name)
    if known is not None:
        return not hasattr(known, "IS_STAND_IN")
    return importlib.util.find_spec(name) is not None


def module(name: str, **members: Any) -> ModuleType:
    """A module with these members, entered in `sys.modules` with the packages around it."""
    package = ""
    for part in name.split("."):
        above, package = package, f"{package}.{part}" if package else part
        if package not in sys.modules:
            made: Any = ModuleType(package)
            made.IS_STAND_IN, made.__path__ = True, []
            sys.modules[package] = made
            if above:
                setattr(sys.modules[above], part, made)
    found = sys.modules[name]
    for key, value in members.items():
        setattr(found, key, value)
    return found


def vllm() -> None:
    """What the backend for vLLM imports."""

    class Kinds(enum.Enum):
        """Kinds of constraints."""

        JSON = enum.auto()
        JSON_OBJECT = enum.auto()
        REGEX = enum.auto()
        GRAMMAR = enum.auto()
        CHOICE = enum.auto()
        STRUCTURAL_TAG = enum.auto()

    class Grammar(ABC):
        """One for each request."""

        @abstractmethod
        def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
            """Go on by tokens."""

        @abstractmethod
        def validate_tokens(self, tokens: list[int]) -> list[int]:
            """The beginning that is allowed."""

        @abstractmethod
        def rollback(self, num_tokens: int) -> None:
            """Take tokens back."""

        @abstractmethod
        def fill_bitmask(self, bitmask: Any, batch_index: int) -> None:
            """Write a row."""

        @abstractmethod
        def is_terminated(self) -> bool:
            """Whether the end has been accepted."""

        @abstractmethod
        def reset(self) -> None:
            """Begin anew."""

    @dataclass
    class Backend(ABC):
        """One for each engine."""

        vllm_config: Any
        tokenizer: Any
        vocab_size: int

        @abstractmethod
        def compile_grammar(
            self, request_type: Any, grammar_spec: str, stop_token_ids: set[int] | None = None
        ) -> Any:
            """The grammar of a request."""

        @abstractmethod
        def allocate_token_bitmask(self, max_num_seqs: int) -> Any:
            """Masks."""

        @abstractmethod
        def destroy(self) -> None:
            """Let go of all."""

    class ClientError(Exception):
        """A request's mistake."""

        def __init__(self, message: str, *, parameter: str | None = None) -> None:
            super().__init__(message)
            self.parameter = parameter

    def key(params: Any) -> tuple[Kinds, str]:
        return Kinds[params.kind.upper()], params.content

    module("vllm", __version__="0.33.0")
    module("vllm.exceptions", VLLMValidationError=ClientError)
    module(
        "vllm.v1.structured_output.backend_types",
        StructuredOutputOptions=Kinds,
        StructuredOutputGrammar=Grammar,
        StructuredOutputBackend=Backend,
    )
    module("vllm.v1.structured_output.request", get_structured_output_key=key)
    module(
        "vllm.v1.structured_output.backend_outlines",
        OutlinesBackend=object,
        validate_structured_output_request_outlines=None,
    )


def sglang() -> None:
    """What the backend for SGLang imports."""

    class Row(NamedTuple):
        """A row to fill."""

        row: int
        grammar: Any

    @dataclass
    class Stats:
        """Figures of a grammar."""

        dispatch_type: str | None = None
        compilation_time: float | None = None

    @dataclass
    class Invalid:
        """A constraint that was refused."""

        error_message: str

    class Grammar:
        """One for each request."""

        def __init__(self) -> None:
            self.grammar_stats: Any = None

        def accept_token(self, token: int) -> None: ...
        def rollback(self, k: int) -> None: ...
        def is_terminated(self) -> bool: ...  # type: ignore[empty-body]
        def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> Any: ...
        def fill_vocab_mask(self, vocab_mask: Any, idx: int) -> None: ...
        @staticmethod
        def fill_vocab_mask_batched(entries: list[Any], vocab_mask: Any) -> None:
            for entry in entries:
                entry.grammar.fill_vocab_mask(vocab_mask, entry.row)

        @staticmethod
        def reset_vocab_mask(vocab_mask: Any) -> None: ...
        @staticmethod
        def move_vocab_mask(vocab_mask: Any, device: Any) -> Any: ...
        @staticmethod
        def apply_vocab_mask(logits: Any, vocab_mask: Any) -> None: ...
        def copy(self) -> Any: ...

    @dataclass
    class Backend:
        """One for each scheduler."""

        cache: dict[Any, Any] = field(default_factory=dict)

        def dispatch_json(self, key_string: str) -> Any: ...
        def dispatch_regex(self, key_string: str) -> Any: ...
        def dispatch_ebnf(self, key_string: str) -> Any: ...
        def dispatch_structural_tag(self, key_string: str) -> Any: ...
        def initialize_vocab_mask_buffer(
            self, name: str, vocab_size: int, max_rows: int, device: Any
        ) -> Any: ...
        def set_cache(self, key: Any, value: Any) -> None:
            self.cache[key] = value

    registry: dict[str, Any] = {}
    choices: list[str] = []
    serving = SimpleNamespace(
        constrained_json_whitespace_pattern=None,
        constrained_json_disable_any_whitespace=False,
        reasoning_parser=None,
        enable_strict_thinking=False,
    )
    module("sglang", __version__="0.5.23")
    module(
        "sglang.srt.constrained.base_grammar_backend",
        BaseGrammarBackend=Backend,
        BaseGrammarObject=Grammar,
        GrammarRow=Row,
        GrammarStats=Stats,
        InvalidGrammarObject=Invalid,
        register_vocab_mask_buffer=lambda name, mask, rows: mask,
        register_grammar_backend=registry.__setitem__,
        GRAMMAR_BACKEND_REGISTRY=registry,
    )
    module("sglang.srt.server_args", add_grammar_backend_choices=choices.extend, CHOICES=choices)
    module("sglang.srt.runtime_context", get_serving=lambda: serving)


def mlx() -> None:
    """What the processor for MLX imports: numpy's functions under MLX's names."""
    import numpy as np

    def array(values: Any, dtype: Any = None) -> Any:
        return np.array(values, dtype)

    module("mlx.core", __version__="0.32.4", array=array, where=np.where)


def llama_cpp() -> None:
    """What the adapter for llama-cpp-python imports."""
    module("llama_cpp", __version__="0.3.36")


HOSTS = {"vllm": vllm, "sglang": sglang, "mlx": mlx, "llama_cpp": llama_cpp}


def prepare() -> None:
    """Stand in for every host that is not installed."""
    for name, make in HOSTS.items():
        if not installed(name):
            make()
