"""A shortest JSON text whose value fits a normal form."""

from __future__ import annotations

from decimal import Decimal
from json import loads

from structgen.automata.pushdown.completion import Completions
from structgen.automata.pushdown.engine import Engine
from structgen.schema.machine.machine import JsonMachine
from structgen.schema.machine.whitespace import layout_of
from structgen.schema.matchers import Matchers
from structgen.schema.normal_form.forms import NormalForm


def shortest_value(costs: Matchers, form: NormalForm) -> object:
    """A value that fits with the shortest text: the shortest completion of an empty text."""
    layout, _ = layout_of("compact")
    engine = Engine(lambda: JsonMachine(form, costs.normal_form_of, costs, layout))
    text = Completions(engine).shortest(engine.start)
    return loads(text, parse_int=Decimal, parse_float=Decimal)
