"""The flat trie is the plain trie, and its cache on disk is safe.

The naive reference is a dict of dicts; it shares no code with the package.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structgen.util import container
from structgen.util.cache_dir import cache_dir
from structgen.vocabulary import trie as trie_module
from structgen.vocabulary.trie import Trie
from structgen.vocabulary.vocabulary import Vocabulary

ARRAYS = ("byte", "depth", "end", "token", "extra_node", "extra_token", "root_child")

SHORT = st.lists(st.integers(97, 99), max_size=4).map(bytes)
TABLES = st.lists(SHORT | st.binary(max_size=6) | st.none(), min_size=1, max_size=60)


def naive(tokens: list[bytes | None], silent: set[int]) -> dict[str, Any]:
    """Every field of the trie, from nested dicts walked in byte order."""
    root: dict[Any, Any] = {}
    for i, token in enumerate(tokens):
        if token and i not in silent:
            node = root
            for byte in token:
                node = node.setdefault(byte, {})
            node.setdefault("ids", []).append(i)
    found: dict[str, Any] = {name: [] for name in ARRAYS}
    found["root_child"] = [-1] * 256
    # A stack instead of recursion, as tokens may be long: (node, byte, depth), or a node to end.
    stack: list[Any] = [(root[b], b, 1) for b in sorted(root, reverse=True)]
    while stack:
        top = stack.pop()
        if isinstance(top, int):
            found["end"][top] = len(found["byte"])
            continue
        node, byte, depth = top
        index = len(found["byte"])
        if depth == 1:
            found["root_child"][byte] = index
        ids = node.get("ids", [-1])
        for name, value in (("byte", byte), ("depth", depth), ("end", 0), ("token", ids[0])):
            found[name].append(value)
        found["extra_node"] += [index] * (len(ids) - 1)
        found["extra_token"] += ids[1:]
        stack.append(index)
        children = sorted((key for key in node if key != "ids"), reverse=True)
        stack += [(node[key], key, depth + 1) for key in children]
    return found


def assert_equal_to_naive(trie: Trie, tokens: list[bytes | None], silent: set[int]) -> None:
    """Each array equals that of the reference, with the promised dtype and flags."""
    wanted = naive(tokens, silent)
    for name in ARRAYS:
        array = getattr(trie, name)
        assert array.dtype == (np.uint8 if name == "byte" else np.int32)
        assert array.flags.c_contiguous
        assert not array.flags.writeable
        assert array.tolist() == wanted[name], name
    assert trie.max_depth == max(wanted["depth"], default=0)
    assert len(trie) == len(wanted["byte"])


@given(tokens=TABLES, data=st.data())
@example(tokens=[b""], data=None)
@example(tokens=[b"a", b"a", b"a"], data=None)
@example(tokens=[b"abc", b"ab", b"a", b"b", b"bcd", b"abd", b"ab"], data=None)
@example(tokens=[bytes([b]) for b in range(256)], data=None)
def test_the_flat_trie_is_the_plain_trie(tokens: list[bytes | None], data: Any) -> None:
    """With duplicates, prefixes, empty, absent and special tokens, node for node."""
    ids = st.sets(st.integers(0, len(tokens) - 1))
    ends = data.draw(ids) if data else set()
    special = data.draw(ids) if data else set()
    vocabulary = Vocabulary(tokens, eos_ids=ends, special_ids=special)
    assert_equal_to_naive(vocabulary.trie, tokens, ends | special)


def test_a_tiny_trie_reads_as_drawn() -> None:
    """Tokens a, ab, ac, b and ab again: the nodes are a, ab, ac, b."""
    trie = Vocabulary([b"b", b"ab", b"a", b"ac", b"ab"]).trie
    assert bytes(trie.byte) == b"abcb"
    assert trie.depth.tolist() == [1, 2, 2, 1]
    assert trie.end.tolist() == [3, 2, 3, 4]
    assert trie.token.tolist() == [2, 1, 3, 0]
    assert trie.extra_node.tolist() == [1]
    assert trie.extra_token.tolist() == [4]
    assert trie.root_child[[97, 98, 99]].tolist() == [0, 3, -1]
    assert trie.max_depth == 2


def test_long_tokens_are_no_problem() -> None:
    """A token of thousands of bytes costs depth, not time or recursion."""
    tokens: list[bytes | None] = [b"x" * 5000, b"x" * 4999 + b"y", b"x" * 300, b"y" * 7]
    assert_equal_to_naive(Vocabulary(tokens).trie, tokens, set())


@pytest.mark.parametrize("name", ["gpt2.tiktoken", "llama3.tiktoken"])
def test_a_real_vocabulary_equals_its_naive_trie(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """The whole table of a tokenizer in use, built and then read from the cache."""
    monkeypatch.setenv("STRUCTGEN_CACHE", str(tmp_path))
    path = data_dir / "tokenizers" / name
    built = Vocabulary.from_tiktoken(path)
    assert_equal_to_naive(built.trie, list(built.tokens), set())
    monkeypatch.setattr(trie_module, "build_trie", None)
    assert_same(Vocabulary.from_tiktoken(path).trie, built.trie)


def assert_same(found: Trie, wanted: Trie) -> None:
    """Both tries hold the same."""
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    assert found.max_depth == wanted.max_depth


def large(seed: int = 0) -> Vocabulary:
    """A vocabulary large enough to be cached, of random tokens with a few duplicates."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, 9000)
    return Vocabulary([rng.integers(97, 110, n, np.uint8).tobytes() for n in lengths])


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory that does not exist yet."""
    monkeypatch.setenv("STRUCTGEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def cached_file(cache: Path) -> Path:
    """The one file in the cache."""
    (path,) = (path for path in cache.rglob("*") if path.is_file())
    return path


def test_a_large_trie_is_read_from_the_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second vocabulary of equal content does not build anything."""
    built = large().trie
    assert cached_file(cache).stat().st_size > len(built) * 13
    monkeypatch.setattr(trie_module, "build_trie", None)
    loaded = large().trie
    assert_same(loaded, built)
    assert not any(getattr(loaded, name).flags.writeable for name in ARRAYS)


def test_a_small_trie_leaves_no_file(cache: Path) -> None:
    """Building one takes less time than looking for it."""
    assert len(Vocabulary([b"a", b"b"]).trie) == 2
    assert not cache.exists()


@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "foreign", "directory"])
def test_a_damaged_cache_file_is_built_anew(cache: Path, harm: str) -> None:
    """Whatever happened to the file, the trie is right, and a file is good again."""
    built = large().trie
    path = cached_file(cache)
    good = path.read_bytes()
    if harm == "directory":
        path.unlink()
        path.mkdir()
    else:
        bad = {
            "flip": good[:-9] + bytes([good[-9] ^ 4]) + good[-8:],
            "cut": good[:-1],
            "empty": b"",
            "foreign": b"PK" + good[2:],
        }
        path.write_bytes(bad[harm])
    assert_same(large().trie, built)
    if harm != "directory":
        assert path.read_bytes() == good


def test_the_file_of_another_vocabulary_is_not_taken(cache: Path) -> None:
    """A sound file under a wrong name is rebuilt: the hash is inside as well."""
    large(1).trie  # noqa: B018  # leaves its file
    path = cached_file(cache)
    path.rename(path.with_name(path.name.replace(large(1).hash, large().hash)))
    assert path.with_name(f"{large().hash}.trie").exists()
    found = large().trie
    assert_same(found, trie_module.build_trie(large().tokens, large().text_ids))


@pytest.mark.parametrize(
    ("name", "value"),
    [("end", 0), ("end", 10**6), ("token", 9000), ("token", -2), ("depth", 3), ("depth", 0),
     ("root_child", 10**6), ("extra_node", -1), ("extra_token", 9000)],
)  # fmt: skip
def test_a_file_that_would_lead_out_of_bounds_is_not_taken(
    cache: Path, name: str, value: int
) -> None:
    """Even with right checksums, arrays that a walk cannot follow are rebuilt."""
    built = large().trie
    path = cached_file(cache)
    header, arrays = container.read(path, "trie 1")
    changed = arrays[name].copy()
    changed[0] = value
    container.write(path, "trie 1", header, {**arrays, name: changed})
    assert_same(large().trie, built)


@pytest.mark.parametrize("change", ["dtype", "shape", "missing", "more", "depth", "empty", "fewer"])
def test_a_file_of_another_form_is_not_taken(cache: Path, change: str) -> None:
    """Arrays must be those of the trie, with their dtypes and shapes."""
    built = large().trie
    path = cached_file(cache)
    header, arrays = container.read(path, "trie 1")
    if change == "missing":
        del arrays["end"]
    elif change == "empty":
        arrays = {name: array[:0] for name, array in arrays.items()}
        arrays["root_child"] = np.full(256, -1, np.int32)
    elif change == "fewer":
        arrays["token"] = np.where(arrays["token"] == built.token.max(), -1, arrays["token"])
    elif change == "depth":
        header["max_depth"] = "4"
    else:
        new = {"dtype": arrays["end"].astype(np.int64), "shape": arrays["end"][:-1]}
        arrays = {**arrays, "end" if change in new else "x": new.get(change, arrays["end"])}
    container.write(path, "trie 1", header, arrays)
    assert_same(large().trie, built)


def test_a_cache_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trie is there all the same when the directory cannot even be made."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("STRUCTGEN_CACHE", str(tmp_path / "file" / "cache"))
    vocabulary = large()
    assert_same(vocabulary.trie, trie_module.build_trie(vocabulary.tokens, vocabulary.text_ids))


def test_threads_share_one_trie(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight threads that ask at once get the same object, built once."""
    built = []
    original = trie_module.build_trie

    def counting(*arguments: Any) -> Trie:
        built.append(threading.get_ident())
        return original(*arguments)

    monkeypatch.setattr(trie_module, "build_trie", counting)
    vocabulary, found = large(), []
    barrier = threading.Barrier(8)

    def ask() -> None:
        barrier.wait()
        found.append(vocabulary.trie)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert {id(trie) for trie in found} == {id(vocabulary.trie)}
    assert len(built) == 1


def test_the_cache_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """STRUCTGEN_CACHE first, then an absolute XDG_CACHE_HOME, then the home directory's."""
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("STRUCTGEN_CACHE", "~/mine")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_dir() == Path("/home/somebody/mine")
    monkeypatch.setenv("STRUCTGEN_CACHE", "")
    assert cache_dir() == Path("/xdg/structgen")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert cache_dir() == Path("/home/somebody/.cache/structgen")
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_dir() == Path("/home/somebody/Library/Caches/structgen")


def test_a_user_without_a_home_has_no_cache_but_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no home directory is known, the cache is a place that cannot be written."""

    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("STRUCTGEN_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", unknown)
    assert cache_dir().is_relative_to(os.devnull)
    vocabulary = large()
    assert_same(vocabulary.trie, trie_module.build_trie(vocabulary.tokens, vocabulary.text_ids))
