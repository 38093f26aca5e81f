"""The first bytes of an array item that must differ from earlier ones, whatever these are.

What such an item must fit depends on the values read. But how it may begin does not, where
infinitely many values begin so: then the lexer state here lets a token read on without asking for
the captured values. Where it ends (with LATER), the text is read again by the frame that knows
them.
"""

from __future__ import annotations

from structgen.automata.lexer.json_lexemes import Layout, Scalar
from structgen.automata.lexer.lexer import End, LexState, Text
from structgen.automata.lexer.separators import Fork, gap
from structgen.automata.pushdown.machine import SKIP
from structgen.regular.infinite import every_prefix_is_infinite, is_infinite
from structgen.regular.numbers.language import JSON_NUMBER
from structgen.regular.regex import EMPTY
from structgen.schema.machine.lexemes import scalars_of
from structgen.schema.matchers import Matchers
from structgen.schema.normal_form.expressions import Expr
from structgen.schema.normal_form.forms import NormalForm

LATER = ("later",)  #: the terminal at which the earlier items begin to matter
AT_ONCE = Fork((), SKIP)  #: the entry of a frame before which nothing is read
_ON = Fork((), LATER, recorded=True)


def unique_item_start(vector: tuple[NormalForm, ...], costs: Matchers, layout: Layout) -> LexState:
    """The lexer state before a value that fits one of `vector` and differs from some others."""
    key = gap(layout.inner, Fork(((ord('"'), _ON), (ord("}"), End(LATER))), recorded=True))
    after: dict[str, LexState] = {}  # by first byte, if infinitely many values begin so
    strings = tuple(scalars_of(form).string for form in vector)
    if all(string is EMPTY or every_prefix_is_infinite(string) for string in strings):
        after['"'] = Text(strings, Scalar(True, LATER[0], layout.escapes, layout.surrogates))
    chars = ""
    for form in vector:
        chars += "n" * form.null + "t" * form.true + "f" * form.false
        chars += "-0123456789" * (not form.number.is_empty()) + '"' * (not form.string.is_empty())
        chars += "[" * bool(costs.arrays(form)) + "{" * bool(costs.objects(form))
        if form.number is JSON_NUMBER:
            after |= dict.fromkeys("-0123456789", _ON)
        if is_infinite(form.string):
            after.setdefault('"', _ON)
        if _surely_infinite(costs, form, "arrays"):
            after["["] = _ON
        if _surely_infinite(costs, form, "objects"):
            after["{"] = key
    targets = tuple((ord(c), after.get(c, End(LATER))) for c in dict.fromkeys(chars))
    return Fork(targets, recorded=True)


def _surely_infinite(costs: Matchers, form: NormalForm, kind: str) -> bool:
    """Whether infinitely many arrays, or objects, certainly fit a normal form."""

    def child_is_infinite(child: Expr) -> bool:
        return costs.surely_infinite(costs.normal_form_of(child))

    return any(matcher.surely_infinite(child_is_infinite) for matcher in getattr(costs, kind)(form))
