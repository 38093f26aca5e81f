"""Entry points: kernels that Python calls with the addresses of a grammar's tables and parts."""

from __future__ import annotations

from structgen.kernels.build.decorators import lean, loader, stored
from structgen.kernels.build.language import types
from structgen.kernels.grammar.step import call_is_accepting, read
from structgen.kernels.grammar.tables import GRAMMAR, INT
from structgen.kernels.grammar_masks.masks import mask_of
from structgen.kernels.grammar_masks.tries import PARTS_T
from structgen.kernels.tables import BYTES, I32, I64

tables_at, parts_at = loader(GRAMMAR), loader(PARTS_T)


@lean(types.void(GRAMMAR.kind, INT))
def keep_tables(t, address):  # type: ignore[no-untyped-def]
    """Write tables down at an address."""
    stored(address, t)


@lean(types.void(PARTS_T.kind, INT))
def keep_parts(p, address):  # type: ignore[no-untyped-def]
    """Write parts down at an address."""
    stored(address, p)


@lean(INT(INT, INT, BYTES, I64))
def run(tables, at, data, place):  # type: ignore[no-untyped-def]
    """See `grammar.step.read`."""
    return read(tables_at(tables), at, data, place)


@lean(INT(INT, INT))
def is_accepting(tables, at):  # type: ignore[no-untyped-def]
    """See `grammar.step.is_accepting`."""
    return call_is_accepting(tables_at(tables), at)


@lean(INT(INT, INT, INT, I32))
def mask(tables, parts, at, row):  # type: ignore[no-untyped-def]
    """See `grammar_masks.masks.mask_of`."""
    return mask_of(tables_at(tables), parts_at(parts), at, row)
