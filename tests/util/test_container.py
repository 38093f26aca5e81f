"""A checked file comes back as it was written, and every damage to it is noticed.

Files made by hand here follow the layout in the module's docstring and share no code with it.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from structgen.errors import ArtifactError
from structgen.util import container

ARRAYS: dict[str, npt.NDArray[Any]] = {
    "bytes": np.arange(7, dtype=np.uint8),
    "table": np.arange(6, dtype=np.int32).reshape(2, 3),
    "none": np.zeros((0, 4), np.float64),
    "flags": np.array([True, False]),
    "one": np.array(3.5, np.float32),
}
HEADER = {"name": "a \u20ac\ud800", "numbers": [1, 2.5, -3], "nested": {"deep": None}}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)  # fmt: skip
STORABLE = hnp.arrays(
    dtype=hnp.boolean_dtypes()
    | hnp.integer_dtypes()
    | hnp.unsigned_integer_dtypes()
    | hnp.floating_dtypes(sizes=(32, 64)),
    shape=hnp.array_shapes(min_dims=0, min_side=0, max_side=5),
)


def by_hand(table: Any, data: bytes = b"", *, version: int = 4) -> bytes:
    """A file with right checksums around whatever `table` and `data` (below 16 KiB) are."""
    text = table if isinstance(table, bytes) else "".join(map(_line, table)).encode()
    middle = text + (struct.pack("<I", zlib.crc32(data)) if data else b"")
    middle += bytes(-len(middle) % 64)
    return preamble(version, len(text), len(data), zlib.crc32(middle)) + middle + data


def _line(content: Any) -> str:
    return json.dumps(content, separators=(",", ":")) + "\n"


def preamble(version: int, header: int, data: int, crc: int) -> bytes:
    """The first 64 bytes of a file."""
    start = b"\x93sgen\r\n\x1a" + struct.pack("<IQQI", version, header, data, crc) + bytes(28)
    return start + struct.pack("<I", zlib.crc32(start))


def table_of(*rows: Any, **changes: Any) -> list[Any]:
    """The header of a file with the arrays that `rows` describe, by default four bytes "x"."""
    return [{"kind": "test", "header": {}} | changes, *(rows or [X])]


X = ["x", "|u1", [4], 0]


def problem_of(path: Path, kind: str = "test") -> str:
    """What reading the file complains about."""
    with pytest.raises(ArtifactError) as caught:
        container.read(path, kind)
    assert caught.value.location == str(path)
    return caught.value.problem


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A small file with all sorts of arrays."""
    path = tmp_path / "file"
    container.write(path, "test", HEADER, ARRAYS)
    return path


def test_header_and_arrays_come_back_as_they_were(saved: Path) -> None:
    """Names, order, dtypes, shapes and values survive."""
    header, arrays = container.read(saved, "test")
    assert header == HEADER
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        np.testing.assert_array_equal(arrays[name], array)


@given(header=st.dictionaries(st.text(), JSON), arrays=st.dictionaries(st.text(), STORABLE))
def test_whatever_can_be_stored_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    header: dict[str, Any],
    arrays: dict[str, npt.NDArray[Any]],
) -> None:
    """Any JSON header, any names, shapes and byte orders."""
    path = tmp_path_factory.mktemp("file") / "file"
    container.write(path, "any", header, arrays)
    found_header, found = container.read(path, "any")
    assert found_header == header
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].shape == array.shape
        assert found[name].dtype.newbyteorder("=") == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(found[name], array)


def test_arrays_are_aligned_read_only_views(saved: Path) -> None:
    """Nothing is copied: the arrays are plain ndarrays on the mapped file, at multiples of 64."""
    _, arrays = container.read(saved, "test")
    for array in arrays.values():
        assert type(array) is np.ndarray
        assert not array.flags.writeable
        assert not array.flags.owndata
        assert array.ctypes.data % 64 == 0
    with pytest.raises(ValueError, match="read-only"):
        arrays["bytes"][0] = 1


def test_strided_arrays_are_stored_by_value(tmp_path: Path) -> None:
    """A view with gaps or in another order is stored as what it shows."""
    source = np.arange(24, dtype=">i4").reshape(4, 6)
    container.write(tmp_path / "f", "test", {}, {"x": source[::-1, ::2], "y": source.T})
    _, arrays = container.read(tmp_path / "f", "test")
    np.testing.assert_array_equal(arrays["x"], source[::-1, ::2])
    np.testing.assert_array_equal(arrays["y"], source.T)
    assert arrays["x"].dtype == np.dtype("<i4")


@pytest.mark.thorough
def test_every_flipped_byte_is_noticed(saved: Path) -> None:
    """Whichever byte changes, gaps between arrays included, and whichever of its bits."""
    good = saved.read_bytes()
    for at in range(len(good)):
        for flip in (1, 2, 4, 8, 16, 32, 64, 128, 255):
            bad = bytearray(good)
            bad[at] ^= flip
            saved.write_bytes(bad)
            assert problem_of(saved), (at, flip)
            with pytest.raises(ArtifactError):
                container.File(saved, "test")  # so small a file is checked when it is opened


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A file that is checked piece by piece: 1 MiB of rows, and a few bytes behind them."""
    path = tmp_path / "large"
    rows = np.arange(1 << 18, dtype=np.int32).reshape(-1, 16)
    container.write(path, "test", {}, {"rows": rows, "tail": np.arange(5, dtype=np.int64)})
    return path


def test_a_large_file_is_checked_where_it_is_read(large: Path) -> None:
    """A flipped byte is noticed by whoever asks for its block, and by `read` and `verify`."""
    data = bytearray(large.read_bytes())
    start = len(data) - 64 - (1 << 20)
    at = start + 5 * container.BLOCK + 77
    data[at] ^= 16
    large.write_bytes(data)
    file = container.File(large, "test")
    rows = file.section("rows")
    per_block = container.BLOCK // 64
    assert rows[: 5 * per_block][-1, 0] == (5 * per_block - 1) * 16
    assert rows[6 * per_block :].tolist() == file.section("rows")[6 * per_block :].tolist()
    assert len(rows[len(rows) :]) == 0
    assert file.array("tail").tolist() == [0, 1, 2, 3, 4]
    for ask in (
        lambda: rows[5 * per_block : 5 * per_block + 1],
        lambda: rows[5 * per_block - 1 : 7 * per_block],
        lambda: rows[:],
        lambda: file.array("rows"),
        file.verify,
        lambda: container.read(large, "test"),
    ):
        with pytest.raises(ArtifactError, match="damaged between bytes"):
            ask()


@given(at=st.integers(0, 2**31), flip=st.integers(1, 255))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_flipped_byte_of_a_large_file_is_noticed(large: Path, at: int, flip: int) -> None:
    """In the table of checksums too."""
    good = large.read_bytes()
    bad = bytearray(good)
    bad[at % len(good)] ^= flip
    large.write_bytes(bad)
    assert problem_of(large)
    large.write_bytes(good)


def test_what_is_written_to_an_array_stays_in_the_process(saved: Path) -> None:
    """A writable array is a private copy, made page by page; other readers keep theirs."""
    before = saved.read_bytes()
    mine = container.File(saved, "test").arrays("tab")["le"]
    mine[:] = -1
    assert saved.read_bytes() == before
    np.testing.assert_array_equal(container.File(saved, "test").array("table"), ARRAYS["table"])


def test_what_has_been_checked_may_be_written_to_before_its_neighbours_are_read(
    tmp_path: Path,
) -> None:
    """A writable array ends in a block in which another one begins, that ends in the next block."""
    mine, theirs = np.ones(100, np.uint8), np.arange(container.BLOCK // 4)
    arrays: dict[str, npt.NDArray[Any]] = {
        "tab.filling": np.zeros(container.EAGER, np.uint8),
        "tab.mine": mine,
        "theirs": theirs,
    }
    container.write(tmp_path / "f", "test", {}, arrays)
    file = container.File(tmp_path / "f", "test")
    file.arrays("tab.")["mine"][:] = 2
    np.testing.assert_array_equal(file.array("theirs"), theirs)
    file.verify()


def test_an_array_that_is_not_there_is_named(saved: Path) -> None:
    """By `array` and `section` alike."""
    file = container.File(saved, "test")
    for ask in (file.array, file.section):
        with pytest.raises(ArtifactError, match="'absent'"):
            ask("absent")


def test_every_cut_is_noticed(saved: Path) -> None:
    """A file that ends anywhere too early is refused, the empty file too."""
    good = saved.read_bytes()
    for size in range(len(good)):
        saved.write_bytes(good[:size])
        assert "cut" in problem_of(saved), size


@pytest.mark.parametrize("tail", [b"\0", b"x", bytes(64)])
def test_a_longer_file_is_noticed(saved: Path, tail: bytes) -> None:
    """Nothing may follow the last array."""
    saved.write_bytes(saved.read_bytes() + tail)
    assert "longer" in problem_of(saved)


def test_swapped_arrays_are_noticed(tmp_path: Path) -> None:
    """Two blocks that trade places do not pass for each other."""
    path = tmp_path / "file"
    container.write(path, "test", {}, {"a": np.zeros(64, np.uint8), "b": np.ones(64, np.uint8)})
    good = path.read_bytes()
    path.write_bytes(good[:-128] + good[-64:] + good[-128:-64])
    assert "damaged" in problem_of(path)


def test_another_kind_is_refused(saved: Path) -> None:
    """A file of another purpose is named as such."""
    assert "'test'" in problem_of(saved, "other")


def test_another_version_is_refused(tmp_path: Path) -> None:
    """The version is part of the message."""
    (tmp_path / "f").write_bytes(by_hand(table_of(), bytes(4), version=1))
    assert "version 1" in problem_of(tmp_path / "f")


@pytest.mark.parametrize(
    "content", [b"PK\x03\x04" + bytes(200), b"{}", bytes(300), b"\x80\x04K\x01." * 99]
)
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    """Archives, JSON, zeros and pickles are not taken for ours."""
    (tmp_path / "f").write_bytes(content)
    assert "not a structgen file" in problem_of(tmp_path / "f")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    """A missing path, a directory and a pipe are errors of ours, and nothing waits."""
    assert "cannot be read" in problem_of(tmp_path / "missing")
    assert "not a regular file" in problem_of(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in problem_of(tmp_path / "pipe")


def test_the_file_made_by_hand_is_read(tmp_path: Path) -> None:
    """The hostile files below differ from a good one only in what they say."""
    (tmp_path / "f").write_bytes(by_hand(table_of(), bytes(4)))
    _, arrays = container.read(tmp_path / "f", "test")
    assert arrays["x"].tolist() == [0, 0, 0, 0]
    (tmp_path / "f").write_bytes(by_hand(table_of(X, ["y", "|u1", [0, 9], 64]), bytes(64)))
    _, arrays = container.read(tmp_path / "f", "test")
    assert arrays["y"].shape == (0, 9)


HOSTILE: dict[str, bytes] = {
    "shape beyond the file": by_hand(table_of(["x", "|u1", [2**60], 0]), bytes(4)),
    "shape beyond all memory": by_hand(table_of(["x", "|u1", [2**40, 2**40], 0]), bytes(4)),
    "one byte beyond the data": by_hand(table_of(["x", "|u1", [5], 0]), bytes(4)),
    "begins behind the data": by_hand(table_of(["x", "|u1", [4], 64]), bytes(4)),
    "begins before the data": by_hand(table_of(["x", "|u1", [4], -64]), bytes(128)),
    "begins at no multiple": by_hand(table_of(["x", "|u1", [4], 8]), bytes(64)),
    "begins at a fraction": by_hand(table_of(["x", "|u1", [4], 0.0]), bytes(4)),
    "begins nowhere": by_hand(table_of(["x", "|u1", [4], None]), bytes(4)),
    "negative shape": by_hand(table_of(["x", "|u1", [-2, -2], 0]), bytes(4)),
    "fractional shape": by_hand(table_of(["x", "|u1", [4.0], 0]), bytes(4)),
    "true as a number": by_hand(table_of(["x", "|u1", [4, True], 0]), bytes(4)),
    "too many dimensions": by_hand(table_of(["x", "|u1", [4] + [1] * 99, 0]), bytes(4)),
    "empty but immense": by_hand(table_of(["y", "|u1", [0, 2**62, 2**62], 0]), bytes(64)),
    "shape as text": by_hand(table_of(["x", "|u1", "4", 0]), bytes(4)),
    "object dtype": by_hand(table_of(["x", "|O", [], 0]), bytes(8)),
    "text dtype": by_hand(table_of(["x", "|S4", [1], 0]), bytes(4)),
    "dtype as a list": by_hand(table_of(["x", [["a", "<i4"]], [1], 0]), bytes(4)),
    "array without fields": by_hand(table_of(["x"]), bytes(4)),
    "array with more fields": by_hand(table_of([*X, 0]), bytes(4)),
    "array as a number": by_hand(table_of(1), bytes(4)),
    "array as text": by_hand(table_of("x"), bytes(4)),
    "array as an object": by_hand(table_of({"x": X}), bytes(4)),
    "array of no name": by_hand(table_of([["x"], *X[1:]]), bytes(4)),
    "deeply nested array": by_hand(b'{"kind":"test","header":{}}\n["x",' + b"[" * 100_000),
    "array that is cut": by_hand(b'{"kind":"test","header":{}}\n["x","|u1",[4],0', bytes(4)),
    "header as a list": by_hand(table_of(header=[]), bytes(4)),
    "no kind": by_hand([{"header": {}}]),
    "a list": by_hand([[]]),
    "not JSON": by_hand(b"{'kind': 'test'}"),
    "not text": by_hand(b"\xff\xfe\xfd"),
    "deeply nested": by_hand(b"[" * 100_000),
    "immense number": by_hand(b"1" * 100_000),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_file_with_right_checksums_is_refused(tmp_path: Path, content: bytes) -> None:
    """What the header says is checked against the file before it is believed."""
    (tmp_path / "f").write_bytes(content)
    assert problem_of(tmp_path / "f")


@pytest.mark.parametrize("header", [2**62, 2**64 - 1])
@pytest.mark.parametrize("data", [0, 4, 2**62, 2**64 - 1])
def test_absurd_lengths_are_refused(tmp_path: Path, header: int, data: int) -> None:
    """A preamble that promises an immense header or immense data allocates nothing."""
    (tmp_path / "f").write_bytes(preamble(4, header, data, 0) + bytes(128))
    assert "cut" in problem_of(tmp_path / "f")


@pytest.mark.parametrize(
    "array",
    [
        np.array([{}], object),
        np.array(["text"]),
        np.array([b"bytes"]),
        np.array([1j]),
        np.zeros(1, [("a", "i4")]),
        np.array(["2020-01-01"], "M8[D]"),
    ],
    ids=lambda array: array.dtype.str,
)
def test_other_dtypes_are_not_stored(tmp_path: Path, array: npt.NDArray[Any]) -> None:
    """Objects, texts, complex numbers, records and dates are refused by name."""
    with pytest.raises(ArtifactError, match="'x'"):
        container.write(tmp_path / "f", "test", {}, {"x": array})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, b"bytes", np.int32(1)])
def test_other_header_values_are_not_stored(tmp_path: Path, value: object) -> None:
    """Only JSON goes into the header."""
    with pytest.raises(ArtifactError, match="header"):
        container.write(tmp_path / "f", "test", {"x": value}, {})


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_alone(
    saved: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """When the disk is full the old content stays, and no temporary file is left."""

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(ArtifactError, match="No space left"):
        container.write(saved, "test", {}, {})
    assert container.read(saved, "test")[0] == HEADER
    assert [path.name for path in saved.parent.iterdir()] == ["file"]


def test_writing_into_a_missing_directory_is_an_error_of_ours(tmp_path: Path) -> None:
    """The path is named."""
    with pytest.raises(ArtifactError, match="cannot be written") as caught:
        container.write(tmp_path / "a" / "b", "test", {}, {})
    assert caught.value.location == str(tmp_path / "a" / "b")


def test_a_reader_keeps_the_file_it_opened(saved: Path) -> None:
    """Writing anew does not change arrays that somebody still reads."""
    _, before = container.read(saved, "test")
    container.write(saved, "test", {}, {"bytes": np.full(7, 9, np.uint8)})
    _, after = container.read(saved, "test")
    assert before["bytes"].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert after["bytes"].tolist() == [9] * 7
