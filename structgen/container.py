"""In: a JSON header and numpy arrays. Out: one checked file that is mapped back in as it was.

Layout, little-endian, every byte covered by a check:

    preamble    64 bytes: magic, format version, header length, file length, checksums of the
                header and of the preamble itself
    header      ASCII JSON: kind, header, and for each array name, dtype, shape, offset, length, crc
    arrays      each at the next multiple of 64, the gaps filled with zero bytes, nothing behind

Checksums are CRC-32: they find damage (every burst of up to 32 bits), not forgery. Nothing is
unpickled, and nothing is allocated on the word of the file: lengths are compared with its real
size first.
"""

from __future__ import annotations

import contextlib
import json
import math
import mmap
import os
import secrets
import stat
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
import numpy.typing as npt

from structgen.errors import ArtifactError

AnyArray = npt.NDArray[Any]

_MAGIC = b"\x93sgen\r\n\x1a"
_VERSION = 1
_PREAMBLE = struct.Struct("<8sIQQI28xI")  # magic, version, header length, file length, crc, crc
_ALIGN = 64
_MAX_DIMENSIONS = 32
_SCALARS = ("b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
_DTYPES = {np.dtype(f"<{code}").str: np.dtype(f"<{code}") for code in _SCALARS}


def write(
    path: str | os.PathLike[str],
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, AnyArray],
) -> None:
    """Write `header` (JSON values, string keys) and `arrays` to `path`, all or nothing.

    Arrays may have any shape and a bool, integer or float dtype of at most 8 bytes. Readers see
    the old file or the whole new one. ArtifactError when something cannot be stored or written.
    """
    target = Path(path)
    table, blocks, end = _plan(target, kind, header, arrays)
    preamble = _pack_preamble(len(table), end, zlib.crc32(table))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        try:
            with open(temporary, "xb") as file:
                file.write(preamble + table)
                for offset, block in blocks:
                    file.write(bytes(offset - file.tell()))
                    file.write(block.data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise ArtifactError(
            f"the file cannot be written: {error.strerror or error}",
            location=str(target),
            hint="check that the directory exists, is writable and has room",
        ) from error


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """The header and the arrays of a file written as `kind`; the arrays are read-only views of it.

    ArtifactError when the file is missing, not such a file, of another version or kind, cut,
    longer than it should be, or damaged in any byte.
    """
    place = str(path)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            _broken(place, "this is not a regular file")
        with open(path, "rb") as file:
            table, size = _read_header(file, place)
            view = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    except OSError as error:
        _broken(place, f"the file cannot be read: {error.strerror or error}", hint="check the path")
    except ValueError as error:
        _broken(place, f"the file cannot be mapped: {error}")
    return _parse(place, kind, table, view)


def _plan(
    target: Path, kind: str, header: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> tuple[bytes, list[tuple[int, AnyArray]], int]:
    """The header text, the arrays with their offsets, and the length of the file.

    Offsets depend on the length of the header, which names them; so they are given relative to
    the first array, and the header has no length of its own inside.
    """
    blocks: list[AnyArray] = []
    rows: list[dict[str, Any]] = []
    position = 0
    for name, array in arrays.items():
        block = _storable(target, name, array)
        position = _aligned(position)
        rows.append(
            {
                "name": name,
                "dtype": block.dtype.str,
                "shape": list(array.shape),
                "offset": position,
                "length": block.nbytes,
                "crc": zlib.crc32(block.data),
            }
        )
        position += block.nbytes
        blocks.append(block)
    try:
        table = json.dumps(
            {"kind": kind, "header": dict(header), "arrays": rows},
            allow_nan=False,
            separators=(",", ":"),
        ).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise ArtifactError(
            f"the header cannot be stored: {error}",
            location=str(target),
            expected="JSON values, finite numbers",
        ) from error
    base = _aligned(_PREAMBLE.size + len(table))
    placed = [(base + row["offset"], block) for row, block in zip(rows, blocks, strict=True)]
    end = base + position if blocks else _PREAMBLE.size + len(table)
    return table, placed, end


def _storable(target: Path, name: str, array: AnyArray) -> AnyArray:
    """`array` flat, contiguous and little-endian."""
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in _DTYPES:
        raise ArtifactError(
            f"array {name!r} of dtype {array.dtype} cannot be stored",
            location=str(target),
            expected="a bool, integer or float dtype of at most 8 bytes",
        )
    return np.ascontiguousarray(array, dtype=dtype).reshape(-1)


def _aligned(position: int) -> int:
    return -(-position // _ALIGN) * _ALIGN


def _pack_preamble(header_length: int, file_length: int, header_crc: int) -> bytes:
    fields = (_MAGIC, _VERSION, header_length, file_length, header_crc)
    body = _PREAMBLE.pack(*fields, 0)
    return _PREAMBLE.pack(*fields, zlib.crc32(body[:-4]))


def _read_header(file: BinaryIO, place: str) -> tuple[bytes, int]:
    """The header text, checked, and the size of the file, which the preamble agrees with."""
    size = os.fstat(file.fileno()).st_size
    preamble = file.read(_PREAMBLE.size)
    if not preamble.startswith(_MAGIC):
        cut = len(preamble) < _PREAMBLE.size and _MAGIC.startswith(preamble[: len(_MAGIC)])
        _broken(place, "the file is cut" if cut else "this is not a structgen file")
    if len(preamble) < _PREAMBLE.size:
        _broken(place, "the file is cut inside its preamble")
    _, version, header_length, file_length, header_crc, crc = _PREAMBLE.unpack(preamble)
    if version != _VERSION:
        _broken(place, f"the file has format version {version}", f"version {_VERSION}")
    if zlib.crc32(preamble[:-4]) != crc or any(preamble[32:60]):
        _broken(place, "the preamble is damaged")
    if file_length != size:
        state = "cut" if size < file_length else "longer than it should be"
        _broken(place, f"the file is {state}: {size} bytes", f"{file_length} bytes")
    if header_length > size - _PREAMBLE.size:
        _broken(place, f"a header of {header_length} bytes does not fit into {size}")
    table = file.read(header_length)
    if len(table) != header_length or zlib.crc32(table) != header_crc:
        _broken(place, "the header is damaged")
    return table, size


def _parse(
    place: str, kind: str, table: bytes, view: mmap.mmap
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    try:
        content = json.loads(table)
        found, header, rows = content["kind"], content["header"], content["arrays"]
        if not isinstance(header, dict) or not isinstance(rows, list):
            raise TypeError("header or array table of a wrong type")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        _broken(place, f"the header is not understood: {error!r}")
    if found != kind:
        _broken(place, f"the file holds {found!r:.80}", repr(kind), "check the path")
    arrays: dict[str, AnyArray] = {}
    with memoryview(view) as data:
        position = _PREAMBLE.size + len(table)
        base = _aligned(position)
        for row in rows:
            name, dtype, shape, length, crc, start = _parse_row(place, row, base)
            if start != _aligned(position) or start + length > len(data):
                _broken(place, f"array {name!r} does not lie where it should")
            if data[position:start].tobytes().strip(b"\0"):
                _broken(place, f"the gap before array {name!r} is not empty")
            if zlib.crc32(data[start : start + length]) != crc:
                _broken(place, f"array {name!r} is damaged")
            if name in arrays:
                _broken(place, f"array {name!r} is there twice")
            try:
                arrays[name] = np.ndarray(shape, dtype, buffer=view, offset=start)
            except (ValueError, OverflowError, MemoryError) as error:
                _broken(place, f"array {name!r} cannot be mapped: {error}")
            position = start + length
        if position != len(data):
            _broken(place, f"{len(data) - position} bytes follow the last array")
    return header, arrays


def _parse_row(
    place: str, row: Any, base: int
) -> tuple[str, np.dtype[Any], tuple[int, ...], int, int, int]:
    """Name, dtype, shape, length, checksum and start of one array, consistent with each other."""
    try:
        name, dtype, shape = str(row["name"]), _DTYPES[row["dtype"]], tuple(row["shape"])
        offset, length, crc = row["offset"], row["length"], row["crc"]
    except (TypeError, KeyError):
        _broken(place, "the array table is not understood")
    numbers = (*shape, offset, length, crc)
    if len(shape) > _MAX_DIMENSIONS or any(
        type(number) is not int or number < 0 for number in numbers
    ):
        _broken(place, f"array {name!r} has a shape or place of other than natural numbers")
    if length != math.prod(shape) * dtype.itemsize:
        _broken(place, f"array {name!r} of shape {shape} cannot have {length} bytes")
    return name, dtype, shape, length, crc, base + offset


def _broken(place: str, problem: str, expected: str = "", hint: str = "make it anew") -> NoReturn:
    raise ArtifactError(problem, location=place, expected=expected, hint=hint)
