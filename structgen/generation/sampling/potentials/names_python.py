"""`PythonNames`: a monitor that knows the names in scope in a gap of a Python file.

The analysis is jedi's (https://jedi.readthedocs.io): attributes after a point, else the names in
scope, keywords, and names of keyword arguments. What is written as a definition may be new: the
first name of a statement, the targets of `for`, parameters, and what follows `def`, `class`, `as`,
`import` and the like. A name must be defined before it is used, so the element of a comprehension
cannot use the comprehension's own variable. Of a value that jedi knows nothing about, any attribute
may be asked.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import keyword
import re
from collections import OrderedDict
from collections.abc import Collection
from typing import Any

from structgen.errors import GenerationError
from structgen.generation.sampling.potentials.monitors import Monitor

_REMEMBERED = 4096  # answers of the analysis that are kept, the longest unused leave
# A string or comment that is closed, or the beginning of one that is not.
_QUOTED = re.compile(
    r"""(?P<triple>\"{3}|'{3})(?s:.*?)(?:(?<!\\)(?P=triple)|(?P<open1>\Z))"""
    r"""|(?P<quote>["'])(?:\\.|(?!(?P=quote))[^\\\n])*(?:(?P=quote)|(?P<open2>\\?\Z)|(?=\n))"""
    r"""|\#[^\n]*(?P<open3>\Z)?""",
    re.DOTALL,
)
_COMPOUND = re.compile(
    r"\s*(?:async\s+)?(?:if|elif|else|for|while|with|try|except|finally|match)\b"
)
_DEFINES = re.compile(r"\b(?:def|class|as|global|nonlocal|del|type)\s+$")
_IMPORTS = re.compile(r"\s*(?:import|from|case)\b")
_PARAMETERS = re.compile(r"\s*(?:async\s+)?def\b[^:]*$|\blambda\b[^:]*$")
_TARGETS = re.compile(r"\bfor\b(?!.*\bin\b)(?:\s+[\w\s,()*]*)$", re.DOTALL)
_ATTRIBUTE = re.compile(
    r"(?:(?<![\w.)\]}\"'])(?P<simple>[^\W\d]\w*(?:\.\w+)*)|[\w)\]}\"'])\s*\.\s*$"
)
_NUMBER = re.compile(r"(?<![\w.])\d[\d_]*\.$")
_BINDS = re.compile(r"\blambda\b|\bfor\b|:=")


class PythonNames(Monitor):
    """The names that may stand at a place of a Python file.

    The text is written between `before` and `after`. GenerationError when jedi is not installed.
    """

    def __init__(self, before: str = "", after: str = "") -> None:
        if importlib.util.find_spec("jedi") is None:
            raise GenerationError(
                "knowing the names of a Python file needs the jedi package",
                hint="run: pip install 'structgen[monitors]'",
            )
        self.before = before
        self.after = after
        self._known: OrderedDict[tuple[str, str], frozenset[str]] = OrderedDict()

    def triggered(self, text: str) -> bool:
        """Whether a name after `text` is a use: not in a string, and not a definition."""
        line = _statement(self.before + text)
        if line is None:
            return False
        if _NUMBER.search(line):
            return False
        if _ATTRIBUTE.search(line):
            return bool(self.names(text))
        if not line.strip() or _IMPORTS.match(line) or _DEFINES.search(line):
            return False
        if _COMPOUND.match(line) and line.rstrip().endswith(":") and _depth(line) == 0:
            return False
        return not (_PARAMETERS.search(line) or _TARGETS.search(line))

    def names(self, text: str) -> Collection[str]:
        """Attributes where a point stands before, else names in scope; see the module."""
        source = self.before + text
        line = _statement(source) or ""
        key = (source[: len(source) - len(source.rpartition("\n")[2])], self._key(line, source))
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        found = self._known[key] = self._analyse(source, attribute=bool(_ATTRIBUTE.search(line)))
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return found

    def ends(self, name: str, character: str) -> bool:
        """See `Monitor.ends`; the name of an argument with its `=` begins no comparison."""
        return character != "=" if name.endswith("=") else super().ends(name, character)

    def _key(self, line: str, source: str) -> str:
        """What of the last line the names depend on, as far as that can be decided simply."""
        found = _ATTRIBUTE.search(line)
        if _BINDS.search(line) or "(" in line or "\n" in line:
            return source.rpartition("\n")[2]
        if found is None:
            return ""
        return f"{found['simple']}." if found["simple"] else line

    def _analyse(self, source: str, *, attribute: bool) -> frozenset[str]:
        jedi: Any = importlib.import_module("jedi")
        lines = source.split("\n")
        # Without a name at the cursor jedi takes the statement to be over, and sees no locals.
        # This interpreter is the environment; jedi would start another one.
        script = jedi.Script(f"{source}_{self.after}", environment=jedi.InterpreterEnvironment())
        found = script.complete(len(lines), len(lines[-1]))
        names = {_written(one) for one in found if attribute or not _is_stub_only(one)}
        return frozenset(names if attribute else names.union(keyword.kwlist))


def _statement(source: str) -> str | None:
    """The last logical line with its strings emptied; None where it ends in a string or comment."""
    quoted = list(_QUOTED.finditer(source))
    if quoted and quoted[-1].end() == len(source):
        last = quoted[-1]
        if any(last[name] is not None for name in ("open1", "open2", "open3")):
            return None
    code = _QUOTED.sub(lambda found: "" if found[0].startswith("#") else '""', source)
    start, depth = 0, 0
    for i, character in enumerate(code):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth = max(depth - 1, 0)
        elif depth == 0 and (character == ";" or (character == "\n" and code[i - 1 : i] != "\\")):
            start = i + 1
    return code[start:]


def _depth(line: str) -> int:
    """How many brackets are open at the end of a line without strings."""
    return sum(line.count(one) for one in "([{") - sum(line.count(one) for one in ")]}")


def _written(completion: Any) -> str:
    """The name as it is to be written: that of an argument with its `=`."""
    full: str = completion.name_with_symbols
    return full if full.endswith("=") else completion.name


def _is_stub_only(completion: Any) -> bool:
    """Whether a name is one of the builtins for type checkers only."""
    known = hasattr(builtins, completion.name) or completion.type == "keyword"
    return completion.module_name == "builtins" and not known
