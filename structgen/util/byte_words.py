"""Describe a set of bytes in words, for messages."""

from __future__ import annotations

from collections.abc import Iterable


def in_words(allowed: Iterable[int]) -> str:
    """Bytes as runs of quoted characters, those beyond ASCII by number."""
    runs: list[list[int]] = []
    for byte in sorted(allowed):
        if runs and byte == runs[-1][-1] + 1 and (byte < 128) == (runs[-1][0] < 128):
            runs[-1].append(byte)
        else:
            runs.append([byte])
    names = [_name(r[0]) if len(r) == 1 else f"{_name(r[0])}..{_name(r[-1])}" for r in runs]
    return " ".join(names) or "nothing more"


def _name(byte: int) -> str:
    return repr(chr(byte)) if byte < 128 else f"0x{byte:02X}"
