"""The public names with their parameters, as text: what code that uses the library relies on."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import structgen as sg

KEPT = Path(__file__).parent / "names.json"
MODULES = ["sample", "speculate", "penalties", "filters", "errors"]


def public(known: Iterable[str] = ()) -> dict[str, str]:
    """What each public name is: `sg.Regex.parse` is "(self, text)", a property is "property".

    Of a module without `__all__` also those of the `known` names count that it has from elsewhere.
    """
    found: dict[str, str] = {}
    paths = {"sg": sg} | {f"sg.{name}": getattr(sg, name) for name in MODULES}
    for path, module in paths.items():
        names = list(getattr(module, "__all__", ()))
        if not names:
            rests = [name[len(path) + 1 :] for name in known if name.startswith(f"{path}.")]
            kept_names = {rest.partition(".")[0] for rest in rests}
            here = {name for name in kept_names if hasattr(module, name)}
            names = sorted({*_own(module), *here})
        for name in names:
            thing = getattr(module, name)
            if not isinstance(thing, ModuleType):
                found |= _described(f"{path}.{name}", thing)
    return found


def _own(module: ModuleType) -> list[str]:
    """The functions and classes that are defined in a module, or in one below it."""
    things = {name: thing for name, thing in vars(module).items() if not name.startswith("_")}
    return [
        name
        for name, thing in things.items()
        if (inspect.isclass(thing) or inspect.isfunction(thing))
        and f"{thing.__module__}.".startswith(f"{module.__name__}.")
    ]


def _described(path: str, thing: Any) -> dict[str, str]:
    if not inspect.isclass(thing):
        return {path: _signature(thing) if callable(thing) else "value"}
    found = {path: _signature(thing)}
    for name in dir(thing):
        member = None if name.startswith("_") else inspect.getattr_static(thing, name)
        if isinstance(member, property) or type(member).__name__.startswith("cached_"):
            found[f"{path}.{name}"] = "property"
        elif isinstance(member, classmethod | staticmethod) or inspect.isfunction(member):
            inner = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            if inner.__module__.startswith("structgen"):
                found[f"{path}.{name}"] = _signature(inner)
    return found


def _signature(thing: Any) -> str:
    """The parameters without annotations; defaults that are no plain values are `...`."""
    try:
        signature = inspect.signature(thing)
    except ValueError:
        return "(?)"
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty, default=_default(parameter))
        for parameter in signature.parameters.values()
    ]
    return str(inspect.Signature(plain))


def _default(parameter: inspect.Parameter) -> Any:
    default = parameter.default
    if default is inspect.Parameter.empty:
        return default
    if default is None or isinstance(default, bool | int | float | str | bytes):
        return default
    return default if default == () else ...


def kept() -> dict[str, str]:
    """The names as they were written down."""
    found: dict[str, str] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def different(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """What differs, in words. New names count only where `__all__` says that they are public."""
    loose = tuple(f"sg.{name}." for name in MODULES if not hasattr(getattr(sg, name), "__all__"))
    gone = [f"{name}{before[name]} is gone" for name in before if name not in now]
    new = [
        f"{name}{now[name]} is new"
        for name in now
        if name not in before and not name.startswith(loose)
    ]
    other = [
        f"{name}{before[name]} is now {now[name]}"
        for name in before
        if name in now and before[name] != now[name]
    ]
    return gone + other + new


def write(check: bool) -> list[str]:
    """Write the names down. Returns what is new."""
    before = kept() if KEPT.exists() else {}
    now = public(before)
    changed = different(before, now)
    if not check:
        KEPT.write_text(json.dumps(now, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    return changed
