"""Free text with tags: each has a begin, content that fits a spec, and an end.

Text is free until a trigger has been written; then a tag must follow that begins with it, and after
its end text is free again. A trigger counts however it is cut into tokens, and special tokens may
stand wherever the spec writes out their text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from structgen.compose.base import CompositeSpec, as_spec, from_json, to_json
from structgen.compose.composite.layout import QUIET, Hub
from structgen.compose.composite.scan_table import choice_table, demanding, search_table
from structgen.compose.sequences import texts
from structgen.errors import BudgetError, SpecError
from structgen.spec.partial_json import PartialValue
from structgen.util.arguments import several
from structgen.util.partial_match import partial_match_length

if TYPE_CHECKING:
    from structgen.compose.composite.layout import Layout
    from structgen.compose.composite.trace import Note

TEXT = ("around", "before", "none")
MAX_COUNTED = 1000  # tags that may be counted


@dataclass(frozen=True)
class Tag(CompositeSpec):
    """`begin`, then a text of `content`, then `end`; parsed, the value of the content.

    content: whatever `compile` takes, a string stands for itself; None is free text, which goes on
    to the first `end` (then not empty).
    """

    begin: str
    content: Any = None
    end: str = ""
    kind: ClassVar[str] = "tag"

    def __post_init__(self) -> None:
        if not isinstance(self.begin, str) or not isinstance(self.end, str):
            raise SpecError("the begin and the end of a tag must be texts", expected="str")
        if self.content is not None:
            object.__setattr__(self, "content", as_spec(self.content))
        elif not self.end:
            raise SpecError(
                f"free text in the tag {self.begin!r} never ends",
                expected="an end that is not empty",
                hint="structgen.FreeText() is text up to the end of everything",
            )

    def lay(self, layout: Layout, after: Hub) -> Hub:
        """See `CompositeSpec.lay`."""
        return layout.text(self.begin, self.lay_content(layout, after, self))

    def lay_content(self, layout: Layout, after: Hub, owner: object, mark: object = 0) -> Hub:
        """All but the begin, with `mark` in front of the content and behind the end."""
        after = layout.mark(owner, mark, after)
        if self.content is None:
            inside = demanding(search_table([self.end.encode()]))
            words = f"text up to {self.end!r}"
            source = layout.table(inside, words)
            hub = layout.scan(source, {0: after})
        else:
            hub = layout.spec(self.content, layout.text(self.end, after), f"tag {self.begin!r}")
        return layout.mark(owner, mark, hub)

    def value(self, data: bytes) -> Any:
        """The value of what stands between the begin and the point behind the end."""
        text = data[: len(data) - len(self.end.encode())].decode(errors="replace")
        return text if self.content is None else self.content.parse(text)

    def parse(self, text: str) -> Any:
        """The value of the content. Raises ValidationError."""
        start, end = (note.offset for note in self.notes(text))
        return self.value(text.encode(errors="surrogatepass")[start:end])

    def partial(self, text: str) -> PartialValue:
        """The value of the content so far."""
        data = text.encode(errors="surrogatepass")
        notes = self.notes_so_far(text)
        if not notes:
            return PartialValue(begun=False, value=None, open=())
        if len(notes) == 1:
            return self.partial_value(data[notes[0].offset :])
        value = self.value(data[notes[0].offset : notes[1].offset])
        return PartialValue(begun=True, value=value, open=None)

    def partial_value(self, data: bytes) -> PartialValue:
        """What the content so far says; what may be the beginning of the end is not part of it."""
        sure = len(data) - partial_match_length(data, [self.end.encode()])
        text = data[:sure].decode(errors="replace")
        if self.content is None:
            return PartialValue(begun=True, value=text, open=())
        content: PartialValue = self.content.partial(text)
        return content

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        content = None if self.content is None else to_json(self.content)
        return {"begin": self.begin, "content": content, "end": self.end}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Tag:
        """The spec that `to_json` described."""
        content = None if data["content"] is None else from_json(data["content"])
        return cls(data["begin"], content, data["end"])


class Tagged(NamedTuple):
    """A tag that was found in a text: its number in `Tags.tags`, and the value of its content."""

    tag: int
    value: Any


@dataclass(frozen=True)
class Tags(CompositeSpec):
    """Free text in which tags may stand; parsed, the list of pieces of text and `Tagged`.

    tags: `Tag`s whose begins are not empty. triggers: beginnings of begins; once one has been
    written, one of the tags that begin with it must follow. By default every begin is a trigger as
    a whole. text: "around", between and behind the tags; "before", in front of the first only; or
    "none". at_least, at_most: how many tags. separator: between two tags where no text is.
    excludes: what free text may not contain.
    """

    tags: tuple[Tag, ...]
    triggers: tuple[str, ...] | None = None
    text: str = "around"
    at_least: int = 0
    at_most: int | None = None
    separator: str = ""
    excludes: tuple[str, ...] = ()
    kind: ClassVar[str] = "tags"

    def __post_init__(self) -> None:
        tags = several("tags", self.tags, "Tags with a begin", error=SpecError)
        if not all(isinstance(tag, Tag) and tag.begin for tag in tags):
            raise SpecError("the tags are not all tags", expected="Tags with a begin")
        triggers = self.triggers
        if triggers is None:
            triggers = tuple(dict.fromkeys(tag.begin for tag in tags))
        values = {
            "tags": tags,
            "triggers": texts(triggers, "triggers"),
            "excludes": texts(self.excludes, "excludes"),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if self.text not in TEXT:
            raise SpecError(f"text is {self.text!r}", expected=" or ".join(TEXT))
        most = self.at_least if self.at_most is None else self.at_most
        if not 0 <= self.at_least <= most:
            raise SpecError(
                f"at_least is {self.at_least} and at_most is {self.at_most}",
                expected="0 <= at_least <= at_most",
            )
        if self.at_least and not self.tags:
            raise SpecError("a tag must come, and there is none", expected="a tag")
        if most > MAX_COUNTED:
            raise BudgetError(
                f"{most} tags would be counted",
                expected=f"at_least and at_most up to {MAX_COUNTED}",
                hint="leave at_most out",
            )
        if self.text != "none":
            self._check_triggers()

    def _check_triggers(self) -> None:
        triggers = frozenset(self.triggers or ())
        sizes = sorted({*map(len, triggers)})
        used: set[str] = set()
        for tag in self.tags:
            found = triggers.intersection(tag.begin[:size] for size in sizes)
            if not found:
                raise SpecError(
                    f"no trigger leads to the tag {tag.begin!r}",
                    expected="a trigger that it begins with",
                )
            used |= found
        for trigger in self.triggers or ():
            if trigger not in used:
                raise SpecError(f"no tag begins with the trigger {trigger!r}")
            other = _one_within(trigger[:-1], triggers, sizes)
            if other is not None:
                raise SpecError(
                    f"the trigger {trigger!r} can never be written, since {other!r} ends in it",
                    hint="leave one of them out",
                )

    # -- layout ---------------------------------------------------------------------------------

    def lay(self, layout: Layout, after: Hub) -> Hub:
        """See `CompositeSpec.lay`."""
        return _TagsLayout(self, layout, after).first()

    # -- values ---------------------------------------------------------------------------------

    def parse(self, text: str) -> list[str | Tagged]:
        """Pieces of text (none is empty) and tags, in their order. Raises ValidationError."""
        data = text.encode(errors="surrogatepass")
        found, done = self._pieces(data, self.notes(text))
        rest = data[done:].decode(errors="replace")
        return [*found, rest] if rest else found

    def partial(self, text: str) -> PartialValue:
        """The pieces and tags so far; what may be the beginning of a tag is no text yet."""
        data = text.encode(errors="surrogatepass")
        notes = self.notes_so_far(text)
        found, done = self._pieces(data, notes)
        if len(notes) % 2:
            note = notes[-1]
            tag = self.tags[note.mark]
            before = data[done : note.offset - len(tag.begin.encode())].decode(errors="replace")
            found += [before] if before and self._has_text(len(notes) // 2) else []
            inside = tag.partial_value(data[note.offset :])
            found += [Tagged(note.mark, inside.value)] if inside.begun else []
            return PartialValue(begun=True, value=found, open=(len(found) - inside.begun,))
        rest = data[done:]
        begins = [tag.begin.encode() for tag in self.tags]
        rest = rest[: len(rest) - partial_match_length(rest, begins)]
        if not rest or not self._has_text(len(notes) // 2):
            return PartialValue(begun=True, value=found, open=())
        found.append(rest.decode(errors="replace"))
        return PartialValue(begun=True, value=found, open=(len(found) - 1,))

    def _pieces(self, data: bytes, notes: Sequence[Note]) -> tuple[list[str | Tagged], int]:
        """The tags whose begin and end are noted, with the text between; and where they end."""
        found: list[str | Tagged] = []
        done = 0
        for number, (note, end) in enumerate(zip(notes[::2], notes[1::2], strict=False)):
            tag = self.tags[note.mark]
            before = data[done : note.offset - len(tag.begin.encode())].decode(errors="replace")
            if before and self._has_text(number):
                found.append(before)
            found.append(Tagged(note.mark, tag.value(data[note.offset : end.offset])))
            done = end.offset
        return found, done

    def _has_text(self, number: int) -> bool:
        """Whether what stands before a tag of that number is text."""
        return self.text == "around" or (self.text == "before" and number == 0)

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        return {
            "tags": [tag.to_json() for tag in self.tags],
            "triggers": list(self.triggers or ()),
            "text": self.text,
            "at_least": self.at_least,
            "at_most": self.at_most,
            "separator": self.separator,
            "excludes": list(self.excludes),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Tags:
        """The spec that `to_json` described."""
        tags = tuple(Tag.from_json(tag) for tag in data["tags"])
        return cls(**{**data, "tags": tags})


def _one_within(text: str, words: frozenset[str], sizes: Sequence[int]) -> str | None:
    """One of some words that stands in a text. sizes: the lengths that the words have."""
    if len(text) * len(sizes) > len(words):
        return min((word for word in words if word in text), default=None)
    pieces = (text[i : i + size] for i in range(len(text)) for size in sizes)
    return next((piece for piece in pieces if piece in words), None)


class _TagsLayout:
    """Lays tags out: a hub for each number of tags read so far, the last of them a loop."""

    def __init__(self, spec: Tags, layout: Layout, after: Hub) -> None:
        self._spec = spec
        self._layout = layout
        self._after = after
        self._sources: dict[Any, int] = {}
        self._triggers = [t.encode() for t in spec.triggers or ()]
        self._excludes = [t.encode() for t in spec.excludes]

    def first(self) -> Hub:
        """The hub in front of everything."""
        spec = self._spec
        if spec.at_most is None:
            last = max(spec.at_least, 0 if spec.text == "around" else 1)
            hub = Hub()
            hub.hubs.append(self._count(last, hub))
        else:
            last = spec.at_most
            hub = self._count(last, None)
        for count in range(last - 1, -1, -1):
            hub = self._count(count, hub)
        return hub

    def _count(self, count: int, following: Hub | None) -> Hub:
        """After `count` tags; `following` is where another tag leads, None if none may come."""
        spec = self._spec
        may_end = count >= spec.at_least
        if spec.text == "around" or (spec.text == "before" and count == 0):
            return self._search(may_end, following)
        ways = [self._after] if may_end else []
        if following is not None and spec.tags:
            numbers = range(len(spec.tags))
            tag = self._choice(numbers, 0, following)
            ways.append(self._layout.text(spec.separator if count else "", tag))
        return Hub(ways)

    def _search(self, may_end: bool, following: Hub | None) -> Hub:
        """Free text up to a trigger."""
        key = ("search", may_end, following is None)
        if key not in self._sources:
            if following is None:
                table = search_table([], self._excludes + self._triggers)
            else:
                table = search_table(self._triggers, self._excludes)
            if not may_end:
                table = demanding(table)
            self._sources[key] = self._layout.table(table, "text")
        exits = {QUIET: self._after} if may_end else {}
        for label, trigger in enumerate(self._triggers if following is not None else ()):
            tags = self._spec.tags
            numbers = [i for i, t in enumerate(tags) if t.begin.encode().startswith(trigger)]
            exits[label] = self._choice(numbers, len(trigger), following)
        return self._layout.scan(self._sources[key], exits)

    def _choice(self, numbers: Iterable[int], skip: int, following: Hub | None) -> Hub:
        """One of some tags, `skip` bytes of whose begins have been read."""
        if following is None:
            return Hub()
        by_begin: dict[bytes, list[int]] = {}
        for number in numbers:
            begin = self._spec.tags[number].begin.encode()[skip:]
            by_begin.setdefault(begin, []).append(number)
        contents = [
            Hub([self._content(n, following) for n in found]) for found in by_begin.values()
        ]
        key = ("choice", tuple(by_begin))
        if key not in self._sources:
            begins = list(by_begin)
            words = _one_of([begin.decode(errors="replace") for begin in begins])
            self._sources[key] = self._layout.table(choice_table(begins), words)
        return self._layout.scan(self._sources[key], dict(enumerate(contents)))

    def _content(self, number: int, following: Hub) -> Hub:
        tag = self._spec.tags[number]
        return tag.lay_content(self._layout, following, self._spec, number)


def _one_of(begins: Sequence[str]) -> str:
    shown = ", ".join(map(repr, begins[:5]))
    more = ", ..." if len(begins) > 5 else ""
    return shown if len(begins) == 1 else f"one of {shown}{more}"
