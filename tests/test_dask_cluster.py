"""On a real cluster: the same bits whatever happens to workers; one error, and then nothing runs; whole files only."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

pytest.importorskip("distributed", reason="distributed is not installed")

import dask
from dask.delayed import delayed
from distributed import Client

from clusters import N_BLOCKS, block, cluster, fatal, stream, wait_until
from driftmap import DriftMap
from driftmap import dask as on_dask
from streams import facts

pytestmark = pytest.mark.filterwarnings("default")  # what dask warns of is not ours
OPTIONS = {"partitions_per_leaf": 3, "fan_in": 2}


def new():
    return DriftMap(n_landmarks=8, memory=128)


def result(blocks):
    """Everything that a fit says, and where it places all rows."""
    mapper = on_dask.fit(new(), blocks, **OPTIONS)
    places = np.concatenate(dask.compute(*on_dask.transform(mapper, blocks)))
    return facts(mapper), places.tobytes()


@pytest.fixture(scope="module")
def expected():
    with dask.config.set(scheduler="synchronous"):
        return result(stream())


@pytest.fixture(scope="module")
def client():
    with cluster(1) as client:
        yield client


def test_the_same_bits_with_1_2_and_4_workers(client, expected):
    for n_workers in (1, 2, 4):
        client.cluster.scale(n_workers)
        client.wait_for_workers(n_workers, timeout=60)
        assert result(stream()) == expected


def test_the_same_bits_when_workers_retire_meanwhile(client, expected):
    address = next(iter(client.scheduler_info(n_workers=-1)["workers"]))
    threading.Timer(0.3, client.retire_workers, [[address]]).start()
    assert result(stream(seconds=0.05)) == expected


def test_the_same_bits_when_a_worker_is_killed(client, expected, tmp_path):
    blocks = stream()
    blocks[10] = delayed(fatal)(10, str(tmp_path / "killed"))
    assert result(blocks) == expected
    assert (tmp_path / "killed").exists()


def test_a_bad_partition_is_one_error_and_then_nothing_runs(client, tmp_path):
    blocks = stream(seconds=0.2, seen=str(tmp_path))
    bad = block(4)
    bad[17, 2] = np.nan
    blocks[4] = delayed(bad)
    with pytest.raises(on_dask.PartitionError, match="partition 4, row 17, column 2 is NaN"):
        on_dask.fit(new(), blocks, **OPTIONS)
    wait_until(lambda: not any(client.processing().values()))
    assert len(os.listdir(tmp_path)) < N_BLOCKS - 1  # the others were not learnt


def test_the_same_bits_when_everything_is_spilled(expected):
    settings = {"distributed.worker.memory.target": 1e-9, "distributed.worker.memory.spill": False}
    with dask.config.set(settings), cluster(1, memory_limit="4GB") as client:
        assert result(stream()) == expected
        (spilled,) = client.run(lambda dask_worker: sum(dask_worker.data.cumulative_metrics.values())).values()
    assert spilled > 0


def test_a_scheduler_that_is_lost_is_one_error(tmp_path):
    file = tmp_path / "scheduler.json"
    command = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    scheduler = subprocess.Popen(
        [sys.executable, *command, "--scheduler-file", str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(file.exists)
        with Client(scheduler_file=str(file), timeout=60):  # there are no workers: it would wait for ever
            threading.Timer(0.5, scheduler.kill).start()
            with pytest.raises(on_dask.ClusterLostError, match="was lost or restarted"):
                on_dask.fit(new(), [delayed(np.eye)(6)] * 20, **OPTIONS)
    finally:
        scheduler.kill()
        scheduler.wait()
