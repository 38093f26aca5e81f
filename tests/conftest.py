"""Fixtures and hypothesis profiles that every test shares, chosen by the environment.

STRUCTGEN_DATA names the folder with outside data (test suites, tokenizers); tests that need it
skip where it is absent.
STRUCTGEN_THOROUGH=1 lets hypothesis draw many more, random, examples.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

if not any(map(os.path.exists, ("/dev/nvidiactl", "/dev/kfd"))):
    # Triton reads this when it is first imported; without a GPU its kernels then run on the CPU.
    os.environ.setdefault("TRITON_INTERPRET", "1")

if "PYTEST_XDIST_WORKER" in os.environ:  # one of several processes: a thread each is enough
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# Not sooner: numpy reads what was set.
from structgen.kernels.build.decorators import interpreted

REPOSITORY = Path(__file__).resolve().parent.parent

settings.register_profile(
    "quick",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=12 if interpreted() else 30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=2000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("thorough" if os.environ.get("STRUCTGEN_THOROUGH") else "quick")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with outside data; skips the test, saying why, where there is none."""
    named = os.environ.get("STRUCTGEN_DATA")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no outside data at {folder} (set STRUCTGEN_DATA)")
    return folder


@pytest.fixture
def ray_cluster() -> Iterator[None]:
    """A cluster of two nodes on this machine, each with a core."""
    pytest.importorskip("ray")
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False, "object_store_memory": 10**8},
    )
    cluster.add_node(num_cpus=1, object_store_memory=10**8)
    environment = {"env_vars": {"PYTHONPATH": str(REPOSITORY)}}
    ray.init(address=cluster.address, runtime_env=environment, log_to_driver=False)
    try:
        yield
    finally:
        ray.shutdown()
        cluster.shutdown()
