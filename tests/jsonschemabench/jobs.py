"""Jobs for the tests of workers: each crashes, hangs or misbehaves as its name says."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any


def start(name: str) -> Callable[[Any], Any]:
    """What `Worker` and `Runner` call in the child; a "broken" one does not start."""
    if name == "broken":
        raise RuntimeError("no such library")
    return do


def do(job: Any) -> Any:
    """Answer with the job and the process, unless the job is a mishap."""
    if job == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if job == "hang":
        time.sleep(600)
    if job == "exit":
        sys.stderr.write("out of patience\n")
        sys.stderr.flush()
        os._exit(3)
    if job == "raise":
        raise ValueError("not like this")
    if job == "eat":
        eaten = [bytearray(b"x") * (300 << 20)]
        time.sleep(600)
        del eaten
    if job == "noise":
        sys.stdout.write("words that belong nowhere\n")
        sys.stdout.flush()
    return {"job": job, "pid": os.getpid()}
