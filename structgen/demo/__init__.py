"""The folders of the two shipped demo models, and example prompts.

The models are small Llama models of this project's own (see README.md in this folder); they
turn short texts into JSON.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def model_path() -> Path:
    """The folder of the demo model: configuration, weights in half precision, tokenizer."""
    return Path(__file__).parent / "model"


def draft_path() -> Path:
    """The folder of the much smaller draft model with the same tokenizer."""
    return Path(__file__).parent / "draft"


def heads_path(name: str) -> Path:
    """The file of the "medusa" or "eagle" heads that were trained on the demo model."""
    return Path(__file__).parent / "heads" / f"{name}.safetensors"


def _object(optional: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _with_schema(prompt: str, schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return f"{prompt}\n\nSchema: {json.dumps(schema, ensure_ascii=False)}", schema


_TEXT = {"type": "string"}
_DATE = {"type": "string", "format": "date"}
_COUNT = {"type": "integer"}
_AMOUNT = {"type": "number"}

EXAMPLES: dict[str, tuple[str, dict[str, Any]]] = {
    "order": (
        (
            "Extract the order as JSON.\n\nText: Nina Hartmann ordered 3 blue lamps and 12 oak "
            "chairs on 2025-03-28. Please use express shipping. The office in Vienna opens at "
            "19:30."
        ),
        _object(
            ("shipping",),
            customer=_TEXT,
            items={"type": "array", "items": _object(product=_TEXT, quantity=_COUNT)},
            date=_DATE,
            shipping={"type": "string", "enum": ["standard", "express", "pickup"]},
        ),
    ),
    "person": (
        (
            "Extract the person as JSON.\n\nText: Oscar Lehmann is 36 years old and lives in "
            "Zurich. Works as a farmer. Born on 1989-05-12."
        ),
        _object(
            ("job",),
            name=_TEXT,
            age={"type": "integer", "minimum": 0},
            city=_TEXT,
            job=_TEXT,
        ),
    ),
    "event": (
        (
            'Read the text and write the event as JSON.\n\nText: The concert "River jazz" takes '
            "place on 14 February 2025 at the Phoenix Hall in Geneva. It starts at 19:30. The "
            "guests are Felix, Amina and Luca."
        ),
        _object(
            ("attendees",),
            title=_TEXT,
            date=_DATE,
            location=_object(venue=_TEXT, city=_TEXT),
            attendees={"type": "array", "items": _TEXT},
        ),
    ),
    "ticket": (
        (
            'Extract the ticket as JSON.\n\nText: Ingrid Walker reported "Export chart is slow" '
            "(OPS-271) with high priority. The status is open. Tags: backup, video. Opened on "
            "2025-03-09."
        ),
        _object(
            ("tags",),
            id=_TEXT,
            summary=_TEXT,
            priority={"type": "string", "enum": ["low", "medium", "high", "critical"]},
            status={"type": "string", "enum": ["open", "closed", "pending", "resolved"]},
            reporter=_TEXT,
            tags={"type": "array", "items": _TEXT},
        ),
    ),
    "product": _with_schema(
        "Extract the product as JSON.\n\nText: New: Leather Backpack in green for 96 EUR. There "
        "are 15 in stock. It is available in M and L.",
        _object(
            product=_TEXT,
            colour={"type": "string", "enum": ["red", "blue", "green", "black"]},
            price=_AMOUNT,
            stock={"type": "integer", "minimum": 0},
            sizes={"type": "array", "items": {"type": "string", "enum": ["S", "M", "L"]}},
        ),
    ),
    "record": _with_schema(
        "Fill in the schema from the text.\n\nText: The sensor is Wright. The voltage is 36. The "
        "ward is Lima. The checked is yes.",
        _object(ward=_TEXT, sensor=_TEXT, voltage=_COUNT, checked={"type": "boolean"}),
    ),
}
