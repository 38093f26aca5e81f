"""In: a grammar. Out: the same, trimmed, with no terminal that looks at the text before it."""

from __future__ import annotations

from dataclasses import replace

from structgen.errors import BudgetError, UnsupportedSchemaError
from structgen.grammar.ir import Grammar
from structgen.grammar.transforms.useless import trimmed


def without_lookbehinds(grammar: Grammar) -> Grammar:
    """A grammar that means the same, trimmed, where no terminal looks at the text before it.

    Raises UnsatisfiableSchemaError where no text fits the start, UnsupportedSchemaError beside a
    layout, a final terminal or specs inside, and where a literal cannot be told from a pattern,
    BudgetError where they tell too many texts apart.
    """
    used = trimmed(grammar)
    looking = [terminal for terminal in used.terminals.values() if terminal.behind is not None]
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
    """The rules told apart by the text before; for an ordered lexer with all that it looks for."""
    from structgen.grammar.lookaround.history_lalr import lalr_behind
    from structgen.grammar.lookaround.history_product import Product

    product = Product(used)
    found = product.grammar()
    if used.lexing == "free":
        return found
    kinds, terminals, lalr = product.kinds, product.terminals, None
    terminals.check_words(kinds)
    held, leads_on = terminals.held(kinds), product.leads_on()
    apart, wholly = terminals.apart(kinds)
    if used.lalr is not None:
        lalr = lalr_behind(used, used.lalr, product, useless=not leads_on)
    elif held or not leads_on:
        product = Product(used, stuck=True)
        found = product.grammar()
    stuck = not (wholly and (leads_on or lalr is not None))
    variants = replace(product.variants(), held=held, apart=apart, stuck=stuck)
    return replace(found, lalr=lalr, variants=variants)
