"""The engines with the settings that somebody who generates text with them has.

The other commands ask structgen for every spelling of every value. For generation one wants what
one would write by hand, which is structgen's default: keys in the order of the schema, little white
space. The other engines run with the same settings everywhere, which are those of their users.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from jsonschemabench import engines
from jsonschemabench.engines.engine import Engine
from jsonschemabench.engines.structgen import StructgenEngine


class GeneratingStructgen(StructgenEngine):
    """structgen with the defaults of its `JsonSchema`."""

    settings: ClassVar[Mapping[str, str]] = {
        "property_order": "declared",
        "whitespace": "bounded",
    }


def engine_class(name: str) -> type[Engine]:
    """The class of an engine for generation. EngineMissingError as in `engines.engine_class`."""
    found = engines.engine_class(name)
    return GeneratingStructgen if found is StructgenEngine else found
