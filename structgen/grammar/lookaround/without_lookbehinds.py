"""Turns a grammar whose terminals look at the text before them into one where none does."""

from __future__ import annotations

from dataclasses import replace

from structgen.errors import BudgetError, UnsupportedSchemaError
from structgen.grammar.ir import Grammar, Lalr
from structgen.grammar.lookaround.split_rules import Product
from structgen.grammar.transforms.useless import trimmed
from structgen.kernels.build.loader import kernels

MAX_ACTIONS = 1_000_000  # entries of the split LALR tables


def without_lookbehinds(grammar: Grammar) -> Grammar:
    """An equivalent grammar, trimmed, in which no terminal looks at the text before it.

    Raises UnsatisfiableSchemaError where no text fits the start, UnsupportedSchemaError beside a
    layout, a final terminal or specs inside, and where a literal cannot be told from a pattern,
    BudgetError where lookbehinds tell too many texts apart.
    """
    used = trimmed(grammar)
    looking = [terminal for terminal in used.terminals.values() if terminal.lookbehind is not None]
    if not looking:
        return used
    where = str(looking[0].place or "")
    beside = "a layout" if used.layout is not None else "a final terminal" if used.final else ""
    if any(terminal.nested is not None for terminal in used.terminals.values()):
        beside = "specs inside the grammar"
    if beside:
        raise UnsupportedSchemaError(
            f"the terminal {looking[0]} looks at the text before it, which is not supported beside"
            f" {beside}",
            keyword="pattern",
            location=where,
            hint="put the assertion behind the characters that it is about",
        )
    try:
        return _split(used)
    except BudgetError as error:
        error.location = error.location or where
        raise


def _split(used: Grammar) -> Grammar:
    """The grammar split by prefix states; for an ordered lexer with all that it looks for."""
    product = Product(used)
    found = product.grammar()
    if used.lexing == "free":
        return found
    prefixes, terminals, lalr = product.prefixes, product.terminals, None
    terminals.check_words(prefixes)
    held, leads_on = terminals.held(prefixes), product.leads_on()
    apart, wholly = terminals.apart(prefixes)
    if used.lalr is not None:
        lalr = _split_lalr(used, used.lalr, product, has_dead_ends=not leads_on)
    elif held or not leads_on:
        product = Product(used, keeps_stuck=True)
        found = product.grammar()
    may_get_stuck = not (wholly and (leads_on or lalr is not None))
    variants = replace(product.variants(), held=held, apart=apart, may_get_stuck=may_get_stuck)
    return replace(found, lalr=lalr, variants=variants)


def _split_lalr(grammar: Grammar, lalr: Lalr, product: Product, *, has_dead_ends: bool) -> Lalr:
    """Lark's LALR parser over split terminals.

    A state is one of Lark's with the prefix state, and a rule is reduced to a name with the prefix
    state behind it. Behind the text there is a prefix state of its own: only the end is read there.
    What is ignored leads to the same LALR state with another prefix state, which takes its place.

    grammar: before it was split. has_dead_ends: see `ir.Lalr`. Where conflicts were settled, what
    the parser decides may lead to nothing behind some texts. Raises BudgetError.
    """
    prefixes, count = product.prefixes, max(product.prefixes) + 2
    end, nothing = count - 1, kernels("grammar.lalr_guided").NOTHING
    rules, read = {name for name, _ in lalr.rules}, grammar.terminals.keys() - {*grammar.ignore}
    ignored = [
        (prefix, *one) for name in grammar.ignore for prefix in prefixes
        for one in product.terminals.looked_for(name, prefix)
    ]  # fmt: skip

    def step(to: int, prefix: int) -> int:
        return to * count + prefix if to >= 0 else -1 - ((-1 - to) * count + prefix)

    actions: list[dict[str, int]] = []
    size = 0
    for state, row in enumerate(lalr.actions):
        rows: list[dict[str, int]] = [{} for _ in range(count)]
        for name, to in row.items():
            if name == Lalr.END:
                for one in rows:
                    one[name] = step(to, end)
            elif name in rules:
                for prefix in (*prefixes, end):
                    for one in rows if prefix == end else rows[:end]:
                        one[_named(name, prefix)] = step(to, prefix)
            elif name in read:
                for prefix in prefixes:
                    for variant, last in product.terminals.looked_for(name, prefix):
                        after = step(to, last if to >= 0 else prefix)
                        rows[prefix][variant] = after if last in prefixes else nothing
        for prefix, variant, last in ignored:
            rows[prefix][variant] = step(state, last) if last in prefixes else nothing
        actions += rows
        size += sum(map(len, rows))
        if size > MAX_ACTIONS:
            raise BudgetError(
                f"the parser has more than {MAX_ACTIONS} actions where lookbehinds tell apart what"
                " may stand before them",
                hint='use shorter lookbehinds, or fewer, or lexing="viable"',
            )
    reduced = tuple(
        (_named(name, prefix), size) for name, size in lalr.rules for prefix in range(count)
    )
    last = step(lalr.end_state, end)
    return Lalr(
        tuple(actions),
        reduced,
        last,
        lalr.has_conflicts,
        lalr.has_conflicts,
        has_dead_ends or lalr.has_dead_ends,
    )


def _named(rule: str, prefix: int) -> str:
    return f"{rule}#{prefix}"
