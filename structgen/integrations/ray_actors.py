"""Shares independent jobs out among actors of Ray, for `compile --ray` and the benchmarks' `--ray`.

Ray places the actors on the machines of its cluster and starts those anew that die. `ray.init` is
the caller's, or Ray's own, which goes by RAY_ADDRESS.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from structgen.util.versions import warn_of_host

Job = TypeVar("Job")


def share_out(
    kind: type, arguments: Iterable[Any], jobs: Iterable[Job], actors: int | None = None
) -> Iterator[tuple[Job, Any]]:
    """Each job with what `do` of an actor made of it, as they are finished.

    kind: the class of the actors, made with `arguments`, which travel once to each machine.
    actors: how many at most, each with a core (default: one for each core of the cluster). A job
    whose actor died, or whose machine did, comes with the `RayError` that says so; what `do` itself
    raises is raised.
    """
    import ray

    warn_of_host("ray", ray.__version__)
    if not ray.is_initialized():
        ray.init()
    cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
    most = min(cores, actors or cores)
    shared = [ray.put(argument) for argument in arguments]
    actor_class = ray.remote(num_cpus=1, max_restarts=-1)(kind)
    idle: list[Any] = []
    started = 0
    busy: dict[Any, tuple[Any, Job]] = {}  # by the reference of the result
    todo = iter(jobs)
    while True:
        while idle or started < most:
            job = next(todo, _END)
            if job is _END:
                break
            if not idle:
                idle.append(actor_class.remote(*shared))
                started += 1
            actor = idle.pop()
            busy[actor.do.remote(job)] = (actor, job)
        if not busy:
            return
        [finished], _ = ray.wait([*busy], num_returns=1)
        actor, done = busy.pop(finished)
        idle.append(actor)
        try:
            result = ray.get(finished)
        except ray.exceptions.RayTaskError:
            raise
        except ray.exceptions.RayError as error:
            result = error
        yield done, result


_END: Any = object()
