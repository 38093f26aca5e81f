"""Classes of values that never change, made in a third of the time that `dataclass` takes.

A new process makes some dozens of such classes before its first mask. A frozen dataclass compiles
six functions for each; here one source text holds the three that depend on the fields, and the rest
is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import Any, NoReturn, TypeVar, dataclass_transform

C = TypeVar("C", bound=type)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(*, eq: bool = True, slots: bool = True) -> Callable[[C], C]:
    """The same as `dataclass(frozen=True, eq=eq, slots=slots)`.

    Fields may have a default, and be left out of `__init__`, of comparisons or of texts. Those with
    a factory, or for keywords alone, need a dataclass. `replace` and `fields` of dataclasses know
    such a class. What it defines by itself stays.
    """

    def make(given: C) -> C:
        made: Any = dataclass(init=False, repr=False, eq=False, slots=slots)(given)
        for name, value in _methods(made, eq=eq, slots=slots).items():
            if name not in given.__dict__:
                setattr(made, name, value)
        result: C = made
        return result

    return make


def _methods(made: Any, *, eq: bool, slots: bool) -> dict[str, Any]:
    """What such a class has, by name."""
    parts = fields(made)
    known: dict[str, Any] = {"_set": object.__setattr__}
    source = _init(made, parts, known) + (_comparison(parts) if eq else "")
    exec(source, known)  # noqa: S102  as dataclasses do: nothing in it comes from outside
    found: dict[str, Any] = {
        name: known[name] for name in ("__init__", "__eq__", "__hash__") if name in known
    }
    for name, function in found.items():
        function.__module__, function.__qualname__ = made.__module__, f"{made.__qualname__}.{name}"
    if slots:  # copies and pickles set attributes, else
        found |= {"__getstate__": _state, "__setstate__": _set_state}
    return found | {"__repr__": _repr, "__setattr__": _refuse, "__delattr__": _refuse}


def _init(made: Any, parts: Iterable[Any], known: dict[str, Any]) -> str:
    """The text of `__init__`; what it names goes into `known`."""
    arguments, lines = ["self"], []
    for each in parts:
        name, argument = each.name, each.name
        if each.default is not MISSING:
            known[f"_given_{name}"] = each.default
            argument = f"{name}=_given_{name}"
        if not each.init:
            continue
        arguments.append(argument)
        setter = getattr(made.__dict__.get(name), "__set__", None)
        if setter is None:
            lines.append(f"  _set(self, {name!r}, {name})")
        else:  # that of the slot, which does not ask the class
            known[f"_set_{name}"] = setter
            lines.append(f"  _set_{name}(self, {name})")
    if hasattr(made, "__post_init__"):
        lines.append("  self.__post_init__()")
    return "\n".join([f"def __init__({', '.join(arguments)}):", *(lines or ["  pass"]), ""])


def _comparison(parts: Iterable[Any]) -> str:
    """The text of `__eq__` and `__hash__`."""
    names = [each.name for each in parts if each.compare]
    own, other = ("".join(f"{side}.{name}, " for name in names) for side in ("self", "other"))
    return (
        "def __eq__(self, other):\n"
        "  if other.__class__ is self.__class__:\n"
        f"    return ({own}) == ({other})\n"
        "  return NotImplemented\n"
        f"def __hash__(self):\n  return hash(({own}))\n"
    )


def _repr(self: Any) -> str:

    said = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(said)})"


def _refuse(self: Any, name: str, *_: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot change {name!r} of a {type(self).__qualname__}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
