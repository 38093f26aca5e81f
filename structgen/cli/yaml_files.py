"""Read schemas from YAML files, as far as they could be written in JSON."""

from __future__ import annotations

from typing import Any, NoReturn

from structgen.errors import SpecError, StructgenError

_DATES = "tag:yaml.org,2002:timestamp"  # read as strings, as JSON has them


def read_yaml(text: str, path: str, what: str) -> Any:
    """The value of a YAML text, which must be one of JSON: string keys, none twice, no NaN.

    path and what name the file in messages. StructgenError where PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError as error:
        raise StructgenError(
            "reading YAML needs PyYAML", location=path, hint="run: pip install pyyaml"
        ) from error

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
        """The safe loader without dates, which refuses keys that JSON does not have."""

        yaml_implicit_resolvers = {  # noqa: RUF012  the library's own attribute
            first: [(tag, regexp) for tag, regexp in resolvers if tag != _DATES]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
            """A mapping with strings for keys, none of them twice."""
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            for (key_node, _), key in zip(node.value, keys, strict=True):
                place = f"{path}:{key_node.start_mark.line + 1}:{key_node.start_mark.column + 1}"
                if not isinstance(key, str):
                    _broken(f"the key {key!r} is no string", place, "put it in quotes")
                if keys.count(key) > 1:
                    _broken(f"the key {key!r} stands twice in one object", place, "")
            found: dict[str, Any] = super().construct_mapping(node, deep=deep)
            return found

    try:
        value = yaml.load(text, Loader)  # noqa: S506  it is a safe loader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = path if mark is None else f"{path}:{mark.line + 1}:{mark.column + 1}"
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        _broken(f"the {what} is not YAML: {problem}", place, "correct it there")
    except RecursionError:
        _broken(f"the {what} is nested too deeply to be read", path, "use $ref for recursion")
    return value


def _broken(problem: str, location: str, hint: str) -> NoReturn:
    raise SpecError(problem, location=location, hint=hint)
