"""structgen's server as an application of Ray Serve: replicas, routes and scaling are Ray's.

serve run structgen.server.ray_app:app model=./my-model replicas=2
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from structgen.errors import ArgumentError
from structgen.util.versions import warn_of_host

#: What `app` takes, each as text, as the command line of Ray Serve has it.
DEFAULTS = {"model": "demo", "name": "", "replicas": "1", "rows": "64", "gpus": "0", "dtype": ""}


def app(args: Mapping[str, str]) -> Any:
    """The application (a `ray.serve.Application`): each replica has a model, and the whole API.

    args: model (a path or name that every machine can load, or "demo"), name (what clients call
    it), replicas, rows (texts at a time in each), gpus (of each), dtype. ArgumentError for others.
    """
    import ray
    from ray import serve

    warn_of_host("ray", ray.__version__)
    unknown = sorted(set(args) - set(DEFAULTS))
    if unknown:
        raise ArgumentError(f"there is no argument {unknown[0]!r}", expected=", ".join(DEFAULTS))
    given = {**DEFAULTS, **args}
    rows = int(given["rows"])

    def server() -> Any:  # on the machine of the replica
        return _server(given["model"], given["name"], rows, given["dtype"])

    class StructgenServer:
        """One replica."""

    deployment = serve.deployment(serve.ingress(server)(StructgenServer))
    return deployment.options(
        name="structgen",
        num_replicas=int(given["replicas"]),
        max_ongoing_requests=4 * rows,  # those that wait for a row share the next passes
        ray_actor_options={"num_gpus": float(given["gpus"])},
    ).bind()


def _server(model: str, name: str, rows: int, dtype: str) -> Any:
    """The ASGI application with a model loaded."""
    from structgen import demo
    from structgen.generation.generator import Generator
    from structgen.server.app import create_app
    from structgen.server.settings import ServerSettings

    where = str(demo.model_path()) if model == "demo" else model
    generator = Generator(where, dtype=dtype or None)
    return create_app(generator, ServerSettings(model_name=name or model, rows=rows))
