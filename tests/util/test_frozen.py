"""Frozen classes do what frozen dataclasses do, which are the oracle here."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.util.frozen import frozen


class Base:
    """A base with a dict, and an attribute that a field may hide."""

    kind: ClassVar[str] = "base"
    second: Any = 5


class _Shape(Base):
    """A class as it is written; decorated below in both ways."""

    first: int
    second: str = "b"
    hidden: int = field(default=7, compare=False, repr=False)
    derived: int = field(init=False, compare=False)
    kind: ClassVar[str] = "own"

    def __post_init__(self) -> None:
        object.__setattr__(self, "derived", self.first + 1)

    @property
    def twice(self) -> int:
        """A property that reads a field."""
        return 2 * self.first


def _made(decorate: Callable[[Any], Any]) -> Any:
    """The class above, as if it had been written with a decorator."""
    inside = {k: v for k, v in vars(_Shape).items() if k not in {"__dict__", "__weakref__"}}
    return decorate(type("Shape", (Base,), inside))


@frozen()
class Slotted:
    """Values without a dict, which can be pickled by name."""

    first: int
    second: str = "b"


PAIRS = {
    (eq, slots): (
        _made(frozen(eq=eq, slots=slots)),
        _made(dataclass(frozen=True, eq=eq, slots=slots)),
    )
    for eq in (True, False)
    for slots in (True, False)
}
VALUES = st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.integers(0, 1))


@pytest.mark.parametrize("pair", PAIRS.values(), ids=map(str, PAIRS))
@given(VALUES, VALUES)
def test_values_are_those_of_a_frozen_dataclass(
    pair: tuple[Any, Any], one: tuple[int, str, int], other: tuple[int, str, int]
) -> None:
    """Equality, hashes, texts, copies, and what `replace` makes of them."""
    ours, theirs = pair
    a, b, x, y = ours(*one), ours(*other), theirs(*one), theirs(*other)
    assert repr(a) == repr(x)
    assert (a == b) == (x == y)
    assert (a != b) == (x != y)
    assert len({a, b}) == len({x, y})
    assert a != x
    assert (a.first, a.second, a.hidden, a.derived, a.twice) == (
        x.first, x.second, x.hidden, x.derived, x.twice,
    )  # fmt: skip
    assert repr(replace(a, first=9)) == repr(replace(x, first=9))
    assert repr(copy.copy(a)) == repr(copy.deepcopy(a)) == repr(a)
    assert [each.name for each in fields(a)] == [each.name for each in fields(x)]


@pytest.mark.parametrize("pair", PAIRS.values(), ids=map(str, PAIRS))
def test_classes_are_those_of_a_frozen_dataclass(pair: tuple[Any, Any]) -> None:
    """What may be given, what may be matched, and that nothing changes."""
    ours, theirs = pair
    assert [*inspect.signature(ours).parameters.values()] == [
        each.replace(annotation=inspect.Parameter.empty)
        for each in inspect.signature(theirs).parameters.values()
    ]
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.kind == theirs.kind == "own"
    for cls in pair:
        value = cls(1, second="c")
        for change in (
            partial(setattr, value, "first", 2),
            partial(delattr, value, "first"),
        ):
            with pytest.raises(FrozenInstanceError):
                change()
        assert value.first == 1
        for wrong in ((), (1, 2, 3, 4)):
            with pytest.raises(TypeError):
                cls(*wrong)
    with pytest.raises(FrozenInstanceError):
        ours(1).other = 2


def test_what_a_class_defines_stays() -> None:
    """A hash that is computed otherwise, and a text."""

    @frozen()
    class Own:
        first: int

        def __hash__(self) -> int:
            return 42

        def __repr__(self) -> str:
            return "own"

    assert (hash(Own(1)), repr(Own(1)), Own(1) == Own(1)) == (42, "own", True)


def test_values_without_a_dict_can_be_pickled() -> None:
    """They have no attribute that could be set."""
    value = Slotted(3)
    assert not hasattr(value, "__dict__")
    assert pickle.loads(pickle.dumps(value)) == value
