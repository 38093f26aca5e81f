"""Fills a spec for each row of a file on a cluster, by Ray Data: each actor has a model of its own.

Ray reads the rows, starts the actors, hands out batches, tries again what failed with its machine,
and writes the files. `ray.init` is the caller's, or Ray's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from structgen.compose.base import from_json, to_json
from structgen.integrations.mapping.rows import Template, Work, answers, check_ending
from structgen.util.versions import warn_of_host

#: Columns that are added: the text, why it ended, or what kept it from being written.
COLUMNS = ("text", "finish_reason", "error")


class Share(NamedTuple):
    """What a run takes of a cluster.

    actors: at most so many, each with a core and `gpus` GPUs. key: a column that tells rows apart;
    with it a run that was stopped goes on where it was, by Ray's checkpoints.
    """

    actors: int = 1
    gpus: float = 0
    key: str | None = None


def fill_on_ray(
    model: str,
    work: Work,
    source: Path,
    out: Path,
    share: Share = Share(),  # noqa: B008  it is a tuple
) -> tuple[int, int]:
    """Write the rows with COLUMNS as Parquet files to the folder `out`; (rows, rows that failed).

    model: a path or name that every machine of the cluster can load. Checkpoints are kept in a
    folder beside `out`.
    """
    import ray
    import ray.data

    warn_of_host("ray", ray.__version__)
    check_ending(source)
    readers = {
        ".jsonl": ray.data.read_json,
        ".csv": ray.data.read_csv,
        ".parquet": ray.data.read_parquet,
    }
    if share.key is not None:
        context = ray.data.DataContext.get_current()
        context.checkpoint_config = ray.data.checkpoint.CheckpointConfig(
            id_column=share.key,
            checkpoint_path=str(out.absolute().with_name(f"{out.name}.checkpoint")),
        )
    given = {
        "model": model,
        "spec": json.dumps(to_json(work.spec)),
        "prompt": work.template.text,
        "settings": dict(work.settings),
    }
    rows = readers[source.suffix](str(source.absolute())).map_batches(
        Filler,
        fn_constructor_kwargs=given,
        batch_size=work.batch,
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=share.actors),
        num_cpus=1,
        num_gpus=share.gpus or None,
    )
    rows.write_parquet(str(out.absolute()))
    written = ray.data.read_parquet(str(out.absolute()), columns=["error"])
    total = written.count()
    return total, total - written.filter(_is_fine).count()


def _is_fine(row: Mapping[str, Any]) -> bool:
    return row["error"] is None


class Filler:
    """An actor: loads the model once, then adds COLUMNS to batches of rows."""

    def __init__(self, model: str, spec: str, prompt: str, settings: Mapping[str, Any]) -> None:
        import structgen

        self._generator = structgen.Generator(model)
        self._work = Work(from_json(json.loads(spec)), Template(prompt), settings)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A batch is columns by name, arrays of the same length."""
        import numpy as np

        names = list(batch)
        rows = [
            dict(zip(names, values, strict=True))
            for values in zip(*(batch[name].tolist() for name in names), strict=True)
        ]
        found = answers(self._generator, self._work, rows)
        added = {name: np.array([getattr(one, name) for one in found], object) for name in COLUMNS}
        return batch | added
