"""What was enforced of a text: results, hosts and the server say it, and clients may insist."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any

from structgen.constraint.artifact import described
from structgen.errors import NotEnforcedError
from structgen.schema.values import dumps
from structgen.spec.base import Spec
from structgen.version import __version__

FULL = "full"
CHECKED = "checked"
FIELD = "structgen"  # of a server's answers
HEADERS = "x-structgen-"  # what the names of its headers begin with


class Enforced:
    """That a text was written under the constraint of a spec, all of it.

    enforced: "full". engine: structgen and its version. kind: of the spec.
    """

    enforced = FULL
    engine = f"structgen {__version__}"

    def __init__(self, spec: Any) -> None:
        """spec: of the constraint that masked; of one that somebody else wrote, whatever it has."""
        self._spec = spec

    @property
    def kind(self) -> str:
        """The kind of the spec, such as "json_schema"."""
        if isinstance(self._spec, Spec):
            return self._spec.portable().kind
        return type(self._spec).__qualname__

    @cached_property
    def spec(self) -> str:
        """A digest of the spec with its options: equal for equal specs, in hex digits."""
        known = isinstance(self._spec, Spec)
        text = dumps(described(self._spec)) if known else repr(self._spec)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def to_json(self) -> dict[str, str]:
        """The same as a dict."""
        names = ("enforced", "engine", "spec", "kind")
        return {name: getattr(self, name) for name in names}

    def __repr__(self) -> str:
        return f"enforced: {self.enforced} ({self.engine}, {self.kind} {self.spec[:12]})"


class Checked(Enforced):
    """That a text was written without masks, and fits: it was checked afterwards."""

    enforced = CHECKED


def assert_enforced(response: Any) -> dict[str, Any]:
    """Raise NotEnforcedError unless a response says that all of its constraint was enforced.

    response: a result of `generate` or `Generator`; an answer of `structgen serve` as a dict, as an
    object of the openai package, or as an HTTP response of httpx, requests or openai's
    `with_raw_response` (the headers tell, so a stream need not have been read); or an item of what
    a `LogitsProcessor` has in `enforced`. Returns what it says, as a dict.
    """
    found = _said(response)
    if found.get("enforced") == FULL:
        return found
    said = found.get("enforced")
    raise NotEnforcedError(
        "nothing says that a constraint was enforced"
        if said is None
        else f"what was enforced is {said!r}",
        location=f"{type(response).__module__}.{type(response).__qualname__}",
        expected=f"{FULL!r}",
        hint="ask a server that enforces constraints, such as `structgen serve`, and name one",
    )


def _said(response: Any) -> dict[str, Any]:
    """What a response says, {} if nothing."""
    if isinstance(response, Enforced):
        return response.to_json()
    own = getattr(response, "enforced", None)
    if isinstance(own, Enforced):
        return own.to_json()
    headers = getattr(response, "headers", None)
    if isinstance(headers, Mapping):
        return {
            str(name).lower().removeprefix(HEADERS): value
            for name, value in headers.items()
            if str(name).lower().startswith(HEADERS)
        }
    said = response.get(FIELD) if isinstance(response, Mapping) else getattr(response, FIELD, None)
    if said is not None and not isinstance(said, Mapping) and hasattr(said, "model_dump"):
        said = said.model_dump()
    return dict(said) if isinstance(said, Mapping) else {}
