"""In: Lark's LALR parser, terminals told apart by the text before. Out: a parser of these.

A state is one of Lark's with the kind of the text before, and a rule is reduced to a name with the
kind of text that it leaves. Behind the text there is a kind of its own: only the end is read there.
What is ignored leads to the same state with another kind, which takes its place.
"""

from __future__ import annotations

from structgen.errors import BudgetError
from structgen.grammar.ir import Grammar, Lalr
from structgen.grammar.lookaround.history_product import Product
from structgen.kernels.build.loader import kernels

MOST_STEPS = 1_000_000


def lalr_behind(grammar: Grammar, lalr: Lalr, product: Product, *, useless: bool) -> Lalr:
    """The parser. grammar: as it was before. useless: see `Lalr`.

    Where it chooses, what it chooses may lead to nothing behind some texts. Raises BudgetError.
    """
    kinds, count = product.kinds, max(product.kinds) + 2
    end, nothing = count - 1, kernels("grammar.lalr_guided").NOTHING
    rules, read = {name for name, _ in lalr.rules}, grammar.terminals.keys() - {*grammar.ignore}
    ignored = [
        (kind, *one) for name in grammar.ignore for kind in kinds
        for one in product.terminals.looked_for(name, kind)
    ]  # fmt: skip

    def step(to: int, kind: int) -> int:
        return to * count + kind if to >= 0 else -1 - ((-1 - to) * count + kind)

    steps: list[dict[str, int]] = []
    size = 0
    for state, row in enumerate(lalr.steps):
        rows: list[dict[str, int]] = [{} for _ in range(count)]
        for name, to in row.items():
            if name == Lalr.END:
                for one in rows:
                    one[name] = step(to, end)
            elif name in rules:
                for kind in (*kinds, end):
                    for one in rows if kind == end else rows[:end]:
                        one[_named(name, kind)] = step(to, kind)
            elif name in read:
                for kind in kinds:
                    for variant, last in product.terminals.looked_for(name, kind):
                        after = step(to, last if to >= 0 else kind)
                        rows[kind][variant] = after if last in kinds else nothing
        for kind, variant, last in ignored:
            rows[kind][variant] = step(state, last) if last in kinds else nothing
        steps += rows
        size += sum(map(len, rows))
        if size > MOST_STEPS:
            raise BudgetError(
                f"the parser has more than {MOST_STEPS} steps where lookbehinds tell apart what may"
                " stand before them",
                hint='use shorter lookbehinds, or fewer, or lexing="viable"',
            )
    reduced = tuple(
        (_named(name, kind), size) for name, size in lalr.rules for kind in range(count)
    )
    last = step(lalr.last, end)
    return Lalr(tuple(steps), reduced, last, lalr.chooses, lalr.chooses, useless or lalr.useless)


def _named(rule: str, kind: int) -> str:
    return f"{rule}#{kind}"
