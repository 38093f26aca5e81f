"""Every error that structgen raises on purpose: typed, with its facts as data.

    StructgenError
    +-- SpecError                     the spec is broken (not JSON, not a schema, a bad pattern)
    |   +-- DanglingReferenceError    a `$ref` that leads nowhere, or round in a circle
    |   +-- PatternError              a regular expression that is not one, or not a regular one
    |   +-- GrammarError              a grammar text that is not one; carries line, column, rule
    +-- UnsupportedSchemaError        legal, but not enforced by this version
    +-- UnsatisfiableSchemaError      nothing at all fits the spec
    +-- BudgetError                   exact treatment would exceed a stated limit
    +-- VocabularyError               a tokenizer table that cannot be trusted
    +-- ArtifactError                 a saved file that is damaged, foreign or of another version
    +-- ModelError                    a model or tokenizer that cannot be loaded or used
    +-- GenerationError
    |   +-- TruncatedError            the token budget ended first; carries the partial text
    |   +-- NoTokenError              constraint and sampler together left no token
    |   +-- NoAnswerError             no answer of a provider's model fits; carries all of them
    +-- ValidationError               a text that does not fit; carries offset, path, keyword
    +-- HostError                     a host whose interface or settings structgen cannot serve
    +-- NotEnforcedError              a response that does not say that its constraint was enforced
    +-- ArgumentError                 an argument of the wrong kind; a ValueError too
    StructgenWarning
    +-- MisspeltKeywordWarning        a name in a schema that is almost a keyword
    +-- NoKeywordWarning              a schema without keywords, which is probably something else
    +-- UnclosedTextWarning           a host's text will end at its limit, and not where it may
    +-- UntestedVersionWarning        a package is newer than what was tested; carries its version

`kind` is the stable machine-readable name (code reads it, never the message). `location` is a JSON
Pointer into the spec, a `line:column`, a file or a token id, as text. `hint` says what to do.
"""

from __future__ import annotations

from typing import Any, ClassVar


class StructgenError(Exception):
    """Base of every error raised on purpose.

    Attributes: `problem` (what is wrong), `location` (where, "" if nowhere in particular),
    `expected` (what was expected instead), `hint` (what to do); `kind` is constant per class.
    Subclasses declare further ones, which `data` sets.
    """

    kind: ClassVar[str] = "error"

    def __init__(
        self,
        problem: str,
        *,
        location: str = "",
        expected: str = "",
        hint: str = "",
        **data: Any,
    ) -> None:
        super().__init__(problem)
        unknown = [name for name in data if not hasattr(type(self), name)]
        if unknown:
            raise TypeError(f"{type(self).__name__} carries no {', '.join(unknown)}")
        self.problem = problem
        self.location = location
        self.expected = expected
        self.hint = hint
        self.__dict__.update(data)

    def __str__(self) -> str:
        return self._message().encode("utf-8", "backslashreplace").decode()  # lone surrogates

    def _message(self) -> str:
        text = self.problem
        if self.location:
            text += f" at {self.location}"
        if self.expected:
            text += f" (expected {self.expected})"
        if self.hint:
            text += f"; {self.hint}"
        return text

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.args, self.__dict__))


def _rebuild(
    cls: type[StructgenError], args: tuple[object, ...], fields: dict[str, object]
) -> StructgenError:
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(fields)
    return error


class SpecError(StructgenError):
    """The spec is broken: not JSON, not a schema, an impossible keyword value."""

    kind = "broken_spec"


class DanglingReferenceError(SpecError):
    """A reference that leads nowhere, to an unknown document, or only back to itself."""

    kind = "dangling_reference"


class PatternError(SpecError):
    """A pattern that is not a regular expression. `position` is a character offset into it."""

    kind = "broken_pattern"
    pattern: str = ""
    position: int = 0

    def _message(self) -> str:
        return f"{super()._message()}\n    {self.pattern}\n    {' ' * self.position}^"


class GrammarError(SpecError):
    """A grammar text that is not one.

    `line` and `column` count from 1 (0 where unknown), `rule` is the rule being read there ("" if
    none), `excerpt` shows the place: its line, and a caret below it.
    """

    kind = "broken_grammar"
    line: int = 0
    column: int = 0
    rule: str = ""
    excerpt: str = ""

    def _message(self) -> str:
        return f"{super()._message()}\n{self.excerpt}" if self.excerpt else super()._message()


class UnsupportedSchemaError(StructgenError):
    """Legal, but not enforced by this version, and never ignored. `keyword` names the culprit."""

    kind = "unsupported"
    keyword: str = ""


class UnsatisfiableSchemaError(StructgenError):
    """No text at all fits the spec.

    `conflict` has the JSON Pointers of the parts of a schema that exclude each other, none of which
    could be left out; empty where that takes too long to find, and for other specs.
    """

    kind = "unsatisfiable"
    conflict: tuple[str, ...] = ()


class BudgetError(StructgenError):
    """An exact treatment would need more states, memory or time than a stated limit allows."""

    kind = "budget"


class VocabularyError(StructgenError):
    """A token table that does not reproduce its tokenizer. `token_id` names the token, or -1."""

    kind = "vocabulary"
    token_id: int = -1


class ArtifactError(StructgenError):
    """A saved constraint that is damaged, foreign, or of another version."""

    kind = "artifact"


class ModelError(StructgenError):
    """A model or tokenizer that cannot be found, loaded or used as asked."""

    kind = "model"


class GenerationError(StructgenError):
    """Generation could not go on. `text` is what had been written until then."""

    kind = "generation"
    text: str = ""


class TruncatedError(GenerationError):
    """The token budget ended before the text did. `text` is the partial text."""

    kind = "truncated"


class NoTokenError(GenerationError):
    """Constraint and sampler together left no token with positive probability."""

    kind = "no_token"


class NoAnswerError(GenerationError):
    """No answer of a model that was asked by `ask` fits, or it refuses.

    `text` is the last answer, `attempts` has all of them, each with why it does not fit.
    """

    kind = "no_answer"
    attempts: tuple[Any, ...] = ()


class ValidationError(StructgenError):
    """A text that does not fit a spec.

    `offset` is the byte offset of the first byte that cannot be right, `path` the JSON Pointer of
    the value being read there. Where the text is JSON and breaks a keyword of a schema, `keyword`
    is its name, `schema_path` its JSON Pointer in the schema, and `value_path` that of the value
    that breaks it; else they are "". `reason` says in the schema's terms what is wrong, "" where
    that is not known; `problem` is that and what the byte says.
    """

    kind = "does_not_fit"
    offset: int = 0
    path: str = ""
    keyword: str = ""
    schema_path: str = ""
    value_path: str = ""
    reason: str = ""


class HostError(StructgenError):
    """A host (vLLM, SGLang, ...) has another interface than known, or settings that are not served.

    Attributes: `host`, its name.
    """

    kind = "host"
    host: str = ""


class NotEnforcedError(StructgenError):
    """A response that does not say that its constraint was enforced in full."""

    kind = "not_enforced"


class ArgumentError(StructgenError, ValueError):
    """An argument of the wrong kind or size, such as a mask row of another width.

    A wrong spec is a SpecError, and a wrong vocabulary a VocabularyError.
    """

    kind = "argument"


class StructgenWarning(UserWarning):
    """Base of every warning given on purpose; nothing has gone wrong yet."""


class MisspeltKeywordWarning(StructgenWarning):
    """A name in a schema restricts nothing, and is almost a keyword that would.

    Attributes: `location` (its JSON Pointer), `keyword` (the name), `meant` (the keyword).
    """

    def __init__(self, problem: str, location: str, keyword: str, meant: str) -> None:
        super().__init__(problem, location, keyword, meant)
        self.location = location
        self.keyword = keyword
        self.meant = meant

    def __str__(self) -> str:
        return f"{self.args[0]} (at {self.location})"


class NoKeywordWarning(StructgenWarning):
    """A schema has names, but no keyword that restricts: anything fits, which is hardly meant."""


class UnclosedTextWarning(StructgenWarning):
    """A text that a host draws will be cut at its limit of tokens, and does not fit then."""


class UntestedVersionWarning(StructgenWarning):
    """A package is newer than the versions that structgen was tested with; or, of a host, older.

    Attributes: `package`, `version` (the installed one), `oldest` and `newest` (the tested ones),
    `older`, whether it is older.
    """

    older = False

    def __init__(self, package: str, version: str, oldest: str, newest: str) -> None:
        super().__init__(package, version, oldest, newest)
        self.package = package
        self.version = version
        self.oldest = oldest
        self.newest = newest

    def __str__(self) -> str:
        return (
            f"{self.package} {self.version} is {'older' if self.older else 'newer'} than what "
            "structgen was tested with "
            f"({self.oldest} to {self.newest}); should it misbehave, install {self.package} "
            f"{self.newest}; to silence this: warnings.filterwarnings('ignore', "
            "category=structgen.errors.UntestedVersionWarning)"
        )
