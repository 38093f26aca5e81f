"""Whether some text finishes stacks and satisfies the lookaheads of what has been read.

Between two lexemes all that is left of the text so far, for the lexer, is a set of lookahead
states. Reading a terminal leads from one set to others: a finite automaton. So the question is
whether a pushdown system, the grammar with these sets as its control states, can empty its stack:
summaries of items as a least fixed point (T. Reps, S. Horwitz and M. Sagiv, "Precise
interprocedural dataflow analysis via graph reachability", 1995), computed as far as asked.
"""

from __future__ import annotations

from structgen.grammar.analysis.lexeme_ends import Between, LexemeEnds
from structgen.grammar.automaton.positions import GrammarPositions
from structgen.util.cancellation import checkpoint

EMPTY_ITEM, END_ITEM = 0, 1
MAX_STEPS = 1 << 19  # items, each with what is between lexemes there; past it nothing is sure


class _Level:
    """A stack that has come to the top, with what is between the lexemes there.

    above: levels from which it has been reached. ends: whether the text can be read to its end.
    """

    __slots__ = ("above", "ends")

    def __init__(self) -> None:
        self.above: list[_Level] = []
        self.ends = False


class _Frame:
    """An item on top. exits: what can be between lexemes where it has been read.

    callers: where to go on then: a frame and an item, or a level and the stacks below. ends:
    whether the text can surely be read to its end from here, whatever lies below.
    """

    __slots__ = ("callers", "ends", "exits", "reached")

    def __init__(self) -> None:
        self.callers: list[tuple[_Frame | _Level, int]] = []
        self.exits: dict[Between, None] = {}
        self.reached: set[tuple[int, Between]] = set()
        self.ends = False


class Finishing:
    """Decides which stacks can be read to the end of the text, given how lexemes can end."""

    def __init__(self, automaton: GrammarPositions, lexemes: LexemeEnds, *, safe: bool) -> None:
        """safe: whether all stacks can be finished where no lookahead is left."""
        self._automaton, self._lexemes, self._safe = automaton, lexemes, safe
        self._levels: dict[tuple[int, Between], _Level] = {}
        self._frames: dict[tuple[int, Between], _Frame] = {}
        self._todo: list[tuple[_Level, int, Between] | tuple[_Frame, int, Between]] = []
        self._steps = 0

    def can_end(self, stacks: int, lookaheads: int, most: int = MAX_STEPS) -> bool | None:
        """Whether some text leads from closed stacks to the end and satisfies all lookaheads.

        None where that is not known within `most` steps, or within MAX_STEPS of all questions.
        """
        level = self._level(stacks, self._lexemes.between(stacks, lookaheads))
        last = min(self._steps + most, MAX_STEPS)
        while not level.ends and self._todo:
            checkpoint()
            if self._steps >= last:
                return None
            self._steps += 1
            node, what, between = self._todo.pop()
            if node.ends:  # as does all that has led to it
                continue
            if isinstance(node, _Frame):
                self._go_on(node, what, between)
            else:
                self._open(node, what, between)
        return level.ends

    def _level(self, stacks: int, between: Between) -> _Level:
        level = self._levels.get((stacks, between))
        if level is None:
            level = self._levels[stacks, between] = _Level()
            level.ends = self._safe and between.lookaheads == 0
            if not level.ends:
                self._todo.append((level, stacks, between))
        return level

    def _open(self, level: _Level, stacks: int, between: Between) -> None:
        """Begin with each item on top of some stacks."""
        pairs = self._automaton.record(stacks)
        for item_set, below in zip(pairs[::2], pairs[1::2], strict=True):
            for item in self._automaton.record(item_set):
                if item != END_ITEM:
                    self._call(item, between, level, below)
                elif self._lexemes.may_end(between):
                    self._succeed(level)

    def _call(self, item: int, between: Between, caller: _Frame | _Level, then: int) -> None:
        frame = self._frames.get((item, between))
        if frame is None:
            frame = self._frames[item, between] = _Frame()
            self._reach(frame, item, between)
        if frame.ends:
            self._succeed(caller)
            return
        frame.callers.append((caller, then))
        for found in list(frame.exits):
            self._return(caller, then, found)

    def _return(self, caller: _Frame | _Level, then: int, between: Between) -> None:
        """Go on behind an item that has been read."""
        if caller.ends:
            return
        if isinstance(caller, _Frame):
            self._reach(caller, then, between)
            return
        below = self._level(then, between)
        below.above.append(caller)
        if below.ends:
            self._succeed(caller)

    def _reach(self, frame: _Frame, item: int, between: Between) -> None:
        if (item, between) not in frame.reached:
            frame.reached.add((item, between))
            self._todo.append((frame, item, between))
            if self._safe and between.lookaheads == 0:
                self._succeed(frame)

    def _go_on(self, frame: _Frame, item: int, between: Between) -> None:
        """Take all steps from an item in a frame."""
        of = self._lexemes.items
        if item == EMPTY_ITEM:
            if between not in frame.exits:
                frame.exits[between] = None
                frame.callers = [one for one in frame.callers if not one[0].ends]
                for caller, then in frame.callers:
                    self._return(caller, then, between)
            return
        for other in of.skips[item]:
            self._reach(frame, other, between)
        first, after = of.first[item], of.after[item]
        if first >= of.terminals:
            for terminal, entered in of.entries[first - of.terminals]:
                for found in self._lexemes.behind(between, terminal):
                    self._call(entered, found, frame, after)
        elif first >= 0:
            for found in self._lexemes.behind(between, first):
                self._reach(frame, after, found)

    @staticmethod
    def _succeed(node: _Frame | _Level) -> None:
        """Note that the text can be read to its end from here, and from all that leads here."""
        todo = [node]
        while todo:
            one = todo.pop()
            if not one.ends:
                one.ends = True
                todo += one.above if isinstance(one, _Level) else [c for c, _ in one.callers]
