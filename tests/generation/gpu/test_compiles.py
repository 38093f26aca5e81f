"""Tests that the Triton kernels compile for real GPUs, also on machines without one."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

# In a process of its own, since in this one Triton may have been told to interpret.
COMPILE = """
import sys
from triton import compile
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from structgen.generation.gpu import triton_path
from structgen.kernels.gpu import rows as k

TYPES = {"table": "*i32", "ids": "*i32", "temperatures": "*fp32", "sheet": "*fp64",
         "records": "*fp64", "found": "*fp64", "width": "i32", "stride": "i32", "size": "i32"}
target = GPUTarget("cuda", 90, 32)
for logits in ("*fp32", "*bf16", "*fp16"):
    for kernel, constants in [
        (k.apply_rows, {"SCALED": False, "BLOCK": 1024}),
        (k.apply_rows, {"SCALED": True, "BLOCK": 1024}),
        (k.summarize, {"BLOCK": 1024, "BLOCKS": 128}),
        (k.choose, {"BLOCK": 1024, "BLOCKS": 128}),
    ]:
        if logits != "*bf16" and kernel is not k.apply_rows:
            continue  # differs in one load, and takes long
        types = {n: "constexpr" if n in constants else TYPES.get(n, logits)
                 for n in kernel.arg_names}
        places = {(kernel.arg_names.index(n),): value for n, value in constants.items()}
        options = triton_path.options(kernel.__name__, limited=True)
        found = compile(ASTSource(kernel, types, places), target=target, options=options)
        assert found.asm["cubin"]
        print(kernel.__name__)
"""


@pytest.mark.thorough
def test_the_kernels_compile_for_a_gpu(tmp_path: Path) -> None:
    """To machine code of compute capability 9.0, for every type of logits."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COMPILE],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split().count("apply_rows") == 6
