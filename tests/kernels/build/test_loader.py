"""Kernel modules are reached by name, and packages above can be imported without any."""

from __future__ import annotations

import subprocess
import sys

from structgen.kernels.build.loader import kernels


def test_a_module_is_what_its_name_says() -> None:
    """The same whoever asks for it."""
    assert kernels("trie.scan").__name__ == "structgen.kernels.trie.scan"
    assert kernels("trie.scan") is kernels("trie.scan")


def test_warming_up_takes_some_time_and_opens_the_library() -> None:
    """In a process of its own, which has not opened it."""
    code = (
        "import sys; from structgen.kernels.build.loader import warmup\n"
        "before = 'structgen.kernels.build.language' in sys.modules\n"
        "print(before, warmup() >= 0, 'structgen.kernels.build.language' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False True True\n"
