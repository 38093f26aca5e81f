"""Turn paths, `-`, `module:Model`, names and texts of the command line into what they name.

Whatever is wrong with them becomes a StructgenError that names the place and says what to do.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structgen.cli.documents import read_schema
from structgen.cli.reading import (
    STDIN,
    argument,
    bad,
    broken,
    is_inline,
    read_json,
    read_text,
    shown,
)
from structgen.cli.terminal import is_terminal
from structgen.errors import VocabularyError

if TYPE_CHECKING:
    from structgen.vocabulary.vocabulary import Vocabulary

GRAMMAR_ENDINGS = (".lark", ".gbnf", ".ebnf")
GRAMMAR_OPTIONS = ("start", "lexing", "grammar")
_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_MODEL = re.compile(rf"({_NAME}):({_NAME})")


def read_prompt(prompt: str | None, prompt_file: str | None, *, stdin_taken: bool) -> str:
    """The prompt from the argument, the file or stdin; one newline at the end of the latter goes.

    `stdin_taken` says that stdin holds something else already.
    """
    if prompt is not None and prompt_file is not None:
        bad("there are two prompts", "--prompt-file", "one", "leave one of them out")
    if prompt is not None:
        return argument(prompt, "PROMPT")
    path = STDIN if prompt_file is None else prompt_file
    if path == STDIN and (stdin_taken or is_terminal(sys.stdin)):
        bad(
            "there is no prompt",
            "the command line",
            "PROMPT or --prompt-file",
            'write "" to start from nothing',
        )
    return read_text(path, "prompt file").removesuffix("\n").removesuffix("\r")


def load_spec(source: str, options: dict[str, Any]) -> Any:
    """The spec that SPEC names: a schema (file, `-`, text), `module:Model`, a grammar, or tools.

    `options` are keyword arguments of `structgen.JsonSchema`, and where they were given `start`,
    `lexing` and `grammar`, which are for grammars, `tool_format`, with which SPEC is a list of
    tools, `regex`, with which it is a pattern, `documents` (see `documents.read_schema`), and
    `strict`, with which a misspelt keyword is an error.
    """
    import structgen
    from structgen.schema.report.slips import look_for_slips

    options = dict(options)
    strict, documents = options.pop("strict", False), options.pop("documents", [])
    if options.pop("regex", False):
        return structgen.Regex(argument(source, "--regex"))
    tool_format = options.pop("tool_format", None)
    if tool_format is not None:
        from structgen.compose.tools.tools import tools

        definitions = read_json(source, "list of tools")
        return tools(definitions if isinstance(definitions, list) else [definitions], tool_format)
    about_grammars = {name: options.pop(name) for name in GRAMMAR_OPTIONS if name in options}
    if is_grammar(source):
        return load_grammar(source, about_grammars)
    for name in about_grammars:
        bad(f"--{name} is for grammars", shown(source), "a grammar", "leave it out")
    found = _MODEL.fullmatch(source)
    if found and not is_inline(source) and not Path(source).exists():
        from structgen.schema.python.types import PythonType

        options.pop("closed", None)  # they are
        return PythonType(import_model(*found.groups()), **options)
    schema, registry = read_schema(source, documents)
    spec = structgen.JsonSchema(schema, registry=registry, **options)
    if strict:
        look_for_slips(spec, strict=True)
    return spec


def is_grammar(source: str) -> bool:
    """Whether SPEC names a grammar: by the ending of a file, or one that is shipped."""
    if is_inline(source):
        return False
    if ending := Path(source).suffix:
        return ending in GRAMMAR_ENDINGS
    from structgen.grammar.shipped import NAMES

    return source in NAMES and not Path(source).exists()


def load_grammar(source: str, options: dict[str, Any]) -> Any:
    """The spec of a grammar file or of a shipped grammar.

    options: `start`, `lexing`, and `grammar`: for each NAME=SPEC what @NAME is.
    """
    from structgen.grammar.shipped import shipped
    from structgen.grammar.specs import Ebnf, Gbnf, Lark

    options = dict(options)
    ending, named = Path(source).suffix, options.pop("grammar", [])
    if named and ending != ".lark":
        bad("--grammar is for Lark grammars", shown(source), "", "leave it out")
    if not ending:
        return dataclasses.replace(shipped(source), **options)
    text = read_text(source, "grammar")
    if ending == ".lark":
        return Lark(text, path=source, grammars=dict(map(_named_spec, named)), **options)
    if "lexing" in options:
        bad("--lexing is for Lark grammars", shown(source), "", "leave it out")
    start = options.get("start")
    if ending == ".ebnf":
        return Ebnf(text, start)
    return Gbnf(text) if start is None else Gbnf(text, start)


def _named_spec(written: str) -> tuple[str, Any]:
    """The name and the spec of NAME=SPEC."""
    name, sign, source = written.partition("=")
    if not sign:
        bad(f"--grammar is {written!r}", "the command line", "NAME=SPEC")
    return name, load_spec(source, {})


def import_model(module: str, name: str) -> Any:
    """The type called `name` in `module`, which is looked for in the current folder first."""
    from structgen.schema.python.types import is_python_type

    place = f"{module}:{name}"
    with contextlib.suppress(FileNotFoundError):  # the folder is gone
        if (here := os.getcwd()) not in sys.path:
            sys.path.insert(0, here)
    try:
        value: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        own = module == missing or module.startswith(f"{missing}.")
        hint = "run in the folder that holds it, or set PYTHONPATH" if own else f"install {missing}"
        broken(f"there is no module {missing!r}", place, "module:Model", hint)
    except Exception as error:  # noqa: BLE001 - it is the user's module, anything may happen in it
        problem = f"importing {module!r} failed with {type(error).__name__}: {error}"
        broken(problem, place, "", f"try: python -c 'import {module}'")
    for part in name.split("."):
        if not hasattr(value, part):
            names = [
                n for n, v in vars(value).items() if is_python_type(v) and not n.startswith("_")
            ]
            known = ", ".join(sorted(names)[:8]) if hasattr(value, "__dict__") else ""
            broken(f"{module!r} has no {part!r}", place, f"one of {known}" if known else "a type")
        value = getattr(value, part)
    if not is_python_type(value):
        kind = type(value).__name__
        broken(f"{name!r} is not a type but a {kind}", place, "a class or a typing construct")
    return value


def load_vocabulary(args: argparse.Namespace) -> Vocabulary:
    """The vocabulary of `args.tokenizer`, by default the demo model's.

    VocabularyError or ModelError when there is no such tokenizer, it cannot be read, or an option
    does not belong to its kind.
    """
    from structgen import Vocabulary, demo

    name = args.tokenizer if args.tokenizer is not None else str(demo.model_path())
    if name.endswith(".tiktoken"):
        return Vocabulary.from_tiktoken(
            name, special_tokens=dict(args.special), eos_ids=args.eos, size=args.size
        )
    if args.special:
        raise VocabularyError(
            "--special describes a .tiktoken file",
            location=name,
            hint="leave it out: this tokenizer says itself which tokens are special",
        )
    if name.endswith(".model"):
        return Vocabulary.from_sentencepiece(name, eos_ids=args.eos, size=args.size)
    return Vocabulary.from_transformers(name, args.size, eos_ids=args.eos)
