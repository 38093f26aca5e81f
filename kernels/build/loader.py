"""Load kernel modules: compiled now, or from numba's cache on disk.

Importing a kernel module compiles it, which takes seconds the first time on a machine and
milliseconds afterwards. `kernels()` is the only way to reach them, and says so when it takes long.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import os
import re
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

from structgen.kernels.build.ledger import HEAD, Ledger, compile_share, helpers

NAMES = (
    "build.pointers", "build.decorators", "tables", "trie.nodes", "parser.stack_nodes",
    "parser.key_sets", "parser.seen_keys", "lexer.words", "lexer.word_lists", "lexer.spans",
    "lexer.rows", "trie.loops", "masks.row_edits", "regular.subsumption", "regular.glushkov",
    "regular.bounded_length", "numbers.columns", "numbers.bounds", "numbers.multiples",
    "numbers.reading", "numbers.states", "regular.state_spans", "regular.required_ahead",
    "regular.sub_automata", "regular.product", "parser.step", "masks.deferred_openings",
    "masks.lexeme_walk", "masks.boundary_tokens", "trie.subtrees", "masks.apply",
    "masks.delta_rows", "masks.thread_pool", "masks.byte_walk", "parser.stack_signature",
    "masks.entry_points", "masks.mask_cache", "masks.same_mask", "parser.stored_tables",
    "trie.scan", "masks.length_bound", "masks.lexeme_difference",
)  # fmt: skip
GRAMMAR_NAMES = (
    "grammar.records", "grammar.tables", "grammar.items", "grammar.stacks",
    "grammar.lalr_guided", "grammar.indentation", "grammar.lexer", "grammar.viability",
    "grammar.step", "grammar.start",
    "grammar_masks.byte_walk", "grammar_masks.tries", "grammar_masks.clusters",
    "grammar_masks.loops", "grammar_masks.lexeme_states", "grammar_masks.models",
    "grammar_masks.segments", "grammar_masks.parts", "grammar_masks.masks", "grammar.embedded",
    "grammar.entry_points",
)  # fmt: skip  # compiled when the first grammar is used
PATIENCE = 1.0, 10.0  # seconds before the user is told what is going on: first time, later

_SOURCES = Path(__file__).parents[1]
_NO_KERNELS = {"build/loader.py", "build/ledger.py"}
_lock = threading.Lock()
_modules: dict[str, ModuleType] = {}


def kernels(name: str) -> ModuleType:
    """The kernel module `structgen.kernels.<name>`; the first call prepares all of its group."""
    if name not in _modules:
        with _lock:
            if name not in _modules:
                if name in GRAMMAR_NAMES:
                    _load(GRAMMAR_NAMES, "the kernels of grammars", 20)
                else:
                    _load(NAMES, "kernels", 30)
    return _modules[name]


def _load(names: tuple[str, ...], what: str, seconds: int) -> None:
    ledger = _ledger()
    left = _left(names, ledger) if ledger else {}
    message = f"structgen: compiling {what}, once for this installed copy (about {seconds} s) ..."
    patience = PATIENCE[ledger is not None and not left]
    timer = threading.Timer(patience, print, (message,), {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    collects = gc.isenabled()
    gc.disable()  # compiling makes a great many objects, few of them garbage, for a few seconds
    try:
        if ledger and left:
            with helpers(ledger, f"from {__name__} import help_with; help_with({names!r})"):
                compile_share(ledger, left, _module)
        loaded = {name: _module(name) for name in names}
    finally:
        timer.cancel()
        if ledger:
            ledger.close()
        if collects:
            gc.enable()
    _modules.update(loaded)


def help_with(names: tuple[str, ...]) -> None:
    """Compile kernel modules and what they need, skipping those that another process is at."""
    if ledger := _ledger():
        compile_share(ledger, _left(names, ledger), _module)


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"structgen.kernels.{name}")


def _ledger() -> Ledger | None:
    """What has been compiled of the kernels as they are now; what is stale is removed.

    Kernels are compiled into each other across files, while numba looks only at the file of the
    outermost one; so the ledger begins anew with a digest of all sources, except Triton's. None
    where nothing is compiled, or nothing can be written.
    """
    from numba import config

    if getattr(config, "DISABLE_JIT"):  # noqa: B009  made when numba is imported
        return None
    elsewhere = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(elsewhere or _SOURCES / "__pycache__")
    digest = hashlib.blake2b(digest_size=HEAD // 2)
    for source in sorted(_SOURCES.rglob("*.py")):
        name = source.relative_to(_SOURCES).as_posix()
        if not name.startswith("gpu/") and name not in _NO_KERNELS:
            digest.update(source.read_bytes())
    names = NAMES + GRAMMAR_NAMES
    try:
        ledger = Ledger(folder / "structgen-kernels", digest.hexdigest(), names)
    except OSError:
        return None
    if ledger.is_new:
        for name in names:  # numba's files lie in a folder named after that of the source
            package, _, module = name.rpartition(".")
            place = f"{package}*/**" if package else "**"
            for stale in Path(elsewhere or _SOURCES).glob(f"{place}/{module}.*.nb[ic]"):
                stale.unlink(missing_ok=True)
    return ledger


def _left(names: tuple[str, ...], ledger: Ledger) -> dict[str, list[str]]:
    """The modules that are not compiled yet, of some and those they need; what each needs."""
    needs: dict[str, list[str]] = {}

    def add(name: str) -> None:
        if name not in needs and not ledger.is_done(name):
            source = (_SOURCES / f"{name.replace('.', '/')}.py").read_text("utf-8")
            found = re.findall(r"^from structgen\.kernels\.([\w.]+) import", source, re.MULTILINE)
            for other in found:
                add(other)
            needs[name] = found

    for name in names:
        add(name)
    return needs


def warmup(*, grammars: bool = True) -> float:
    """Compile every kernel now (or load them from the cache). Returns the seconds it took.

    grammars: the kernels of grammars too. Those that run on a GPU are Triton's to compile.
    """
    start = time.perf_counter()
    with _lock:
        if grammars and not _modules:
            _load(NAMES + GRAMMAR_NAMES, "all kernels", 45)
    kernels(NAMES[0])
    if grammars:
        kernels(GRAMMAR_NAMES[0])
    return time.perf_counter() - start
