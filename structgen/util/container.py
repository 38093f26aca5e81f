"""A checked file format: a JSON header and numpy arrays in one file that is memory-mapped.

Layout, little-endian, every byte covered by a check:

    preamble    64 bytes: magic, format version, length of the header, length of the data, checksum
                of what stands between preamble and data, checksum of the preamble itself
    header      ASCII JSON, a line each: kind and header; then of each array its name, dtype, shape
                and first byte
    checksums   uint32 for each 16 KiB of the data; then zero bytes up to a multiple of 64
    data        the arrays in that order, each at the next multiple of 64, nothing behind

What the header says of an array is looked at when the array is asked for, so that opening a file
takes the same time however many arrays it has.

Checksums are CRC-32: they find damage (every burst of up to 32 bits), not forgery. Nothing is
unpickled, and nothing is allocated on the word of the file: lengths are compared with its real
size first. Files are replaced as a whole and never changed, so a reader keeps what it opened.
"""

from __future__ import annotations

import contextlib
import json
import math
import mmap
import os
import stat
import struct
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from structgen.errors import ArtifactError

AnyArray = npt.NDArray[Any]

BLOCK = 1 << 14  # bytes of data under one checksum
EAGER = 1 << 17  # bytes of data up to which `File` checks all of it at once

_MAGIC = b"\x93sgen\r\n\x1a"
_VERSION = 4
_PREAMBLE = struct.Struct("<8sIQQI28xI")  # magic, version, header length, data length, crc, crc
_TEMPORARY = ".sgtmp"  # how names of files end that are being written
_LEFT_AFTER = 3600.0  # seconds
_ALIGN = 64
_GUESS = 8192  # bytes read at first, in which most headers lie
_MAX_DIMENSIONS = 32
_SCALARS = ("b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
_DECODER = json.JSONDecoder()
_DTYPES = {(d := np.dtype(f"<{code}")).str: (d, d.itemsize) for code in _SCALARS}


class Place(NamedTuple):
    """Where an array lies: dtype, shape, and the first byte and one past the last in the data."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int


class File:
    """A mapped file. `header` is what was written; `names` are those of the arrays.

    A file with at most EAGER bytes of data is checked when it is opened; of a larger one each
    16 KiB are checked when first asked for, so that opening it takes the same time at any size.
    """

    def __init__(self, path: str | os.PathLike[str], kind: str) -> None:
        """Open a file that `write` wrote as `kind`.

        ArtifactError when it is missing, not such a file, of another version or kind, cut, longer
        than it should be, or damaged where it has been checked.
        """
        self.path = str(path)
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                status = os.fstat(handle)
                if not stat.S_ISREG(status.st_mode):
                    _broken(self.path, "this is not a regular file")
                self.size = status.st_size
                text, self._sums, self._base = _read_header(handle, self.size, self.path)
                self._map = mmap.mmap(handle, self.size, access=mmap.ACCESS_COPY)
            finally:
                os.close(handle)
        except OSError as error:
            problem = f"the file cannot be read: {error.strerror or error}"
            _broken(self.path, problem, hint="check the path")
        except ValueError as error:
            _broken(self.path, f"the file cannot be mapped: {error}")
        self.header, self._table = _parse(self.path, kind, text)
        self._checked = bytearray(len(self._sums) // 4)
        if self.size - self._base <= EAGER:
            self.verify()

    @cached_property
    def names(self) -> list[str]:
        """The names of the arrays. ArtifactError when they are not understood."""
        try:
            return [str(json.loads(line)[0]) for line in self._table.strip().splitlines()]
        except (ValueError, TypeError, LookupError, RecursionError):
            _broken(self.path, "the array table is not understood")

    def verify(self) -> None:
        """Check every byte that has not been checked yet. Raises ArtifactError."""
        self.check(0, self.size - self._base)

    def check(self, start: int, stop: int) -> None:
        """Check the blocks of which the bytes from `start` to `stop` of the data are part."""
        end = -(-stop // BLOCK)
        at = self._checked.find(0, start // BLOCK, end)
        if at < 0:
            return
        with memoryview(self._map) as view:
            while at >= 0:  # what has been checked may have been written to since
                first = self._base + at * BLOCK
                found = zlib.crc32(view[first : first + BLOCK])
                if found != int.from_bytes(self._sums[4 * at : 4 * at + 4], "little"):
                    last = min(first + BLOCK, self.size)
                    _broken(self.path, f"the data is damaged between bytes {first} and {last}")
                self._checked[at] = 1
                at = self._checked.find(0, at + 1, end)

    def array(self, name: str) -> AnyArray:
        """An array, checked and read-only.

        ArtifactError when there is none of that name, or it is damaged.
        """
        place = self.place(name)
        self.check(place.start, place.stop)
        return self._view(name, place)

    def arrays(self, prefix: str) -> dict[str, AnyArray]:
        """The arrays whose names begin with `prefix`, checked, by the rest of their names.

        What is written to them stays in this process. ArtifactError when one is damaged.
        """
        places = {name: self.place(name) for name in self.names if name.startswith(prefix)}
        if places:
            starts, stops = zip(*(place[2:] for place in places.values()), strict=True)
            self.check(min(starts), max(stops))
        return {n[len(prefix) :]: self._view(n, place, True) for n, place in places.items()}

    def section(self, name: str) -> Section:
        """An array of which each part is checked when it is asked for."""
        place = self.place(name)
        return Section(self, self._view(name, place), place.start)

    def place(self, name: str) -> Place:
        """Where an array lies. ArtifactError when there is none, or not within the data."""
        begin = self._table.find(f"\n[{json.dumps(name)},") + 1
        if begin == 0:
            _broken(self.path, f"there is no array {name!r}")
        try:
            (_, code, shape, start), _ = _DECODER.raw_decode(self._table, begin)
            dtype, itemsize = _DTYPES[code]
            if type(shape) is not list or len(shape) > _MAX_DIMENSIONS:
                raise TypeError(name)
        except (TypeError, ValueError, KeyError, RecursionError):
            _broken(self.path, "the array table is not understood")
        for count in (*shape, start):
            if type(count) is not int or count < 0:
                _broken(self.path, f"array {name!r} has a shape of other than natural numbers")
        stop = start + itemsize * math.prod(shape)
        if start % _ALIGN or stop > self.size - self._base:
            _broken(self.path, f"array {name!r} does not lie in the data")
        return Place(dtype, tuple(shape), start, stop)

    def _view(self, name: str, place: Place, writeable: bool = False) -> AnyArray:
        dtype, shape, start, _ = place
        try:
            array: AnyArray = np.ndarray(shape, dtype, self._map, self._base + start)
        except (ValueError, OverflowError, MemoryError) as error:
            _broken(self.path, f"array {name!r} cannot be mapped: {error}")
        if not writeable:
            array.flags.writeable = False
        return array


class Section:
    """A read-only array in a file: `section[a:b]` checks what it returns.

    Attributes: `dtype` and `ndim`, as of a numpy array.
    """

    def __init__(self, file: File, array: AnyArray, start: int) -> None:
        self._file = file
        self._array = array
        self._start = start
        self._stride = array.strides[0] if array.ndim else 0
        self.dtype = array.dtype
        self.ndim = array.ndim

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, part: slice) -> AnyArray:
        first, last, _ = part.indices(len(self._array))
        self._file.check(self._start + first * self._stride, self._start + last * self._stride)
        found: AnyArray = self._array[first:last]
        return found


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """The header and the arrays of a file, all of it checked; the arrays are read-only views.

    Raises ArtifactError as `File` does, whichever byte is damaged.
    """
    file = File(path, kind)
    file.verify()
    return file.header, {name: file.array(name) for name in file.names}


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
    blocks = {name: _storable(target, name, array) for name, array in arrays.items()}
    text = _header_text(target, kind, header, arrays, blocks)
    sums, length = _sums(blocks)
    base = _base(len(text), length)
    middle = (text + sums).ljust(base - _PREAMBLE.size, b"\0")

    def parts() -> Iterator[bytes | memoryview]:
        yield _preamble(len(text), length, zlib.crc32(middle)) + middle
        position = 0  # in the data, whose start is aligned
        for block in blocks.values():
            yield bytes(-position % _ALIGN)
            yield block.data
            position = _aligned(position) + block.nbytes

    write_file(target, parts())


def write_file(path: str | os.PathLike[str], parts: Iterable[bytes | memoryview]) -> None:
    """Write a file of these parts, all or nothing: readers see the old one or the whole new one.

    ArtifactError when it cannot be written.
    """
    target = Path(path)
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise ArtifactError(  # a device or a pipe, whose place the file would take
            "this is not a regular file", location=str(target), hint="name a file"
        )
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}{_TEMPORARY}")
    try:
        try:
            with open(temporary, "xb") as file:
                file.writelines(parts)
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


def remove_leftovers(folder: str | os.PathLike[str]) -> None:
    """Remove what a process that was killed while it wrote has left, once it is an hour old."""
    now = time.time()
    for path in Path(folder).glob(f".*{_TEMPORARY}"):
        with contextlib.suppress(OSError):
            if now - path.stat().st_mtime > _LEFT_AFTER:
                path.unlink()


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


def _header_text(
    target: Path,
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, AnyArray],
    blocks: Mapping[str, AnyArray],
) -> bytes:
    content: list[Any] = [{"kind": kind, "header": dict(header)}]
    stop = 0
    for name, array in arrays.items():
        start = _aligned(stop)
        content.append([name, blocks[name].dtype.str, list(array.shape), start])
        stop = start + array.nbytes
    try:
        lines = [json.dumps(line, allow_nan=False, separators=(",", ":")) for line in content]
    except (TypeError, ValueError, RecursionError) as error:
        raise ArtifactError(
            f"the header cannot be stored: {error}",
            location=str(target),
            expected="JSON values, finite numbers",
        ) from error
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _sums(blocks: Mapping[str, AnyArray]) -> tuple[bytes, int]:
    """The checksums of each BLOCK bytes of the data, uint32 each; and the data's length."""
    sums: list[int] = []
    crc = length = 0
    for block in blocks.values():
        for part in (bytes(-length % _ALIGN), block.data.cast("B") if block.nbytes else b""):
            at = 0
            while at < len(part):
                piece = part[at : at + BLOCK - length % BLOCK]
                crc = zlib.crc32(piece, crc)
                at += len(piece)
                length += len(piece)
                if length % BLOCK == 0:
                    sums.append(crc)
                    crc = 0
    if length % BLOCK:
        sums.append(crc)
    return struct.pack(f"<{len(sums)}I", *sums), length


def _aligned(position: int) -> int:
    return -(-position // _ALIGN) * _ALIGN


def _base(header_length: int, data_length: int) -> int:
    """Where the data begins."""
    return _aligned(_PREAMBLE.size + header_length + 4 * -(-data_length // BLOCK))


def _preamble(header_length: int, data_length: int, crc: int) -> bytes:
    fields = (_MAGIC, _VERSION, header_length, data_length, crc)
    return _PREAMBLE.pack(*fields, zlib.crc32(_PREAMBLE.pack(*fields, 0)[:-4]))


def _read_header(handle: int, size: int, place: str) -> tuple[bytes, bytes, int]:
    """The header text and the checksums of the data, both checked; and where the data begins."""
    start = os.pread(handle, _GUESS, 0)
    preamble = start[: _PREAMBLE.size]
    if not preamble.startswith(_MAGIC):
        cut = len(preamble) < _PREAMBLE.size and _MAGIC.startswith(preamble[: len(_MAGIC)])
        _broken(place, "the file is cut" if cut else "this is not a structgen file")
    if len(preamble) < _PREAMBLE.size:
        _broken(place, "the file is cut inside its preamble")
    _, version, header_length, data_length, middle_crc, crc = _PREAMBLE.unpack(preamble)
    if version != _VERSION:
        _broken(place, f"the file has format version {version}", f"version {_VERSION}")
    if zlib.crc32(preamble[:-4]) != crc or preamble[32:60] != bytes(28):
        _broken(place, "the preamble is damaged")
    base = _base(header_length, data_length)
    if base + data_length != size:
        state = "cut" if size < base + data_length else "longer than it should be"
        _broken(place, f"the file is {state}: {size} bytes", f"{base + data_length} bytes")
    if base > _GUESS:
        start += os.pread(handle, base - _GUESS, _GUESS)
    middle = start[_PREAMBLE.size : base]
    if len(middle) != base - _PREAMBLE.size or zlib.crc32(middle) != middle_crc:
        _broken(place, "the header is damaged")
    count = -(-data_length // BLOCK)
    return middle[:header_length], middle[header_length : header_length + 4 * count], base


def _parse(place: str, kind: str, text: bytes) -> tuple[dict[str, Any], str]:
    """The header; and what is said of the arrays, each line of it between two line breaks."""
    try:
        lines = text.decode("ascii")
        content, end = _DECODER.raw_decode(lines)
        found, header = content["kind"], content["header"]
        if not isinstance(header, dict):
            raise TypeError("the header is of a wrong type")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        _broken(place, f"the header is not understood: {error!r:.200}")
    if found != kind:
        _broken(place, f"the file holds {found!r:.80}", repr(kind), "check the path")
    return header, lines[end:]


def _broken(place: str, problem: str, expected: str = "", hint: str = "make it anew") -> NoReturn:
    raise ArtifactError(problem, location=place, expected=expected, hint=hint)
