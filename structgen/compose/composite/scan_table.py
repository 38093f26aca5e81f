"""Build the table of a byte automaton that finds texts, and says which one it found.

Free text is read with the automaton of Aho and Corasick (1975), which ends at the first trigger it
meets; where one of several texts must stand, the same tree of texts is read without jumping back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from structgen.errors import BudgetError, UnsatisfiableSchemaError

MAX_NODES = 1 << 18  # 256 MiB of table


@dataclass(frozen=True, eq=False)
class ScanTable:
    """A deterministic automaton over bytes; state 0 is its start, and every state can end.

    rows: int32[S, 256], the next state or -1. labels: for each state the numbers of the texts that
    have been found there (ascending). quiet: uint8[S], whether the text may end there although
    nothing has been found. deeper: for each state the states behind it in the tree of texts, by
    byte; from `roots` such paths may begin anew.
    """

    rows: npt.NDArray[np.int32]
    labels: tuple[tuple[int, ...], ...]
    quiet: npt.NDArray[np.uint8]
    deeper: tuple[dict[int, int], ...]
    searching: bool

    def spelled(self, state: int, text: bytes) -> int:
        """The state after a piece of one of the texts, read as a whole; -1 if it is no such piece.

        A search may begin a text anew; elsewhere the piece must go on from where reading is.
        """
        for start in (state, 0) if self.searching else (state,):
            at = start
            for byte in text:
                at = self.deeper[at].get(byte, -1)
                if at < 0:
                    break
            if at >= 0:
                return at
        return -1

    def pieces(self, state: int) -> Iterator[bytes]:
        """All texts that `spelled` takes at a state."""
        todo = [(start, b"") for start in ({state, 0} if self.searching else {state})]
        while todo:
            at, text = todo.pop()
            for byte, child in self.deeper[at].items():
                longer = text + bytes((byte,))
                yield longer
                todo.append((child, longer))


def search_table(triggers: Sequence[bytes], excluded: Sequence[bytes] = ()) -> ScanTable:
    """Any bytes up to and with the first of `triggers`; nothing of `excluded` may come before.

    Where there are no triggers, or none has come yet, the text may end, too ("quiet"). Triggers
    must not be empty.
    """
    named, _ = _tree(triggers)  # the first nodes of the whole tree
    deeper, found = _tree([*triggers, *excluded])
    back = [0] * len(deeper)
    rows = np.zeros((len(deeper), 256), np.int32)
    queue = deque([0])
    while queue:
        at = queue.popleft()
        if at:
            rows[at] = rows[back[at]]
            found[at] |= found[back[at]]
        for byte, child in deeper[at].items():
            back[child] = int(rows[at, byte]) if at else 0
            rows[at, byte] = child
            queue.append(child)
    count = len(triggers)
    refused = np.array([any(x >= count for x in numbers) for numbers in found])
    ended = np.array([bool(numbers) for numbers in found])
    rows[refused[rows]] = -1
    rows[ended] = -1
    labels = tuple(tuple(sorted(numbers)) for numbers in found)
    paths = [_without(children, refused) for children in named]
    paths += [{}] * (len(deeper) - len(named))
    return ScanTable(rows, labels, (~ended).astype(np.uint8), tuple(paths), True)


def demanding(table: ScanTable) -> ScanTable:
    """The same search where the text must not end before something has been found."""
    rows = table.rows.copy()
    ends = np.array([bool(numbers) for numbers in table.labels])
    live = np.append(ends, False)  # the last one is for -1
    before = -1
    while (count := int(live.sum())) > before:
        before = count
        for at in range(len(rows) - 1, -1, -1):  # what is deeper comes later: one turn finds most
            if not live[at]:
                live[at] = live[rows[at]].any()
    live = live[:-1]
    if not live[0]:
        raise UnsatisfiableSchemaError(
            "free text can never reach its end",
            expected="an end that holds nothing of what is excluded",
            hint="exclude less, or end with another text",
        )
    rows[~live[rows]] = -1
    quiet = np.zeros(len(rows), np.uint8)
    deeper = tuple(_without(children, ~live) for children in table.deeper)
    return ScanTable(rows, table.labels, quiet, deeper, True)


def choice_table(texts: Sequence[bytes]) -> ScanTable:
    """Exactly one of `texts`; the label says which."""
    deeper, found = _tree(texts)
    rows = np.full((len(deeper), 256), -1, np.int32)
    for at, children in enumerate(deeper):
        for byte, child in children.items():
            rows[at, byte] = child
    labels = tuple(tuple(sorted(numbers)) for numbers in found)
    return ScanTable(rows, labels, np.zeros(len(rows), np.uint8), tuple(deeper), False)


def _without(children: dict[int, int], refused: npt.NDArray[np.bool_]) -> dict[int, int]:
    return {byte: child for byte, child in children.items() if not refused[child]}


def _tree(texts: Sequence[bytes]) -> tuple[list[dict[int, int]], list[set[int]]]:
    """The texts as a tree: for each node its children by byte, and the texts that end there."""
    deeper: list[dict[int, int]] = [{}]
    found: list[set[int]] = [set()]
    for number, text in enumerate(texts):
        at = 0
        for byte in text:
            if byte not in deeper[at]:
                deeper[at][byte] = len(deeper)
                deeper.append({})
                found.append(set())
                if len(deeper) > MAX_NODES:
                    raise BudgetError(
                        f"the texts to look for have more than {MAX_NODES} different beginnings",
                        hint="look for fewer or shorter texts",
                    )
            at = deeper[at][byte]
        found[at].add(number)
    return deeper, found
