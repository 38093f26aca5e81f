"""JSON Schemas as rules: the machine that reads their texts, turned into a grammar.

The machine (`schema.machine`) is a deterministic pushdown automaton: frames, and what each terminal
does in them. Every such automaton is a grammar by the triple construction (J. Hopcroft and
J. Ullman, 1979, section 5.3): a rule for each frame and each terminal with which it may close, of
the texts that lead from the one to the other. So the grammar has the texts of the machine, with its
white space, its order of keys and its spelling, whatever keywords a schema has. What the machine
decides by captured texts is memory that a grammar does not have, and is refused: arrays whose items
differ, keys in any order, keys without a name that must not come twice.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import product
from typing import Any, NamedTuple, NoReturn

from structgen.automata.lexer.json_lexemes import Key, Scalar
from structgen.automata.lexer.lexer import End, Fixed, LexState, Vector
from structgen.automata.lexer.lexer import Text as LexedText
from structgen.automata.lexer.separators import Either, Fork, Gap
from structgen.automata.pushdown.machine import END_OF_TEXT, Goto, NewText, Pop, Push
from structgen.errors import BudgetError, UnsupportedSchemaError
from structgen.grammar.export.json_strings import any_spelling, canonical
from structgen.grammar.export.languages import Languages, Spelling
from structgen.grammar.export.rules import Rules
from structgen.grammar.expressions import NOTHING, Expression, Name, Text, choice, sequence
from structgen.regular.infinite import few_words, is_single
from structgen.regular.regex import (
    EMPTY,
    Regex,
    chars,
    complement,
    intersect,
    literal,
    words,
)
from structgen.regular.words import WordRange
from structgen.schema.json_schema import JsonSchema, machine_of
from structgen.schema.machine.frames import JsonFrame
from structgen.schema.normal_form.expressions import Atom
from structgen.schema.objects.key_classes import written_key
from structgen.schema.objects.matcher import ObjectMatcher
from structgen.util.bits import ones
from structgen.util.json_pointer import location, unescape_pointer

MOST_FRAMES = 5000  # that are written out
MOST_LISTED = 100  # keys without a name, where each decides what may follow
MOST_READ_SIDE_BY_SIDE = 6  # languages of a scalar

Ways = list[tuple[Expression, Hashable]]  # texts, each with the terminal that they are


class Step(NamedTuple):
    """What is read in a frame, and where that leads: `closes` with a terminal, or goes on.

    opens: the frame that opens first, of which `next_frame` is the one that waits below.
    """

    read: Expression
    next_frame: JsonFrame | None = None
    opens: JsonFrame | None = None
    closes: Hashable = None


class Listed(NamedTuple):
    """One of finitely many keys without a name: the languages that it is in, and its text."""

    mask: int
    text: bytes


class JsonRules:
    """The rules of one schema. repeated_keys: see `export_gbnf`."""

    def __init__(self, spec: JsonSchema, rules: Rules, repeated_keys: bool) -> None:
        if spec.surrogates == "allow":
            raise UnsupportedSchemaError(
                "unpaired surrogates cannot be exported to GBNF",
                keyword="surrogates",
                expected="surrogates='refuse'",
            )
        self._machine, self._schemas = machine_of(spec)
        self._spelled = any_spelling if spec.any_escapes else canonical
        self._rules = rules
        self._languages = Languages(rules)
        self._repeated_keys = repeated_keys
        self._atoms: dict[JsonFrame, list[Atom]] = {self._machine.start: [*self._schemas.root]}
        self._steps: dict[JsonFrame, list[Step]] = {}
        self._closes: dict[JsonFrame, set[Hashable]] = {self._machine.start: set()}
        self._names: dict[tuple[JsonFrame, Hashable], str] = {}
        self._todo: list[tuple[JsonFrame, Hashable]] = []
        self._behind: dict[tuple[JsonFrame, Hashable], Step | None] = {}

    def start(self) -> Expression:
        """The expression of all texts. Raises what `export_gbnf` raises."""
        self._explore()
        whole = self._rule(self._machine.start, END_OF_TEXT)
        while self._todo:
            frame, terminal = self._todo.pop()
            self._rules.define(self._names[frame, terminal], self._body(frame, terminal))
        return whole

    def _body(self, frame: JsonFrame, terminal: Hashable) -> Expression:
        """The texts from a frame up to where it closes; those that go on alike are joined."""
        ways: dict[str, list[Expression]] = {}
        for step in self._steps[frame]:
            for read, rest in self._texts(step, terminal):
                ways.setdefault(rest, []).append(read)
        joined = (
            sequence(choice(*reads), Name(rest) if rest else NOTHING)
            for rest, reads in ways.items()
        )
        return sequence(self._gap(frame), choice(*joined))

    # -- frames ---------------------------------------------------------------------------------

    def _explore(self) -> None:
        """Find all frames, and with which terminals each can close: a least fixed point."""
        grown = True
        while grown:
            grown = False
            for frame in reversed([*self._closes]):
                found = {t for step in self._steps_of(frame) for t in self._closing(step)}
                if not found <= self._closes[frame]:
                    self._closes[frame] |= found
                    grown = True
            grown = grown or len(self._steps) < len(self._closes)

    def _closing(self, step: Step) -> Iterator[Hashable]:
        """The terminals with which a frame can close behind a step, as far as they are known."""
        if step.opens is not None:
            for terminal in [*self._closes[step.opens]]:
                behind = self._after(step, terminal)
                if behind is not None:
                    yield from self._closing(behind)
        elif step.next_frame is not None:
            yield from self._closes[step.next_frame]
        else:
            yield step.closes

    def _texts(self, step: Step, terminal: Hashable) -> Iterator[tuple[Expression, str]]:
        """The texts of a step up to where the frame closes with a terminal.

        Each with the rule of what is read behind it in the frame, "" where the frame closes.
        """
        if step.opens is not None:
            for inner in sorted(self._closes[step.opens], key=repr):
                behind = self._after(step, inner)
                for read, rest in self._texts(behind, terminal) if behind is not None else ():
                    yield sequence(step.read, self._rule(step.opens, inner), read), rest
        elif step.next_frame is None:
            if step.closes == terminal:
                yield step.read, ""
        elif terminal in self._closes[step.next_frame]:
            yield step.read, self._rule(step.next_frame, terminal).name

    def _rule(self, frame: JsonFrame, terminal: Hashable) -> Name:
        """The rule of the texts from a frame up to where it closes with a terminal."""
        key = frame, terminal
        if key not in self._names:
            self._names[key] = self._rules.name(self._stem(frame))
            self._todo.append(key)
        return Name(self._names[key])

    def _after(self, step: Step, terminal: Hashable) -> Step | None:
        """What a child that closed with a terminal leads to in the frame below it."""
        waiting = step.next_frame
        if waiting is None:
            return None
        key = waiting, terminal
        if key not in self._behind:
            self._behind[key] = self._step(waiting, NOTHING, terminal, b"")
        return self._behind[key]

    def _steps_of(self, frame: JsonFrame) -> list[Step]:
        """All steps from a frame."""
        found = self._steps.get(frame)
        if found is None:
            if len(self._steps) >= MOST_FRAMES:
                self._refuse(frame, "", f"there are more than {MOST_FRAMES} places in its texts")
            try:
                ways = [*self._lexemes(frame)]
            except BudgetError as error:
                self._refuse(frame, "", error.problem)
            found = [s for way, t, text in ways if (s := self._step(frame, way, t, text))]
            self._steps[frame] = found
        return found

    def _step(
        self, frame: JsonFrame, read: Expression, terminal: Hashable, text: bytes
    ) -> Step | None:
        """What a terminal does in a frame; None where it is not allowed."""
        if terminal == END_OF_TEXT:
            return Step(read, closes=terminal)
        action: Any = self._machine.action(frame, terminal, text)
        match action:
            case None:
                return None
            case Pop():
                return Step(read, closes=action.terminal)
            case Push():
                made: Any = action  # its frames are the machine's own
                self._note(made.frame, self._atoms_of(frame))
                self._atoms.setdefault(made.waiting, self._atoms[frame])
                return Step(read, made.waiting, made.frame)
            case NewText() if frame.kind == "array" or action.captures:
                self._refuse_compared(frame)
            case NewText():
                if not self._may_repeat(frame, terminal):
                    self._refuse_keys(frame)
            case Goto() if not action.captures:
                pass
            case _:
                self._refuse_compared(frame)
        self._note(action.frame, self._atoms[frame])
        return Step(read, action.frame)

    def _note(self, frame: JsonFrame, atoms: list[Atom]) -> None:
        """A frame that has been found, and the subschemas of the value that is open in it."""
        self._atoms.setdefault(frame, atoms)
        self._closes.setdefault(frame, set())

    def _atoms_of(self, frame: JsonFrame) -> list[Atom]:
        """The subschemas that a value that opens in a frame may fit."""
        waiting = frame.item or frame
        found = [
            atom
            for form in waiting.vector
            for expr in self._schemas.expressions_of(form)
            for atom in expr
        ]
        return found or self._atoms[frame]

    # -- lexemes --------------------------------------------------------------------------------

    def _lexemes(self, frame: JsonFrame) -> Iterator[tuple[Expression, Hashable, bytes]]:
        """The texts that may come in a frame, their terminals, and their bytes if these matter."""
        if frame.recalls or frame.captures_child or frame.texts_compared:
            self._refuse_compared(frame)
        if frame.key_set is not None:
            text = "keys may come in any order" if frame.kind == "object" else ""
            self._refuse(frame, "", text) if text else self._refuse_compared(frame)
        for way, terminal in self._ways(frame.lexeme, frame):
            if isinstance(terminal, Listed):
                yield way, ("other", terminal.mask), terminal.text
            else:
                yield way, terminal, b""

    def _gap(self, frame: JsonFrame) -> Expression:
        """What is read in a frame before its lexeme: white space, a colon."""
        if frame.entry is None:
            return NOTHING
        return choice(*(way for way, _ in self._ways(frame.entry, frame)))

    def _ways(self, state: LexState | End, frame: JsonFrame) -> Ways:
        """The texts from a lexer state to where a lexeme ends, each with its terminal."""
        match state:
            case End():
                return [(NOTHING, state.terminal)]
            case Fork():
                found: Ways = [] if state.accept is None else [(NOTHING, state.accept)]
                for byte, target in state.targets:
                    found += _behind(Text(literal(chr(byte))), self._ways(target, frame))
                return found
            case Gap():
                space = self._languages.expression(state.space, "space", str)
                return _behind(space, self._ways(state.then, frame))
            case Either():
                return [way for one in state.states for way in self._ways(one, frame)]
            case Fixed():
                data = Text(literal(state.data.decode()))
                return _behind(data, self._ways(state.then, frame))
            case LexedText(role=Key() as role):
                return [*self._keys(state.vector, role, frame)]
            case LexedText(role=Scalar() as role):
                return [*self._scalars(state.vector, role, frame)]
        raise TypeError(f"{state!r} has no texts")

    def _scalars(
        self, vector: Vector, role: Scalar, frame: JsonFrame
    ) -> Iterator[tuple[Expression, Hashable]]:
        """Strings (behind their first quote) or numbers, by the languages that they are in."""
        if frame.by_value is not None:
            self._refuse(frame, "", "too many alternatives have to be told apart")
        quoted, atoms = role.quoted, self._atoms_of(frame)
        stem, spelled = ("string", self._spelled) if quoted else ("number", chars)
        end = Text(literal('"')) if quoted else NOTHING
        for mask, language in self._in_languages(vector, frame):
            body = sequence(self._language(language, stem, atoms, spelled), end)
            key = spelled, quoted, language
            yield self._rules.helper(key, stem, body), role.terminal(mask)

    def _keys(
        self, vector: Vector, role: Key, frame: JsonFrame
    ) -> Iterator[tuple[Expression, Hashable]]:
        """Keys behind their first quote: those with a name, then others."""
        names, *others = vector
        atoms = self._atoms[frame]
        known: tuple[str, ...] = ()
        end = Text(literal('"'))
        if isinstance(names, WordRange):
            known = names.table.words
            for name, number in zip(known, names.table.keys, strict=True):
                if frame.low <= number < frame.high and _is_allowed(frame, number):
                    text = self._language(literal(name), "key", atoms, self._spelled)
                    yield sequence(text, end), ("key", name)
        for mask, language in self._in_languages((EMPTY, *others), frame):
            left = intersect(language, complement(words(known)))
            if left.is_empty():
                continue
            if role.only_new and not mask & role.by_text:
                body = self._language(left, "key", atoms, self._spelled)
                key = self._spelled, True, left
                text = self._rules.helper(key, "key", sequence(body, end))
                yield text, ("free", mask)
                continue
            listed = few_words(left, MOST_LISTED)
            if listed is None:
                self._refuse_keys(frame)
            for word in sorted(listed):
                text = self._language(literal(word), "key", atoms, self._spelled)
                yield sequence(text, end), Listed(mask, written_key(word)[1:])

    def _in_languages(
        self, vector: tuple[Any, ...], frame: JsonFrame
    ) -> Iterator[tuple[int, Regex]]:
        """The texts that are in some languages of a vector and in no other, with their bits."""
        alive = [(i, language) for i, language in enumerate(vector) if language is not EMPTY]
        if len(alive) > MOST_READ_SIDE_BY_SIDE:
            self._refuse(frame, "", "too many alternatives have to be told apart")
        for chosen in product((False, True), repeat=len(alive)):
            if not any(chosen):
                continue
            parts = [
                language if inside else complement(language)
                for inside, (_, language) in zip(chosen, alive, strict=True)
            ]
            found = parts[0] if len(parts) == 1 else intersect(*parts)
            if not found.is_empty():
                yield (
                    sum(1 << i for inside, (i, _) in zip(chosen, alive, strict=True) if inside),
                    found,
                )

    def _language(
        self, language: Regex, stem: str, atoms: list[Atom], spelled: Spelling
    ) -> Expression:
        return self._languages.expression(language, stem, lambda: _location(atoms), spelled)

    # -- refusals -------------------------------------------------------------------------------

    def _may_repeat(self, frame: JsonFrame, terminal: Any) -> bool:
        """Whether a key without a name cannot come twice anyway, or may."""
        if all(is_single(frame.others[i - 1]) for i in ones(terminal[1])):
            return True  # the only one of its class, which is not read again
        matchers = [t.matcher for t in frame.threads]
        counts = any(type(m) is not ObjectMatcher or m.alt.least for m in matchers)
        return self._repeated_keys and not counts

    def _refuse_keys(self, frame: JsonFrame) -> NoReturn:
        self._refuse(
            frame,
            "additionalProperties",
            "keys without a name may come, but none twice",
            expected="objects whose keys all have a name",
            hint="set additionalProperties to false, or closed=True of JsonSchema; where nothing "
            "counts or looks for such keys, repeated_keys=True lets them come twice",
        )

    def _refuse_compared(self, frame: JsonFrame) -> NoReturn:
        text = "items are compared with each other"
        self._refuse(frame, "uniqueItems", text, hint="leave uniqueItems out, or list the arrays")

    def _refuse(
        self, frame: JsonFrame, keyword: str, problem: str, *, expected: str = "", hint: str = ""
    ) -> NoReturn:
        raise UnsupportedSchemaError(
            f"GBNF cannot say it: {problem}",
            keyword=keyword,
            location=_location(self._atoms[frame], keyword),
            expected=expected or "what needs no memory but a stack",
            hint=hint or "make the schema simpler there",
        )

    def _stem(self, frame: JsonFrame) -> str:
        """How the rule of a frame is named: by the last part of the pointer of its value."""
        atoms = self._atoms[frame]
        token = unescape_pointer(atoms[0].location.rpartition("/")[2]) if atoms else ""
        return frame.kind if not token or token.isdigit() else token


def _location(atoms: list[Atom], keyword: str = "") -> str:
    """The JSON Pointer of the first of some subschemas, or of the keyword in one that has it."""
    for atom in atoms:
        if isinstance(atom.value, dict) and keyword in atom.value:
            return location(f"{atom.location}/{keyword}")
    return location(atoms[0].location if atoms else "")


def _is_allowed(frame: JsonFrame, number: int) -> bool:
    """Whether a frame allows the key with a number (see `Frame.allowed`)."""
    bits = frame.allowed
    return bits is None or bool(bits[number >> 3] >> (number & 7) & 1)


def _behind(first: Expression, ways: Ways) -> Ways:
    return [(sequence(first, way), terminal) for way, terminal in ways]
