"""Builds the tables of a grammar that kernels read, grows them, stores and restores them.

The constants are concatenated in `fixed`, with their starts in `offsets`; what is met while reading
is appended to `rec`, `heap`, `rows` and the hash tables (see `kernels.grammar.tables`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.errors import BudgetError
from structgen.grammar.automaton import tables_check as checks
from structgen.grammar.ir import Grammar, Indentation, Terminal
from structgen.grammar.lookaround.lookahead import of_terminal
from structgen.grammar.terminals.automata import VIOLATED, Automata, distinct_columns
from structgen.grammar.terminals.literals import literals_of, never_accepting
from structgen.grammar.terminals.position_sets import empty_slots
from structgen.grammar.transforms.left_corner import Syntax, syntax_of
from structgen.kernels.build.loader import kernels
from structgen.regular.regex import EMPTY

MAX_BYTES = 1 << 29  # of all tables of one grammar
MAX_GROUPS = 4096  # stacks or threads side by side
MANY = 1 << 16  # entries of an array that grows

Arrays = dict[str, npt.NDArray[Any]]
Ints = npt.NDArray[np.int32]


def tables_of(
    grammar: Grammar, embedded: Mapping[int, int], guards: Sequence[Automata] = ()
) -> tuple[Any, Syntax]:
    """The tables of a trimmed grammar with nothing read yet, and its items.

    embedded: for the terminals of embedded specs, by number, the bytes of their shortest texts.
    guards: conditions on whole texts (`guards.guard_automata`); their states come behind all
    others.
    """
    k = kernels("grammar.tables")
    ordered = grammar.lexing != "free"
    terminals = grammar.in_larks_order()
    automata = [
        never_accepting(one.longer)
        if one.origin and one.language is EMPTY
        else of_terminal(one, ordered)
        for one in terminals
    ]
    widths = {i: a.width for i, a in enumerate(automata)} | dict(embedded)
    widths |= {i: 0 for i, t in enumerate(terminals) if _is_made_up(t, grammar)}
    syntax = syntax_of(grammar, [t.name for t in terminals], list(widths.values()))
    after, lookahead, classes, states = _joined([*automata, *guards], grammar.layout is not None)
    if not guards:
        lookahead = _shared(lookahead, states)
    renames, withins = literals_of(terminals, automata, grammar) if ordered else ([], [])
    fixed = {
        k.FIRST: syntax.first,
        k.AFTER: syntax.after,
        k.COST: syntax.cost,
        k.SKIP_START: syntax.skip_start,
        k.SKIP: syntax.skip,
        k.CALL_START: syntax.call_start,
        k.CALL_TERMINAL: syntax.call_terminal,
        k.CALL_ITEM: syntax.call_item,
        k.CLASS: classes,
        k.T_START: states["start"][: len(terminals)],
        k.T_IGNORED: _ignored(terminals, grammar),
        **csr(k.RENAME_START, k.RENAME, renames, len(terminals)),
        **csr(k.WITHIN_START, k.WITHIN, withins, len(terminals)),
        k.S_TERMINAL: states["terminal"],
        k.S_ENDS: _ends(terminals, states),
        k.S_NO_LONGER: states["no_longer"],
        k.S_NO_MATCH: states["no_match"],
        k.S_DISTANCE: states["distance"],
        k.L_VIOLATED: states["violated_at_end"],
        k.T_BRACKET: np.zeros(len(terminals), np.int32),
        k.C_COLUMNS: states["columns"],
        k.T_EMBEDDED: np.array([int(i in embedded) for i in range(len(terminals))], np.int32),
        k.S_WIDTH: np.zeros(len(after), np.int32),
        **_unguided(len(terminals)),
    }
    laid_out = [-1] * 3
    if grammar.layout is not None:
        laid_out = _layout(grammar.layout, terminals, fixed)
        fixed[k.S_WIDTH] = _widths(laid_out[0], fixed, after, lookahead)
    final = next((i for i, t in enumerate(terminals) if t.name == grammar.final), -1)
    info = _info(ordered, len(terminals), laid_out, final)
    return begun(fixed, after, lookahead, info), syntax


def _ends(terminals: list[Terminal], states: Mapping[str, Any]) -> Ints:
    """int32[states]: whether a lexeme may end in each, and how (see `kernels.grammar.lexer`)."""
    lexer = kernels("grammar.lexer")
    commits = np.array([terminal.commits for terminal in terminals], np.bool_)
    kinds = np.where(commits[states["terminal"]], lexer.COMMITS, lexer.ENDS)
    found: Ints = (kinds * states["ends"]).astype(np.int32)
    return found


def _ignored(terminals: list[Terminal], grammar: Grammar) -> Ints:
    """int32[terminals]: 1 for ignored ones, SKIPPED for those that rules read as ignored."""
    skipped: set[str] = set()
    if grammar.variants is not None and grammar.lexing != "free":
        skipped = grammar.variants.skipped
    mark = kernels("grammar.lalr_guided").SKIPPED
    found = [int(t.name in grammar.ignore) or mark * (t.name in skipped) for t in terminals]
    return np.array(found, np.int32)


def begun(constants: Mapping[int, Any], after: Ints, lookahead: Ints, info: Any) -> Any:
    """Tables with nothing read yet. constants: the parts of `fixed`, by their index."""
    k = kernels("grammar.tables")
    listed = [constants[i].astype(np.int32) for i in range(k.FIXED_COUNT)]
    items, terminals = len(constants[k.FIRST]), len(constants[k.T_START])
    info[k.REGION] = max(1024, items, len(after) + 2, terminals + 2)
    return k.Tables(
        fixed=np.concatenate(listed),
        offsets=np.cumsum([0, *map(len, listed)]).astype(np.int64),
        next=after,
        watch=lookahead,
        rec=np.zeros((8192, 8), np.int32),  # a page takes no memory before it is filled
        heap=np.zeros(65536, np.int32),
        rows=np.full((256, after.shape[1]), -2, np.int32),
        memo=_empty(4096),
        names=_empty(4096),
        info=info,
        work=np.zeros(k.REGIONS * int(info[k.REGION]), np.int32),
        mark=np.zeros(items + terminals, np.int32),
    )


def _unguided(terminals: int) -> dict[int, Any]:
    """The constants of an LALR parser where there is none (see `lalr_guided`)."""
    k = kernels("grammar.tables")
    nothing = np.zeros(0, np.int32)
    return {
        k.T_SHADOW: np.full(terminals, -1),
        **csr(k.COMPETING_START, k.COMPETING, [], terminals),
        k.LR_START: np.zeros(1, np.int32),
        **dict.fromkeys((k.LR_SYMBOL, k.LR_STEP, k.LR_SIZE, k.LR_NAME), nothing),
    }


def _info(ordered: bool, terminals: int, laid_out: list[int], final: int) -> npt.NDArray[np.int64]:
    """int64[INFO_SIZE]: the scalars of the tables, with nothing read yet."""
    k = kernels("grammar.tables")
    info = np.zeros(k.INFO_SIZE, np.int64)
    info[[k.RECORDS, k.HEAP]] = 1  # number 0 stands for nothing
    info[[k.ORDERED, k.TERMINAL_COUNT, k.MANY_GROUPS]] = ordered, terminals, MAX_GROUPS
    info[[k.NEWLINE, k.INDENT, k.DEDENT]] = laid_out
    info[[k.FIRST_STATE, k.LAST_STATE, k.FINAL]] = -1, -1, final
    _with_addresses(info)
    return info


def _with_addresses(info: npt.NDArray[np.int64]) -> None:
    """Write the addresses of kernels that call each other. ValueError if `info` is malformed."""
    if info.shape != (kernels("grammar.tables").INFO_SIZE,) or info.dtype != np.int64:
        raise ValueError("info")
    for place, address in _addresses():
        info[place] = address


@lru_cache(maxsize=1)
def _addresses() -> list[tuple[int, int]]:
    """Indices into `info` with the addresses of kernels, which stay the same within a process."""
    found: list[tuple[int, int]] = kernels("build.decorators").addresses(
        kernels("grammar.tables").CALLED
    )
    return found


def _is_made_up(terminal: Terminal, grammar: Grammar) -> bool:
    """Whether the lexer makes a terminal of the indentation, with no text."""
    layout = grammar.layout
    return layout is not None and terminal.name in (layout.indent, layout.dedent)


def _layout(layout: Indentation, terminals: list[Terminal], fixed: dict[int, Any]) -> list[int]:
    """The numbers of the terminals for line breaks, indents and dedents; notes the brackets."""
    k = kernels("grammar.tables")
    numbers = {terminal.name: i for i, terminal in enumerate(terminals)}
    for names, change in ((layout.opens, 1), (layout.closes, -1)):
        for name in names:
            if name in numbers:
                fixed[k.T_BRACKET][numbers[name]] = change
    columns = fixed[k.C_COLUMNS]
    columns[columns == 2] = layout.tab
    return [numbers.get(name, -1) for name in (layout.newline, layout.indent, layout.dedent)]


def _widths(newline: int, fixed: Mapping[int, Any], after: Ints, lookahead: Ints) -> Ints:
    """int32[states]: what the width of a line is to each (see `kernels.grammar.indentation`).

    It is nothing to a line break that only the end of the text can follow: where it has ended, it
    would be longer with any byte that a terminal begins with.
    """
    k, layout = kernels("grammar.tables"), kernels("grammar.indentation")
    begins = (after[fixed[k.T_START]] >= 0).any(axis=0)
    last = ~((lookahead != VIOLATED) & begins).any(axis=1)
    counts = (fixed[k.S_TERMINAL] == newline) & (fixed[k.S_ENDS] > 0) & ~last[fixed[k.S_NO_LONGER]]
    on = after[:, fixed[k.C_COLUMNS] >= 0]
    while True:  # back from where a line break may end, but not over the end of a line
        more = counts | np.append(counts, False)[on].any(axis=1)
        if (more == counts).all():
            break
        counts = more
    later = (fixed[k.S_TERMINAL] == newline) & ~counts
    found: Ints = np.where(counts, layout.COUNTS, np.where(later, layout.LATER, layout.NO_WIDTH))
    return found.astype(np.int32)


def _empty(size: int) -> npt.NDArray[np.int64]:
    return np.full((size, 2), -1, np.int64)


def csr(start: int, listed: int, pairs: Iterable[tuple[int, int]], count: int) -> dict[int, Any]:
    """Two constant arrays in CSR form: for each terminal the others that `pairs` name with it."""
    rows: list[list[int]] = [[] for _ in range(count)]
    for one, other in pairs:
        rows[one].append(other)
    return {
        start: np.cumsum([0, *map(len, rows)]),
        listed: np.array([x for row in rows for x in row], np.int32),
    }


def _joined(automata: list[Automata], laid: bool) -> tuple[Any, Any, Any, dict[str, Any]]:
    """All DFAs side by side, over classes of bytes that none of them tells apart.

    Returns the transition tables of terminals and of lookaheads, the class of each byte, and the
    columns of states by name: start (of terminals), terminal, ends, no_longer, no_match, distance,
    violated_at_end, columns (what a byte class adds to the width of a line).
    """
    sizes = [len(a.next) for a in automata]
    lookaheads = [len(a.lookahead) - 2 for a in automata]
    state_at = np.cumsum([0, *sizes])[:-1]
    lookahead_at = np.cumsum([0, *lookaheads])[:-1]
    white = np.zeros(256, np.int32)
    if laid:  # what a byte adds to the width of a line; -1 begins a line
        white[[ord("\n"), ord(" "), ord("\t")]] = -1, 1, 2
    columns, classes = distinct_columns(np.stack([white, *(a.classes for a in automata)]))

    def side_by_side(parts: list[Any], shift: Any, first: int, before: Any) -> Any:
        """Tables in a row, behind another one; numbers from `first` on are shifted for each."""
        found = np.concatenate([before[:0], *parts])
        by = np.repeat(shift, [*map(len, parts)]).reshape(-1, *[1] * (found.ndim - 1))
        shifted = np.where(found < first, found, found + by)
        return np.ascontiguousarray(np.concatenate([before, shifted]), np.int32)

    sinks = np.repeat(np.array([[0], [1]], np.int32), len(columns), axis=1)
    nexts = side_by_side([a.next.take(columns, axis=1) for a in automata], state_at, 0, sinks[:0])
    lookahead = side_by_side(
        [a.lookahead[2:].take(columns, axis=1) for a in automata], lookahead_at, 2, sinks
    )
    violated_at_end: list[Any] = [[False, True], *(a.violated_at_end[2:] for a in automata)]
    none = np.zeros(0, np.int32)
    states = {
        "columns": white[columns],
        "start": state_at,
        "terminal": np.repeat(np.arange(len(sizes)), sizes),
        "ends": np.concatenate([none, *(a.accepts for a in automata)]),
        "no_longer": side_by_side([a.no_longer for a in automata], lookahead_at, 2, none),
        "no_match": side_by_side([a.no_match for a in automata], lookahead_at, 2, none),
        "distance": np.concatenate([none, *(a.distance for a in automata)]),
        "violated_at_end": np.concatenate(violated_at_end),
    }
    return nexts, lookahead, classes, states


def _shared(lookahead: Ints, states: dict[str, Any]) -> Ints:
    """The lookahead DFA with one state for those of several terminals that are alike.

    So are those of keywords, behind which the same characters must not stand. Sets the columns of
    states (see `_joined`).
    """
    violated = states["violated_at_end"].astype(np.int32)
    number = np.empty(len(lookahead), np.int32)
    slots = empty_slots(len(lookahead))
    count = kernels("terminals.minimal").shared(lookahead, violated, number, slots)
    for name in ("no_longer", "no_match"):
        states[name] = number[states[name]]
    states["violated_at_end"] = violated[:count] > 0
    return lookahead[:count].copy()


def grown(tables: Any, what: int) -> Any:
    """Tables with more room in the array that `what` names. Raises BudgetError."""
    k = kernels("grammar.tables")
    if what == k.MANY_GROUPS:
        raise BudgetError(
            f"more than {MAX_GROUPS} ways to have read the text so far",
            hint="make the grammar less ambiguous",
        )
    if sum(array.nbytes for array in tables) > MAX_BYTES:
        raise BudgetError(
            f"the tables of the grammar take more than {MAX_BYTES >> 20} MiB",
            hint="write a shorter text, or make the grammar less ambiguous",
        )
    if what == k.REGION:
        tables.info[k.REGION] *= 2
        return tables._replace(work=np.zeros(2 * len(tables.work), np.int32))
    growers: dict[int, tuple[str, Callable[[Any], Any]]] = {
        k.RECORDS: ("rec", _larger),
        k.HEAP: ("heap", _larger),
        k.ROWS: ("rows", lambda a: _larger(a, -2)),
        k.MEMO: ("memo", _rehashed),
        k.NAMES: ("names", _renamed),
    }
    name, grow = growers[what]
    return tables._replace(**{name: grow(getattr(tables, name))})


def _larger(array: npt.NDArray[Any], fill: int = 0) -> npt.NDArray[Any]:
    """The array with more room; a mask begins anew each time, so small ones grow much at once."""
    times = 4 if len(array) < MANY else 2
    larger: npt.NDArray[Any] = np.zeros(
        (times * max(len(array), 32), *array.shape[1:]), array.dtype
    )
    larger[: len(array)] = array
    if fill:
        larger[len(array) :] = fill
    return larger


def _larger_table(table: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """An empty hash table with more room; one that is large takes long to make."""
    return _empty((4 if len(table) < 4 * MANY else 2) * len(table))


def _rehashed(table: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    larger = _larger_table(table)
    kernels("tables").rehash(table, larger)
    return larger


def _renamed(table: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    larger = _larger_table(table)
    kernels("grammar.tables").rename(table, larger)
    return larger


def arrays_of(tables: Any) -> Arrays:
    """The arrays of tables that a file keeps."""
    k = kernels("grammar.tables")
    used = {"rec": k.RECORDS, "heap": k.HEAP, "rows": k.ROWS}
    arrays: Arrays = dict(tables._asdict())
    for name, count in used.items():
        arrays[name] = arrays[name][: int(tables.info[count])]
    del arrays["work"], arrays["mark"]
    return arrays | {"marks": np.array([len(tables.mark)])}


def tables_from(arrays: Arrays) -> Any:
    """The tables of which `arrays_of` kept the arrays. Raises KeyError, TypeError or ValueError.

    Whatever the arrays hold, kernels read no more than is there: see `tables_check`.
    """
    k = kernels("grammar.tables")
    marks = arrays.pop("marks").tolist()
    given = {name: np.array(array, order="C") for name, array in arrays.items()}
    _with_addresses(given["info"])
    nothing = np.zeros(0, np.int32)
    tables = k.Tables(**given, work=nothing, mark=nothing)
    checks.run(tables, *marks)
    tables.info[k.STAMP] = 0
    return tables._replace(
        work=np.zeros(k.REGIONS * int(tables.info[k.REGION]), np.int32),
        mark=np.zeros(marks[0], np.int32),
    )
