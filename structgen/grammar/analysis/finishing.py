"""Whether some text finishes stacks and satisfies the lookaheads of what has been read.

Between two lexemes all that is left of the text so far, for the lexer, is a set of lookahead
states. Reading a terminal leads from one set to others: a finite automaton. So the question is
whether a pushdown system, the grammar with these sets as its control states, can empty its stack:
summaries of items as a least fixed point (T. Reps, S. Horwitz and M. Sagiv, "Precise
interprocedural dataflow analysis via graph reachability", 1995). They are computed as far as a
question depends on them; what takes fewest bytes is looked at first.

Where every item can be read so that no lookahead is left that ignored text does not satisfy, all
stacks can be finished behind such text, and the pushdown system need not be looked at.
"""

from __future__ import annotations

from structgen.grammar.analysis.lexeme_ends import Between, LexemeEnds
from structgen.grammar.automaton.positions import GrammarPositions
from structgen.util.cancellation import checkpoint

EMPTY_ITEM, END_ITEM = 0, 1
MAX_STEPS = 1 << 19  # items, each with what is between lexemes there; past it nothing is sure
FEW_STEPS = 1 << 8  # of all questions, until it is asked whether every item can be read plainly


class _Place:
    """Where a text can go on: a level or a frame.

    todo: what is still to be looked at from here, while no question asks for it. leads: places on
    which it depends what can be read from here. asked: the last question that asked for it. done:
    whether all that can be reached from here has been looked at. ends: whether the text can surely
    be read to its end from here, whatever lies below.
    """

    __slots__ = ("asked", "done", "ends", "leads", "todo")

    def __init__(self) -> None:
        self.todo: list[tuple[int, Between]] = []
        self.leads: list[_Place] = []
        self.asked = 0
        self.done = self.ends = False


class _Level(_Place):
    """A stack that has come to the top, with what is between the lexemes there.

    above: levels from which it has been reached.
    """

    __slots__ = ("above",)

    def __init__(self) -> None:
        super().__init__()
        self.above: list[_Level] = []


class _Frame(_Place):
    """An item on top. exits: what can be between lexemes where it has been read.

    callers: where to go on then: a frame and an item, or a level and the stacks below.
    """

    __slots__ = ("callers", "exits", "reached")

    def __init__(self) -> None:
        super().__init__()
        self.callers: list[tuple[_Frame | _Level, int]] = []
        self.exits: dict[Between, None] = {}
        self.reached: set[tuple[int, Between]] = set()


class Finishing:
    """Decides which stacks can be read to the end of the text, given how lexemes can end."""

    def __init__(self, automaton: GrammarPositions, lexemes: LexemeEnds, *, safe: bool) -> None:
        """safe: whether all stacks can be finished where no lookahead is left."""
        self._automaton, self._lexemes, self._safe = automaton, lexemes, safe
        self._levels: dict[tuple[int, Between], _Level] = {}
        self._frames: dict[tuple[int, Between], _Frame] = {}
        self._todo: list[tuple[_Place, int, Between]] = []
        self._asked: list[_Place] = []  # the places to which a question has come
        self._question = self._steps = 0
        self._plain: bool | None = None  # whether every item can be read plainly, once it is asked

    def can_end(self, stacks: int, lookaheads: int, most: int = MAX_STEPS) -> bool | None:
        """Whether some text leads from closed stacks to the end and satisfies all lookaheads.

        None where that is not known within `most` steps, or within MAX_STEPS of all questions.
        """
        self._question += 1
        self._asked, followed = [], 0
        last = min(self._steps + most, MAX_STEPS)
        if self._plain is None and self._steps > FEW_STEPS:
            self._plain = self._lexemes.are_plain()
        level = self._level(stacks, self._lexemes.between(stacks, lookaheads))
        self._ask(level)
        while not level.ends and (self._todo or followed < len(self._asked)):
            checkpoint()
            if not self._todo:  # what earlier questions have left open behind these places
                for place in self._asked[followed].leads:
                    self._ask(place)
                followed += 1
                continue
            if self._steps >= last:
                break
            self._steps += 1
            place, what, between = self._todo.pop()
            if place.ends:  # as does all that has led to it
                continue
            if isinstance(place, _Frame):
                self._go_on(place, what, between)
            elif isinstance(place, _Level):
                self._open(place, what, between)
        if level.ends or self._todo:
            for place, what, between in self._todo:
                place.todo.append((what, between))
            self._todo.clear()
            return level.ends or None
        for place in self._asked:
            place.done = True
        return False

    def _ask(self, place: _Place) -> None:
        """Take up what is to be looked at from a place, where the question has come to it."""
        if place.asked < self._question and not (place.ends or place.done):
            place.asked = self._question
            self._asked.append(place)
            self._todo += [(place, *one) for one in place.todo]
            place.todo.clear()

    def _lead(self, place: _Place, to: _Place) -> None:
        """Note that what can be read from a place depends on another one."""
        place.leads.append(to)
        if place.asked == self._question:
            self._ask(to)

    def _add(self, place: _Place, what: int, between: Between) -> None:
        """Note what is to be looked at from a place."""
        if place.asked == self._question:
            self._todo.append((place, what, between))
        else:
            place.todo.append((what, between))

    def _level(self, stacks: int, between: Between) -> _Level:
        level = self._levels.get((stacks, between))
        if level is None:
            level = self._levels[stacks, between] = _Level()
            self._add(level, stacks, between)
        if not level.ends and self._is_finished(between):
            self._succeed(level)
        return level

    def _is_finished(self, between: Between) -> bool:
        """Whether any stack can surely be finished with this between the lexemes."""
        if self._safe and between.lookaheads == 0:
            return True
        return bool(self._plain) and self._lexemes.is_plain(between)

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
        self._lead(caller, frame)
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
        self._lead(caller, below)
        below.above.append(caller)
        if below.ends:
            self._succeed(caller)

    def _reach(self, frame: _Frame, item: int, between: Between) -> None:
        if (item, between) not in frame.reached:
            frame.reached.add((item, between))
            self._add(frame, item, between)
            if self._is_finished(between):
                self._succeed(frame)

    def _go_on(self, frame: _Frame, item: int, between: Between) -> None:
        """Note all steps from an item in a frame; those noted last come first."""
        of = self._lexemes.items
        if item == EMPTY_ITEM:
            if between not in frame.exits:
                frame.exits[between] = None
                frame.callers = [one for one in frame.callers if not one[0].ends]
                for caller, then in frame.callers:
                    self._return(caller, then, between)
            return
        first, after = of.first[item], of.after[item]
        if first >= of.terminals:
            for terminal, entered in of.entries[first - of.terminals]:
                for found in self._lexemes.behind(between, terminal):
                    self._call(entered, found, frame, after)
        elif first >= 0:
            for found in self._lexemes.behind(between, first):
                self._reach(frame, after, found)
        for other in of.skips[item]:
            self._reach(frame, other, between)

    @staticmethod
    def _succeed(node: _Frame | _Level) -> None:
        """Note that the text can be read to its end from here, and from all that leads here."""
        todo = [node]
        while todo:
            one = todo.pop()
            if not one.ends:
                one.ends = True
                todo += one.above if isinstance(one, _Level) else [c for c, _ in one.callers]
