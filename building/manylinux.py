"""The tag of a wheel by what its libraries need: any Linux of the last decade, if they let it.

PEP 600: `manylinux_2_17` is a promise that a wheel runs wherever the C library is glibc 2.17 or
newer, and brings whatever else it needs. Kernels need a few of the oldest functions of the C
library, and CPython's, which no library names; so as a rule the promise can be made. A linker that
adds a library of its own, a newer function, or another C library (musl) leaves the wheel with the
plain tag, which package indexes refuse. `auditwheel show` says the same of the wheel.

A Python for both kinds of Macs calls itself `universal2`, but kernels are compiled for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

#: the oldest glibc that numpy, which structgen needs, has wheels for
GLIBC = 2, 17
_PARTS = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2"}  # of glibc
# Names stand in a library's table of strings, each between zeros.
_VERSION = re.compile(rb"\0GLIBC_(\d+)\.(\d+)[.\d]*(?=\0)")
_NEEDED = re.compile(rb"\0((?:lib|ld-)[\w.+-]*\.so[.\w]*)(?=\0)")


def platform_tag(plain: str, machine: str, libraries: Iterable[bytes]) -> str:
    """The tag for libraries with these contents; `plain`: what setuptools says, `linux_x86_64`."""
    if plain.startswith("macosx"):
        return plain.replace("universal2", machine)
    if plain != f"linux_{machine}" or not all(map(_is_portable, libraries)):
        return plain
    return f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{machine}"


def _is_portable(library: bytes) -> bool:
    """Whether a library needs nothing but glibc as it was."""
    versions = [(int(major), int(minor)) for major, minor in _VERSION.findall(library)]
    needed = {name.decode() for name in _NEEDED.findall(library)}
    return bool(versions) and max(versions) <= GLIBC and needed <= _PARTS
