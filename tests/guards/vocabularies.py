"""Vocabularies whose tokens never change: a small one, the demo model's, a large and a real one.

Each has a token for every single byte, so that every text can be spelled with it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path

import structgen as sg
from structgen import demo

BYTES = tuple(bytes((byte,)) for byte in range(256))
MARKS = (b"<think>", b"</think>", b"<tool_call>", b"</tool_call>")  # tokens that are special
SMALL = """
{" ":  ": "," ", " "} "] "}} }} ]] }] }, ], [{ [[ {}  [] [" "" \\" \\u \\n \\\\ :{ :[ ,{ ,[ :" ,"
e+ E- true false null tru fal nu al se ll 10 12 00 20 25 -1 0. .5 1e ab aa ba the in on er name
id type value é 中 😀 😀a ö< != == <= ( () ); ){ </ /> <a se SE SEL # :: -> // /* */ ** '' ''' \"""
""".split()
WHERE = "STRUCTGEN_DATA"  # names the folder with the real vocabulary


def small() -> sg.Vocabulary:
    """All bytes, some hundred pieces of JSON and code, four special tokens; its end is the last."""
    pieces = [piece.encode() for piece in SMALL]
    spaces = [b"  ", b"    ", b"\n  ", b"\n    ", b'" :', b'" ', b": ", b", ", b',\n  "', b"\n}"]
    characters = ["é".encode()[:1] + b"\xaa", "中".encode()[:2], "😀".encode()[1:], b"\xc3\xa9\xc3"]
    table = _distinct([*BYTES, *pieces, *spaces, *characters, *MARKS, b"</s>"])
    marks = [table.index(mark) for mark in MARKS]
    return sg.Vocabulary(table, eos_ids=[len(table) - 1], special_ids=marks)


def demo_model() -> sg.Vocabulary:
    """The 1,536 tokens of the shipped demo model, read from its file without any other library."""
    path = demo.model_path() / "tokenizer.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    byte_of = _byte_level()
    added = {entry["content"]: entry["id"] for entry in stored["added_tokens"]}
    table: list[bytes | None] = [None] * len(stored["model"]["vocab"])
    for text, number in stored["model"]["vocab"].items():
        table[number] = (
            text.encode() if text in added else bytes(byte_of[letter] for letter in text)
        )
    return sg.Vocabulary(table, eos_ids=[added["<|eos|>"]], special_ids=sorted(added.values()))


def large() -> sg.Vocabulary:
    """Some 12,000 tokens: syllables, words, digits, runs of JSON's marks, parts of characters."""
    table: list[bytes | None] = list(
        _distinct([*BYTES, *_pieces(), *MARKS, b"<|end|>", b"<|eot|>"])
    )
    marks = [table.index(mark) for mark in MARKS]
    ends = [len(table) - 1, len(table) - 2]
    holes: list[bytes | None] = [
        None,
        b"",
        b"a",
    ]  # ids without text, and a token that is there twice
    return sg.Vocabulary([*table, *holes], eos_ids=ends, special_ids=marks)


def real_path() -> Path:
    """Where the file with Llama 3's vocabulary is, if it is there."""
    named = os.environ.get(WHERE)
    folder = Path(named) if named else Path(__file__).resolve().parents[3] / "shared" / "data"
    return folder / "tokenizers" / "llama3.tiktoken"


def real() -> sg.Vocabulary:
    """Llama 3's 128,000 tokens, with the end token that it has."""
    special = {"<|begin_of_text|>": 128000, "<|end_of_text|>": 128001}
    return sg.Vocabulary.from_tiktoken(
        real_path(), special_tokens=special, eos_ids=["<|end_of_text|>"]
    )


MADE: dict[str, Callable[[], sg.Vocabulary]] = {
    "small": small,
    "demo": demo_model,
    "large": large,
    "real": real,
}


@cache
def named(name: str) -> sg.Vocabulary:
    """One of the vocabularies in `MADE`, made once."""
    return MADE[name]()


def _distinct(pieces: list[bytes]) -> list[bytes]:
    return list(dict.fromkeys(pieces))


def _byte_level() -> dict[str, int]:
    """The byte that each letter of a byte-level token stands for."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(others)}


def _pieces() -> Iterator[bytes]:
    for count in (2, 3):
        yield from (bytes(run) for run in product(b'{}[]",:', repeat=count))
    for run in product(
        ['{"', '["', '":', '",', '"}', '"]', "},", "],"], ["", " ", "\n"], ['"', "{", "[", "1"]
    ):
        yield "".join(run).encode()
    yield from (b" " * count for count in range(2, 33))
    yield from (b"\n" + b" " * count for count in range(25))
    yield from (f"{number}".encode() for number in range(10, 1000))
    yield from (f"{number:03}".encode() for number in range(100))
    yield from (b"." + digits for digits in (b"0", b"5", b"25", b"00", b"125"))
    syllables = ["".join(letters) for letters in product("bcdfglmnprst", "aeiou", "dlmnrst")]
    for syllable in syllables:
        yield from (syllable.encode(), b" " + syllable.encode(), syllable.capitalize().encode())
    for pair in product(syllables[::11], syllables[::9]):
        yield from ("".join(pair).encode(), f" {''.join(pair)}".encode())
    words = """true false null none True False None name type value id key items date time email
        url string number integer object array version main src test build run on uses with steps
        select from where order by limit group having join insert into update delete create table
        def return if else elif for while in not and or is class import function const let var new
        this typeof async await int char void struct static div span head body href query fragment
        start root http https www com org example localhost uuid""".split()
    for word in words:
        yield from (
            word.encode(),
            b" " + word.encode(),
            b'"' + word.encode(),
            word.upper().encode(),
        )
        yield from (b'"' + word.encode() + b'"', b'"' + word.encode() + b'":')
    for first, last in (
        (0xA1, 0x250),
        (0x391, 0x450),
        (0x5D0, 0x5EB),
        (0x3041, 0x30FF),
        (0x4E00, 0x5200),
    ):
        yield from (chr(code).encode() for code in range(first, last))
    for code in range(0x1F600, 0x1F640):
        yield from (chr(code).encode(), chr(code).encode()[:3], chr(code).encode()[2:])
    for couple in product(b"\xc3\xc4\xce\xd0\xd7", b"\x80\x8f\xa9\xb0\xbf"):
        yield bytes(couple) + b'"'
    for lead in range(0xE3, 0xE9):
        yield from (bytes((lead, after)) for after in range(0x80, 0xC0, 5))
    yield from (f"\\u{code:04x}".encode() for code in range(0, 0x3000, 0x77))
    yield from (f"\\{letter}".encode() for letter in 'bfnrt"\\/u')
    yield from (b"\\ud83d", b"\\ude00", b"\\uD83D\\uDE00", b"\\u00", b"\\ud")
    yield from ("".join(run).encode() for run in product("()<>=+-*/!&|;.#'`$@%^~?_", repeat=2))
