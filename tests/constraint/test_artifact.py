"""Loading a saved constraint gives the same constraint, or an error when it is damaged.

Files forged here have right checksums, so that only what reads the numbers stands in their way.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.constraint import artifact, loading
from structgen.constraint.precompute import explore
from structgen.errors import ArtifactError, StructgenError
from structgen.spec.base import Spec
from structgen.util import container
from tests.helpers import laws
from tests.helpers.schemas import MISSPELT_ON_PURPOSE, schemas

pytestmark = MISSPELT_ON_PURPOSE

WORDS = [b'{"', b'":', b'", "', b"true", b"aa", b'a"', b"12", b"  ", b"ab", "é".encode(), b"}]"]
TOKENS = [bytes((b,)) for b in range(256)] + WORDS
VOCABULARY = sg.Vocabulary([*TOKENS, None, b"<end>"], eos_ids=[len(TOKENS) + 1])

NESTED = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 5},
        "kind": {"enum": ["a", "ab", 1.5]},
        "more": {"type": "array", "items": {"$ref": "#"}, "maxItems": 2},
        "tags": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
    },
    "required": ["name"],
}
SEVERAL = [["a", "ab", "é"], ["ab", "b", "aé"], ["a", "xyz"]]
KINDS = {
    "oneOf": [
        {
            "properties": {"k": {"enum": words}, name: {"type": "null"}},
            "required": ["k", name],
            "additionalProperties": False,
        }
        for words, name in zip(SEVERAL, "xyz", strict=True)
    ]
}
SPECS: list[Spec] = [
    sg.JsonSchema(NESTED),
    sg.JsonSchema(NESTED, property_order="any", whitespace="any"),
    sg.JsonSchema({"type": "number", "minimum": -1, "multipleOf": 0.5}, whitespace="compact"),
    sg.JsonSchema(True),
    sg.JsonSchema({"uniqueItems": True, "items": {"properties": {"a": {"type": "string"}}}}),
    sg.JsonSchema({"type": "array", "uniqueItems": True, "items": {"enum": ["a", "ab", "é"]}}),
    sg.JsonSchema({"type": "string", "pattern": r"^(?:\S+\s+){0,3}\S+$", "maxLength": 30}),
    sg.JsonSchema({"propertyNames": {"format": "email"}, "additionalProperties": {"type": "null"}}),
    sg.JsonSchema({"type": "string", "format": "hostname", "maxLength": 30}),
    sg.JsonSchema({"type": "string", "pattern": "^(?:[ab]1)+$", "minLength": 60}),
    sg.JsonSchema({"type": "object", **KINDS}, whitespace="compact"),
    sg.JsonSchema({"items": {"type": ["string", "null"], "maxLength": 2}, "uniqueItems": True}),
    sg.Regex("(a|b)*abb(12)?"),
    sg.Regex("(?:a{1,3}é|[^x]{0,4})\\d+"),
    sg.Choice(["true", "truth", "tr", "é12"]),
]
EASY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)


def saved(spec: Spec, path: Path, states: int = 40) -> sg.Constraint:
    """A constraint that was saved after some exploring."""
    constraint = sg.compile(spec, VOCABULARY)
    explored = explore(constraint, states) if states else None
    artifact.save(constraint, path, explored)
    return constraint


def agree(one: sg.Constraint, two: sg.Constraint, limit: int) -> None:
    """The same rows bit for bit, wherever allowed tokens lead both, `limit` states far."""
    rows = np.zeros((2, VOCABULARY.words), np.int32)
    queue, seen = [(one.start, two.start)], {one.start}
    for a, b in queue:
        one.fill_mask(a, rows[0])
        two.fill_mask(b, rows[1])
        np.testing.assert_array_equal(rows[0], rows[1])
        assert one.is_accepting(a) == two.is_accepting(b)
        for token in laws.text_tokens(one, a):
            after = one.advance(a, token)
            if after not in seen and len(queue) < limit:
                seen.add(after)
                queue.append((after, two.advance(b, token)))


@pytest.mark.parametrize("spec", SPECS, ids=range(len(SPECS)))
@pytest.mark.parametrize(
    "states", [0, *(pytest.param(n, marks=pytest.mark.thorough) for n in (15, 150))]
)
def test_lazy_saved_and_loaded_constraints_give_the_same_rows(
    spec: Spec, states: int, tmp_path: Path
) -> None:
    """What was saved, and what is made after: bit for bit those of a constraint never saved."""
    lazy = sg.compile(spec, VOCABULARY)
    before = saved(spec, tmp_path / "f", states)
    loaded = sg.load(tmp_path / "f", VOCABULARY)
    agree(lazy, loaded, 150)
    agree(before, loaded, 150)
    loaded.save(tmp_path / "g")  # what a loaded one has learnt, and what it had not looked at
    agree(lazy, sg.load(tmp_path / "g", VOCABULARY), 150)


@pytest.mark.thorough
@given(schema=schemas(), order=st.sampled_from(["declared", "any"]), seed=st.integers(0, 999))
@EASY
def test_whatever_the_schema_and_wherever_it_is_saved(
    schema: Any, order: str, seed: int, tmp_path: Path
) -> None:
    """Random schemas of all keywords, saved after a random walk and some exploring."""
    spec, rng = sg.JsonSchema(schema, property_order=order), Random(seed)
    try:
        lazy, constraint = sg.compile(spec, VOCABULARY), sg.compile(spec, VOCABULARY)
    except StructgenError:
        return
    explore(constraint, rng.choice([1, 10, 60]))
    laws.walk(constraint, rng, rng.randrange(8))
    constraint.save(tmp_path / "f")
    loaded = sg.load(tmp_path / "f", VOCABULARY)
    agree(lazy, loaded, 60)
    laws.same_behaviour(loaded, lazy, rng)


@pytest.mark.parametrize("spec", SPECS, ids=range(len(SPECS)))
def test_a_file_has_the_first_mask(spec: Spec, tmp_path: Path) -> None:
    """Also where none was asked for: who loads it has that mask without work."""
    constraint = sg.compile(spec, VOCABULARY)
    constraint.save(tmp_path / "f")
    loaded = sg.load(tmp_path / "f", VOCABULARY)
    first = loaded.mask_view(loaded.start)
    assert "automaton" not in vars(loaded)
    np.testing.assert_array_equal(first, constraint.mask_view(constraint.start))


def test_a_finite_automaton_is_explored_to_its_end(tmp_path: Path) -> None:
    """Then a loaded constraint never compiles its spec again, whatever is asked of its masks."""
    spec = sg.Regex("(a|b)*abb(12)?")
    constraint = sg.compile(spec, VOCABULARY)
    explored = explore(constraint, 1000)
    assert explored.complete
    assert 4 <= explored.states < 20
    assert not explore(sg.compile(spec, VOCABULARY), explored.states - 1).complete
    assert not explore(sg.compile(sg.JsonSchema(NESTED), VOCABULARY), 200).complete
    artifact.save(constraint, tmp_path / "f", explored)
    loaded = sg.load(tmp_path / "f", VOCABULARY)
    agree(constraint, loaded, 1000)
    assert "spec" not in vars(loaded)
    assert "_masks" not in vars(loaded)
    assert loaded.spec == spec


def test_the_first_mask_needs_no_automaton(tmp_path: Path) -> None:
    """It is read when a text goes on; only then a place to begin that is another's is noticed."""
    constraint = saved(SPECS[0], tmp_path / "f")
    rows = np.zeros((2, VOCABULARY.words), np.int32)
    loaded = sg.load(tmp_path / "f", VOCABULARY)
    for i, one in enumerate((loaded, constraint)):
        one.fill_mask(one.start, rows[i])
    np.testing.assert_array_equal(rows[0], rows[1])
    assert "automaton" not in vars(loaded)
    assert loaded.advance_bytes(loaded.start, b"{") >= 0
    assert "automaton" in vars(loaded)
    header, arrays = container.read(tmp_path / "f", artifact.KIND)
    other = {"start": header["start"] + 1}
    container.write(tmp_path / "g", artifact.KIND, header | other, arrays)
    forged = sg.load(tmp_path / "g", VOCABULARY)
    for _ in range(2):
        with pytest.raises(ArtifactError):
            forged.advance_bytes(forged.start, b"{")


@pytest.mark.parametrize("start", [None, -1, 1 << 63, 0.0, True, "0"])
def test_a_place_to_begin_is_a_number_of_a_position(start: Any, tmp_path: Path) -> None:
    """Whatever else stands there is noticed at once."""
    saved(SPECS[4], tmp_path / "f", 0)
    header, arrays = container.read(tmp_path / "f", artifact.KIND)
    container.write(tmp_path / "f", artifact.KIND, header | {"start": start}, arrays)
    with pytest.raises(ArtifactError):
        sg.load(tmp_path / "f", VOCABULARY)


def test_a_loaded_constraint_knows_its_spec(tmp_path: Path) -> None:
    """With its options, and as the one given where there is one."""
    spec = sg.JsonSchema(NESTED, property_order="any", formats="annotate")
    saved(spec, tmp_path / "f", 1)
    assert sg.load(tmp_path / "f", VOCABULARY).spec == spec
    given = sg.JsonSchema(NESTED, property_order="any", formats="annotate")
    assert loading.load(tmp_path / "f", VOCABULARY, spec=given).spec is given


def test_the_key_covers_spec_options_and_vocabulary() -> None:
    """Whatever changes masks changes the key; what does not, does not."""
    other = sg.Vocabulary([*TOKENS, None, b"<end>"], eos_ids=[len(TOKENS)])
    keys = [artifact.key_of(spec, VOCABULARY) for spec in SPECS]
    keys += [artifact.key_of(SPECS[0], other)]
    ordered = {"properties": {"a": True, "b": True}}, {"properties": {"b": True, "a": True}}
    keys += [artifact.key_of(sg.JsonSchema(schema), VOCABULARY) for schema in ordered]
    assert len(set(keys)) == len(keys)
    assert artifact.key_of(sg.JsonSchema(NESTED), VOCABULARY) == keys[0]


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    """One token more or less, or another end token."""
    saved(SPECS[4], tmp_path / "f")
    for other in (sg.Vocabulary(TOKENS), sg.Vocabulary(VOCABULARY.tokens, eos_ids=[0])):
        with pytest.raises(ArtifactError, match="another vocabulary") as caught:
            sg.load(tmp_path / "f", other)
        assert caught.value.location == str(tmp_path / "f")


@pytest.mark.parametrize("change", [{"structgen": "0.0.1"}, {"format": 1}, {"structgen": None}])
def test_another_version_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    """Files are made anew for each version."""
    saved(SPECS[4], tmp_path / "f")
    header, arrays = container.read(tmp_path / "f", artifact.KIND)
    container.write(tmp_path / "f", artifact.KIND, header | change, arrays)
    with pytest.raises(ArtifactError, match="was written by"):
        sg.load(tmp_path / "f", VOCABULARY)


@pytest.mark.thorough
def test_damage_anywhere_is_an_error_of_ours(tmp_path: Path) -> None:
    """Flipped bytes, cuts, and bytes behind the end; the header byte by byte."""
    path, rng = tmp_path / "f", Random(1)
    saved(SPECS[0], path)
    good = path.read_bytes()
    assert len(good) < container.EAGER
    places = [*range(700), *(rng.randrange(len(good)) for _ in range(400))]
    for at in places:
        bad = bytearray(good)
        bad[at] ^= rng.randrange(1, 256)
        path.write_bytes(bad)
        with pytest.raises(ArtifactError):
            sg.load(path, VOCABULARY)
    for size in [*range(100), *(rng.randrange(len(good)) for _ in range(150))]:
        path.write_bytes(good[:size])
        with pytest.raises(ArtifactError):
            sg.load(path, VOCABULARY)
    for tail in (b"\0", b"x" * 64, good):
        path.write_bytes(good + tail)
        with pytest.raises(ArtifactError):
            sg.load(path, VOCABULARY)


def exercise(path: Path, rng: Random) -> None:
    """Load a file and walk through its masks; errors of ours are fine, nothing else is.

    A forged file may well lie about which texts fit, and a text without end fits such a lie: what
    looks for a way to the end must give up.
    """
    row = np.zeros(VOCABULARY.words, np.int32)
    try:
        loaded = sg.load(path, VOCABULARY)
        states = [loaded.start]
        for _ in range(12):
            state = rng.choice(states)
            loaded.fill_mask(state, row)
            loaded.is_accepting(state)
            loaded.forced_bytes(state)
            loaded.shortest_completion(state)
            for token in range(0, VOCABULARY.size, 7):
                after = loaded.advance(state, token)
                if after >= 0:
                    states.append(after)
    except StructgenError:
        pass


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a good file."""
    path = tmp_path_factory.mktemp("sound") / "f"
    saved(SPECS[0], path, 60)
    return container.read(path, artifact.KIND)


@given(data=st.data())
@settings(EASY, max_examples=150)
def test_forged_numbers_lead_nowhere(
    data: st.DataObject, tmp_path: Path, sound: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    """With right checksums, whatever stands in whichever table: no crash, no endless loop."""
    header, arrays = sound
    name = data.draw(st.sampled_from(sorted(arrays)))
    changed = arrays[name].copy()
    flat = changed.reshape(-1)
    info = np.iinfo(changed.dtype)
    numbers = st.integers(info.min, info.max) | st.integers(max(info.min, -3), min(info.max, 600))
    if changed.size:
        for _ in range(data.draw(st.integers(1, 3))):
            flat[data.draw(st.integers(0, changed.size - 1))] = data.draw(numbers)
        if data.draw(st.booleans()):
            flat[:] = data.draw(numbers)
    container.write(tmp_path / "f", artifact.KIND, header, arrays | {name: changed})
    exercise(tmp_path / "f", Random(data.draw(st.integers(0, 99))))


@given(data=st.data())
@EASY
def test_forged_forms_lead_nowhere(
    data: st.DataObject, tmp_path: Path, sound: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    """Tables cut short, of another dtype or shape, or absent; headers with other values."""
    header, arrays = sound
    name = data.draw(st.sampled_from(sorted(arrays)))
    array = arrays[name]
    forms = [array[: len(array) // 2], array.astype(np.float64), array[None], array.reshape(-1)]
    form = data.draw(st.sampled_from([None, *range(len(forms))]))
    forged = arrays | ({} if form is None else {name: forms[form]})
    if form is None:
        del forged[name]
    container.write(tmp_path / "f", artifact.KIND, header, forged)
    exercise(tmp_path / "f", Random(0))
    field = data.draw(st.sampled_from(["kind", "automaton", "writes_all_bytes", "size"]))
    value: Any = data.draw(st.sampled_from([None, 0, 2**70, "regex", [], {}, {"start": -5}, True]))
    container.write(tmp_path / "f", artifact.KIND, header | {field: value}, arrays)
    exercise(tmp_path / "f", Random(0))


@pytest.mark.parametrize("number", [-1, 1 << 20, 1 << 40, (1 << 62) + 5, (1 << 63) - 1])
@pytest.mark.parametrize("column", [0, 1])
def test_positions_that_no_part_has_are_refused(number: int, column: int, tmp_path: Path) -> None:
    """A file of a spec made of others may name only parts and positions that there are."""
    parts = sg.JsonSchema({"type": "integer"}), sg.Lark('start: "a" start "b" | "c"')
    spec = sg.sequence(sg.Tag("<t>", None, "</t>"), *parts)
    constraint = sg.compile(spec, VOCABULARY)
    for text in (b"<t>x</t>1", b"<t></t>-12aac", b"<t>1</t>3aacb"):
        assert constraint.advance_bytes(constraint.start, text) >= 0
    constraint.save(tmp_path / "f")
    header, arrays = container.read(tmp_path / "f", artifact.KIND)
    (threads,) = (name for name in arrays if name.endswith("threads"))
    for i in range(len(arrays[threads])):
        forged = arrays[threads].copy()
        forged[i, column] = number
        container.write(tmp_path / "g", artifact.KIND, header, arrays | {threads: forged})
        with pytest.raises(ArtifactError):
            sg.load(tmp_path / "g", VOCABULARY).is_accepting(0)
    container.write(tmp_path / "g", artifact.KIND, header, arrays)
    loaded = sg.load(tmp_path / "g", VOCABULARY)
    assert loaded.is_accepting(loaded.advance_bytes(loaded.start, b"<t>x</t>1aacbb"))
