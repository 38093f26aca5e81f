"""Turn paths, `-`, `module:Model`, names and texts of the command line into what they name.

Whatever is wrong with them becomes a StructgenError that names the place and says what to do.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import json
import math
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from structgen.cli.terminal import is_terminal
from structgen.errors import SpecError, StructgenError, VocabularyError
from structgen.schema.values import dumps, loads

if TYPE_CHECKING:
    from structgen.vocabulary.vocabulary import Vocabulary

STDIN = "-"
GRAMMAR_ENDINGS = (".lark", ".gbnf", ".ebnf")
YAML_ENDINGS = (".yaml", ".yml")
MOST_VALUES = 1_000_000  # of YAML, where a few lines of aliases can stand for any number
GRAMMAR_OPTIONS = ("start", "lexing", "grammar")
_DATES = "tag:yaml.org,2002:timestamp"  # in YAML; read as strings, as JSON has them
_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_MODEL = re.compile(rf"({_NAME}):({_NAME})")


def read_bytes(path: str, what: str) -> bytes:
    """The bytes of a file, or of stdin for `-`. `what` names the file's part in messages."""
    if path == STDIN:
        if sys.stdin is None:
            _bad(f"the {what} cannot be read: stdin is closed", STDIN, "", "name a file")
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except IsADirectoryError:
        _bad(f"the {what} is a directory", path, "a file", "name a file inside it")
    except FileNotFoundError:
        _bad(f"there is no {what}", path, "a file", "check the path")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        _bad(f"the {what} cannot be read: {reason}", path, "", "check the path and its permissions")


def read_text(path: str, what: str) -> str:
    """The text of a UTF-8 file, or of stdin for `-`; a byte-order mark at the start is dropped."""
    data = read_bytes(path, what)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        mark = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        _bad(
            f"the {what} is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}",
            shown(path),
            "UTF-8 text",
            "it looks like UTF-16; convert it to UTF-8" if mark else "convert it to UTF-8",
        )


def argument(text: str, name: str) -> str:
    """A text given as an argument, which must have been UTF-8 when the shell passed it on."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        _bad(f"character {error.start} is not text", name, "UTF-8", "put the text into a file")
    return text


def read_prompt(prompt: str | None, prompt_file: str | None, *, stdin_taken: bool) -> str:
    """The prompt from the argument, the file or stdin; one newline at the end of the latter goes.

    `stdin_taken` says that stdin holds something else already.
    """
    if prompt is not None and prompt_file is not None:
        _bad("there are two prompts", "--prompt-file", "one", "leave one of them out")
    if prompt is not None:
        return argument(prompt, "PROMPT")
    path = STDIN if prompt_file is None else prompt_file
    if path == STDIN and (stdin_taken or is_terminal(sys.stdin)):
        _bad(
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
    tools, `regex`, with which it is a pattern, and `strict`, with which a misspelt keyword is an
    error.
    """
    import structgen
    from structgen.schema.report.slips import look_for_slips

    options = dict(options)
    strict = options.pop("strict", False)
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
        _bad(f"--{name} is for grammars", shown(source), "a grammar", "leave it out")
    found = _MODEL.fullmatch(source)
    if found and not is_inline(source) and not Path(source).exists():
        from structgen.schema.python.types import PythonType

        options.pop("closed", None)  # they are
        return PythonType(import_model(*found.groups()), **options)
    schema = read_json(source, "schema")
    if not isinstance(schema, dict | bool):
        kind = "text" if isinstance(schema, str) else dumps(schema)[:40]
        _broken(f"the schema is {kind}", shown(source), "an object, true or false")
    spec = structgen.JsonSchema(schema, **options)
    if strict:
        look_for_slips(spec, strict=True)
    return spec


def is_inline(source: str) -> bool:
    """Whether SPEC is the JSON text of a schema or of tools itself, and no path."""
    return source.lstrip()[:1] in {"{", "["} or source in {"true", "false"}


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
        _bad("--grammar is for Lark grammars", shown(source), "", "leave it out")
    if not ending:
        return dataclasses.replace(shipped(source), **options)
    text = read_text(source, "grammar")
    if ending == ".lark":
        return Lark(text, path=source, grammars=dict(map(_named_spec, named)), **options)
    if "lexing" in options:
        _bad("--lexing is for Lark grammars", shown(source), "", "leave it out")
    start = options.get("start")
    if ending == ".ebnf":
        return Ebnf(text, start)
    return Gbnf(text) if start is None else Gbnf(text, start)


def _named_spec(written: str) -> tuple[str, Any]:
    """The name and the spec of NAME=SPEC."""
    name, sign, source = written.partition("=")
    if not sign:
        _bad(f"--grammar is {written!r}", "the command line", "NAME=SPEC")
    return name, load_spec(source, {})


def read_json(path: str, what: str) -> Any:
    """The JSON value of a text, a file or stdin (`-`), read strictly: no NaN, no key twice.

    A file that ends in .yaml or .yml is YAML.
    """
    if is_inline(path):
        text = argument(path, "SPEC")
    else:
        text = read_text(path, what)
        if Path(path).suffix in YAML_ENDINGS:
            return read_yaml(text, path, what)
    place = shown(path)
    if not text.strip():
        _broken(f"the {what} is empty", place, "JSON text", "write {} to allow every value")
    try:
        return loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        problem = f"the {what} is not JSON: {error.msg}"
        _broken(problem, f"{place}:{error.lineno}:{error.colno}", "JSON text", "correct it there")
    except RecursionError:
        _broken(f"the {what} is nested too deeply to be read", place, "", "use $ref for recursion")
    except ValueError as error:
        _broken(f"the {what} is not usable JSON: {error}", place, "strict JSON", "correct it")


def read_yaml(text: str, path: str, what: str) -> Any:
    """The value of a YAML text, which must be one of JSON: string keys, none twice, no NaN.

    path and what name the file in messages. StructgenError where PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError as error:
        raise StructgenError(
            "reading YAML needs PyYAML", location=path, hint="run: pip install pyyaml"
        ) from error

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
        """The safe loader without dates, which refuses keys that JSON does not have."""

        yaml_implicit_resolvers = {  # noqa: RUF012  the library's own attribute
            first: [(tag, regexp) for tag, regexp in resolvers if tag != _DATES]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
            """A mapping with strings for keys, none of them twice."""
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            for (key_node, _), key in zip(node.value, keys, strict=True):
                place = f"{path}:{key_node.start_mark.line + 1}:{key_node.start_mark.column + 1}"
                if not isinstance(key, str):
                    _broken(f"the key {key!r} is no string", place, hint="put it in quotes")
                if keys.count(key) > 1:
                    _broken(f"the key {key!r} stands twice in one object", place)
            found: dict[str, Any] = super().construct_mapping(node, deep=deep)
            return found

    try:
        value = yaml.load(text, Loader)  # noqa: S506  it is a safe loader
        count = _count(value, {})
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = path if mark is None else f"{path}:{mark.line + 1}:{mark.column + 1}"
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        _broken(f"the {what} is not YAML: {problem}", place, hint="correct it there")
    except RecursionError:
        _broken(f"the {what} is nested too deeply to be read", path, hint="use $ref for recursion")
    if count == math.inf:
        _broken(f"the {what} has what JSON has not", path, "texts, numbers, lists and objects")
    if count > MOST_VALUES:
        _broken(
            f"the {what} has too many values, aliases counted", path, f"{MOST_VALUES:,} at most"
        )
    return value


def _count(value: Any, known: dict[int, float]) -> float:
    """How many values there are in one; infinity where some are not of JSON.

    A value that several places have (an alias) counts in each. known: the counts of lists and
    objects by their id. Raises RecursionError for a value within itself.
    """
    if isinstance(value, list | dict):
        if id(value) not in known:
            inner = value.values() if isinstance(value, dict) else value
            known[id(value)] = 1 + sum(_count(each, known) for each in inner)
        return known[id(value)]
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return 1 if value is None or isinstance(value, str) or is_number else math.inf


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
        _broken(f"there is no module {missing!r}", place, "module:Model", hint)
    except Exception as error:  # noqa: BLE001 - it is the user's module, anything may happen in it
        problem = f"importing {module!r} failed with {type(error).__name__}: {error}"
        _broken(problem, place, "", f"try: python -c 'import {module}'")
    for part in name.split("."):
        if not hasattr(value, part):
            names = [
                n for n, v in vars(value).items() if is_python_type(v) and not n.startswith("_")
            ]
            known = ", ".join(sorted(names)[:8]) if hasattr(value, "__dict__") else ""
            _broken(f"{module!r} has no {part!r}", place, f"one of {known}" if known else "a type")
        value = getattr(value, part)
    if not is_python_type(value):
        kind = type(value).__name__
        _broken(f"{name!r} is not a type but a {kind}", place, "a class or a typing construct")
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


def shown(path: str) -> str:
    """How messages name a path."""
    if is_inline(path):
        return "SPEC"
    return "stdin" if path == STDIN else path


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _bad(problem: str, location: str, expected: str = "", hint: str = "") -> NoReturn:
    raise StructgenError(problem, location=location, expected=expected, hint=hint)


def _broken(problem: str, location: str, expected: str = "", hint: str = "") -> NoReturn:
    raise SpecError(problem, location=location, expected=expected, hint=hint)
