"""Learning and mapping on a cluster whose workers are killed at random moments give the same bits."""

import os
from pathlib import Path

import dask
import numpy as np

from clusters import cluster, killing, stream
from driftmap import DriftMap
from driftmap import dask as on_dask
from driftmap.dask.blocks import parquet_files
from streams import facts
from torture.processes import write_input


def run(case):
    rng = case.rng
    mapper = DriftMap(n_landmarks=rng.randint(3, 12), memory=rng.choice([200, 1000, "auto"]))
    options = {"partitions_per_leaf": rng.randint(1, 5), "fan_in": rng.randint(2, 4)}
    write_input(case, rng.randint(1000, 20_000), "parquet")
    parts = parquet_files([case.folder / "t.parquet"])

    def everything(target):
        fitted = on_dask.fit(mapper, stream(seconds=0.01), **options)
        places = np.concatenate(dask.compute(*on_dask.transform(fitted, stream())))
        frozen = on_dask.fit(mapper, parts).freeze()
        on_dask.embed(frozen, parts, target, ["x1", "x2"], certify=False)
        return facts(fitted), places.tobytes(), {path.name: path.read_bytes() for path in target.iterdir()}

    for name in ("alone", "killed"):
        (case.folder / name).mkdir()
    with dask.config.set(scheduler="synchronous"):
        expected = everything(case.folder / "alone")
    with cluster(2) as client, killing(client, rng, rng.randint(1, 4)) as killed:
        found = everything(case.folder / "killed")
    case.count(streams=1, kills=len(killed))
    assert found == expected, "another result than without a cluster"
    assert all(os.path.getsize(path) for path in Path(case.folder, "killed").iterdir())
