"""What rules with the option `capture` have read in a finished text.

The text is parsed again, once, when it is finished: nothing is kept while it is written. All ways
to read it are found by deduction (J. Earley, "An efficient context-free parsing algorithm", 1970),
one place of the text after the other, and one is picked: of the ways to read a rule the first
alternative that fits, with as much in its first parts as fits.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from structgen.automata.interface import DEAD
from structgen.errors import SpecError
from structgen.grammar.embedded.tokens import Token
from structgen.grammar.ir import Capture, Grammar, Terminal
from structgen.grammar.lookaround.lookbehind import resolved
from structgen.grammar.terminals.leftmost_first import MatchState, Program
from structgen.grammar.terminals.python_language import lookbehind_language
from structgen.grammar.terminals.python_regex import Node
from structgen.regular.regex import EMPTY, Regex, matches
from structgen.spec.base import Captured, ReadToken, Spec

Item = tuple[str, int, int, int]  # rule, alternative, how many of its parts are read, start
Part = tuple[str, int, int]  # rule or terminal, start, end


@dataclass(frozen=True)
class _Found:
    """A capture, as offsets; hidden: what is left out of it and of all captures around it."""

    name: str
    start: int
    end: int
    hidden: tuple[tuple[int, int], ...] = ()


def grammar_inside(spec: Any) -> Grammar | None:
    """The grammar that an embedded spec is, None where it is something else."""
    rules = getattr(spec, "rules", None)
    return None if rules is None else rules()


def has_captures(grammar: Grammar) -> bool:
    """Whether a grammar, or one inside it, captures something."""
    inner = (grammar_inside(terminal.nested) for terminal in grammar.terminals.values())
    return bool(grammar.captures) or any(one is not None and has_captures(one) for one in inner)


class _Reading:
    """A text with the tokens in it. apart: those that were read for themselves, by their start."""

    def __init__(self, text: str, tokens: Iterable[ReadToken] = ()) -> None:
        self.text = text
        self.tokens = list(tokens)
        self.apart = {token.start: token for token in self.tokens if token.apart}
        self._starting: dict[int, list[ReadToken]] = {}
        for token in self.tokens:
            self._starting.setdefault(token.start, []).append(token)
        self._places = [*sorted(self.apart), len(text)]

    def part(self, start: int, end: int) -> _Reading:
        """The text between two places."""
        inside = [one for one in self.tokens if start <= one.start and one.end <= end]
        moved = (one._replace(start=one.start - start, end=one.end - start) for one in inside)
        return _Reading(self.text[start:end], moved)

    def starting(self, at: int) -> list[ReadToken]:
        """The tokens that begin at a place."""
        return self._starting.get(at, [])

    def last(self, at: int) -> int:
        """Where what is read by its bytes from a place on ends: before the next token apart."""
        return self._places[bisect_left(self._places, at)]


def captured(grammar: Grammar, text: str, tokens: Iterable[ReadToken] = ()) -> tuple[Captured, ...]:
    """What is captured in a text of the grammar, in the order in which it ends.

    tokens: see `Spec.captures`. Raises SpecError for a text that is not one of the grammar's.
    """
    reading = _Reading(text, tokens)
    found = _captures(grammar, reading)
    hidden = [span for one in found for span in one.hidden]
    return tuple(
        Captured(
            one.name,
            _without(text, one.start, one.end, hidden),
            one.start,
            one.end,
        )
        for one in found
        if one.name
    )


def _without(text: str, start: int, end: int, hidden: list[tuple[int, int]]) -> str:
    """A stretch of a text without what is hidden in it."""
    gone: set[int] = set()
    for first, last in hidden:
        if start <= first and last <= end and (first, last) != (start, end):
            gone.update(range(first, last))
    return "".join(text[at] for at in range(start, end) if at not in gone)


def _captures(grammar: Grammar, reading: _Reading) -> list[_Found]:
    chart = _Chart(grammar, reading)
    end = chart.filled()
    if end is None:
        raise SpecError(
            "the text is not one of the grammar's", expected="a finished text", hint="see check()"
        )
    found: list[_Found] = []
    todo: list[tuple[Part, bool]] = [((grammar.start, 0, end), False)]
    spans: list[list[tuple[int, int]]] = []  # of the lexemes in each open rule
    while todo:
        part, is_read = todo.pop()
        name, _, end = part
        if name in grammar.rules:
            if not is_read:
                todo.append((part, True))
                todo += [(inner, False) for inner in reversed(chart.parts(part))]
                spans.append([])
                continue
            read = spans.pop()
            if name in grammar.captures:
                first, last = (read[0][0], read[-1][1]) if read else (end, end)
                found.append(_Found(grammar.captures[name].name, first, last))
        else:
            begin = chart.begins(part)
            read = [(begin, end)]
            found += _in_lexeme(
                grammar.terminals[name], grammar.captures.get(name), reading, begin, end
            )
        if spans:
            spans[-1] += read[:1] + read[-1:]
    return found


def _in_lexeme(
    terminal: Terminal, capture: Capture | None, reading: _Reading, start: int, end: int
) -> Iterator[_Found]:
    """What is captured within one lexeme."""
    text = reading.text
    inside = grammar_inside(terminal.nested)
    if inside is not None and has_captures(inside):
        for inner in _captures(inside, reading.part(start, end)):
            hidden = tuple((start + first, start + last) for first, last in inner.hidden)
            yield _Found(inner.name, start + inner.start, start + inner.end, hidden)
    if capture is None or capture.body is None or capture.marker is None:
        return
    split = end  # of the body; the marker is as long as it can be, where there is one
    for at in range(start, end + 1):
        if matches(capture.body, text[start:at]) and matches(capture.marker, text[at:end]):
            split = at
            yield _Found(capture.marker_name, split, end)
            break
    hidden = ((split, end),) if capture.hides else ()
    yield _Found(capture.name, start, split, hidden)


class _Chart:
    """All ways to read a text by a grammar, found from left to right."""

    def __init__(self, grammar: Grammar, reading: _Reading) -> None:
        self._grammar, self._text = grammar, reading.text
        self._lexemes = _Lexemes(grammar, reading)
        text = reading.text
        self._items: list[dict[Item, None]] = [{} for _ in range(len(text) + 1)]
        self._waiting: dict[tuple[str, int], list[Item]] = {}
        self._ends: dict[tuple[str, int], dict[int, int]] = {}  # ends, with when each was found
        self._begins: dict[Part, int] = {}
        self._found = 0

    def filled(self) -> int | None:
        """The end of the start rule behind which only ignored text is left; None if there is none.

        What may be read from a place on is known before any of it is read there.
        """
        start, last = self._grammar.start, len(self._text)
        self._predict(start, 0)
        for at in range(last + 1):
            done = 0
            while done < len(self._items[at]):
                for item in list(self._items[at])[done:]:
                    done += 1
                    self._read(item, at)
            self._scan(at)
        for end in sorted(self._ends.get((start, 0), ()), reverse=True):
            if last in self._lexemes.skipped(end):
                return end
        return None

    def _predict(self, rule: str, at: int) -> None:
        for number in range(len(self._grammar.rules[rule].alternatives)):
            self._items[at].setdefault((rule, number, 0, at))

    def _read(self, item: Item, at: int) -> None:
        """Say what an item at a place leads to."""
        rule, number, read, start = item
        alternative = self._grammar.rules[rule].alternatives[number]
        if read == len(alternative):
            self._end(rule, start, at)
            return
        wanted = (alternative[read], at)
        if wanted not in self._waiting:
            self._waiting[wanted] = []
            if wanted[0] in self._grammar.rules:
                self._predict(wanted[0], at)
        self._waiting[wanted].append(item)
        for end in self._ends.get(wanted, ()):
            self._items[end].setdefault((rule, number, read + 1, start))

    def _end(self, name: str, start: int, end: int) -> None:
        """Note that a rule or terminal can be read between two places."""
        ends = self._ends.setdefault((name, start), {})
        if end in ends:
            return
        ends[end] = self._found
        self._found += 1
        for rule, number, read, origin in self._waiting.get((name, start), ()):
            self._items[end].setdefault((rule, number, read + 1, origin))

    def _scan(self, at: int) -> None:
        """Read the terminals that are wanted at a place."""
        wanted = [name for name in self._grammar.terminals if (name, at) in self._waiting]
        for begin in self._lexemes.skipped(at, wanted) if wanted else ():
            for name, ends in self._lexemes.ends(begin, wanted).items():
                for end in ends if name in wanted else ():
                    self._begins.setdefault((name, at, end), begin)
                    self._end(name, at, end)
        if at == len(self._text) and self._grammar.final in wanted:
            self._begins.setdefault((self._grammar.final, at, at), at)
            self._end(self._grammar.final, at, at)

    def begins(self, part: Part) -> int:
        """Where a terminal begins behind ignored text."""
        return self._begins[part]

    def parts(self, part: Part) -> list[Part]:
        """The parts of a rule in the way that is picked.

        All of them were found before the rule itself, so that none has itself as a part.
        """
        rule, start, end = part
        before = self._ends[rule, start][end]
        for alternative in self._grammar.rules[rule].alternatives:
            found = self._split(alternative, start, end, before)
            if found is not None:
                return found
        raise AssertionError(part)

    def _split(
        self, alternative: tuple[str, ...], start: int, end: int, before: int
    ) -> list[Part] | None:
        """How a sequence can be read between two places, None if it cannot.

        before: when the parts must have been found. Backtracks, each place of each part once.
        """
        ends, ways = [start], list[Iterator[int]]()  # `ways`: the ends of each part still to try
        failed: set[tuple[int, int]] = set()
        while True:
            read, at = len(ways), ends[-1]
            if read == len(alternative) and at == end:
                return [(name, ends[i], ends[i + 1]) for i, name in enumerate(alternative)]
            lost = read == len(alternative) or (read, at) in failed
            ways.append(iter(() if lost else self._tries(alternative[read], at, end, before)))
            while (after := next(ways[-1], None)) is None:
                ways.pop()
                failed.add((len(ways), ends.pop()))
                if not ways:
                    return None
            ends.append(after)

    def _tries(self, name: str, start: int, end: int, before: int) -> list[int]:
        """The ends of a part that were found before a time, the last first."""
        ends = self._ends.get((name, start), {})
        found = [one for one, time in ends.items() if time < before and one <= end]
        return sorted(found, reverse=True)


class _Lexemes:
    """Where terminals end in a text."""

    def __init__(self, grammar: Grammar, reading: _Reading) -> None:
        self._grammar, self._text, self._reading = grammar, reading.text, reading
        self._alone: dict[tuple[str, int], list[int]] = {}

    def skipped(self, start: int, wanted: list[str] | None = None) -> list[int]:
        """The places to which ignored text leads. wanted: what the lexer looks for beside it."""
        found = [start]
        for at in found:
            ends = self.ends(at, wanted or []) if self._grammar.ignore else {}
            new = {end for name in self._grammar.ignore for end in ends.get(name, ())}
            found += sorted(new.difference(found))
        return found

    def ends(self, start: int, wanted: list[str]) -> dict[str, list[int]]:
        """Where the wanted and the ignored terminals end that begin at a place.

        One that commits ends all that is read beside it.
        """
        names = dict.fromkeys([*wanted, *self._grammar.ignore])
        found = {name: self._of(name, start) for name in names}
        commits = {name for name in names if self._grammar.terminals[name].commits}
        last = min((end for name in commits for end in found[name]), default=len(self._text) + 1)
        return {
            name: [end for end in ends if end < last or (name in commits and end == last)]
            for name, ends in found.items()
        }

    def _of(self, name: str, start: int) -> list[int]:
        key = (name, start)
        if key not in self._alone:
            self._alone[key] = self._searched(self._grammar.terminals[name], start)
        return self._alone[key]

    def _searched(self, terminal: Terminal, start: int) -> list[int]:
        if isinstance(terminal.nested, Token):
            tokens = self._reading.starting(start)
            return [one.end for one in tokens if terminal.nested.is_it(one.number, one.text)]
        if terminal.nested is not None:
            return self._of_spec(terminal.nested, start)
        if terminal.lookbehind is not None:
            return self._ahead(self._behind(terminal.lookbehind, start), start)
        if terminal.lookahead is not None:
            return self._ahead(terminal.lookahead, start)
        ends = list(self._prefixes(terminal.language, start))
        longer = terminal.longer
        last = max(ends, default=start)
        if longer is not terminal.language and longer is not EMPTY:
            last = max(self._prefixes(longer, start), default=start)
        return ends if longer is EMPTY else [end for end in ends if end >= last]

    def _prefixes(self, language: Regex, start: int) -> Iterator[int]:
        """The ends of the texts of a language that begin at a place."""
        limit = self._reading.last(start)
        for end in range(start, limit + 1):
            if language.nullable:
                yield end
            if end == limit:
                return
            language = _after(language, self._text[end])
            if language is EMPTY:
                return

    def _ahead(self, state: MatchState, start: int) -> list[int]:
        """Where matching may end that begins in a state, by what it says may follow there."""
        found, limit = [], self._reading.last(start)
        for end in range(start, limit + 1):
            if matches(state.allowed_after(), self._text[end:limit]):
                found.append(end)
            letter = self._text[end : min(end + 1, limit)]
            following = [to for of, to in state.cached_moves() if letter and ord(letter) in of]
            if not following:
                break
            [state] = following
        return found

    def _behind(self, node: Node, start: int) -> MatchState:
        """The start of matching a pattern that looks at the text before."""
        residuals = {}
        for look in Program(node).behinds:
            language = behind = lookbehind_language(look)
            for letter in self._text[:start]:
                behind = _after(behind, letter)
            residuals[language] = behind
        return Program(resolved(node, residuals)).start(residuals)

    def _of_spec(self, spec: Spec, start: int) -> list[int]:
        """Where texts of a spec end."""
        automaton: Any = spec.automaton()
        at, found, end = automaton.start, [], start
        while at >= 0:
            if automaton.is_accepting(at):
                found.append(end)
            token = self._reading.apart.get(end)
            if token is not None:
                known = automaton.specials(at)
                at = known.after(token.number, token.text) if automaton.reads_tokens else DEAD
                end = token.end
            elif end < len(self._text):
                at, _ = automaton.run(at, self._text[end].encode())
                end += 1
            else:
                break
        return found


def _after(language: Regex, letter: str) -> Regex:
    """The derivative of a language by a character."""
    code = ord(letter)
    return next((to for of, to in language.steps() if code in of), EMPTY)
