"""On a real cluster: the same bits whatever happens to workers; one error, and then nothing runs; whole files only."""

import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed", reason="distributed is not installed")

import dask
import pyarrow as pa
import pyarrow.parquet as pq
from dask.delayed import delayed
from distributed import Client

from clusters import N_BLOCKS, SETTINGS, block, cluster, fatal, killing, make_merging_fatal, stream, wait_until
from driftmap import DriftMap, FrozenMap
from driftmap import dask as on_dask
from driftmap.cli import main
from driftmap.dask import blocks
from streams import facts

pytestmark = pytest.mark.filterwarnings("default")  # what dask warns of is not ours
OPTIONS = {"partitions_per_leaf": 3, "fan_in": 2}
ROWS_OF_A_FILE = 3000
KILLS = int(os.environ.get("DRIFTMAP_KILLS", "0"))
"""In the long variant, how many workers die at random moments."""


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


def test_the_same_bits_when_a_worker_is_killed_while_it_merges(client, expected, tmp_path):
    client.run(make_merging_fatal, str(tmp_path / "killed"))
    assert result(stream()) == expected
    assert (tmp_path / "killed").exists()


def test_functions_travel(client):
    def distance(x, y):
        return float(np.abs(x - y).max())

    distance.obeys_triangle = True
    blocks = [delayed(part) for part in np.split(block(0), 5)]
    mapper = DriftMap(n_landmarks=4, memory=64, metric=distance)
    fitted = on_dask.fit(mapper, blocks, partitions_per_leaf=1)
    with dask.config.set(scheduler="synchronous"):
        assert facts(fitted) == facts(on_dask.fit(mapper, blocks, partitions_per_leaf=1))


@pytest.mark.skipif(not KILLS, reason="DRIFTMAP_KILLS=10 kills ten workers at random moments")
def test_the_same_bits_when_workers_are_killed_at_random(expected, files, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "LEAF_ROWS", ROWS_OF_A_FILE)
    rng, n_killed = random.Random(os.environ.get("DRIFTMAP_SEED", "0")), 0
    with cluster(2) as client:
        assert embed(files, client.scheduler.address, tmp_path / "expected") == 0
        for attempt in itertools.count():
            with killing(client, rng, KILLS - n_killed) as killed:
                assert result(stream(seconds=0.05)) == expected
                out = tmp_path / str(attempt)
                assert embed(files, client.scheduler.address, out) == 0
                assert contents(out) == contents(tmp_path / "expected")
            n_killed += len(killed)
            if n_killed >= KILLS:
                break


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


# --- the command line ---


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Eight files of a walk, as a pattern."""
    folder = tmp_path_factory.mktemp("data")
    walk = np.cumsum(np.random.default_rng(0).standard_normal((8 * ROWS_OF_A_FILE, 3)), axis=0)
    for i, X in enumerate(np.split(walk, 8)):
        names = [f"row {j}" for j in range(len(X))]
        pq.write_table(pa.table(dict(zip("abc", X.T, strict=True)) | {"name": names}), folder / f"day {i}.parquet")
    return str(folder / "*.parquet")


def embed(files, address, out, *words):
    with dask.config.set(SETTINGS):
        return main(["cluster", files, "--scheduler", address, "-o", str(out), "--landmarks", "10", *words])


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_command_writes_a_file_for_each_partition(client, files, tmp_path, capsys):
    options = ["--label", "name", "--certify", "--json"]
    assert embed(files, client.scheduler.address, tmp_path / "out", *options) == 0
    out, err = capsys.readouterr()
    summary = json.loads(out)
    assert (
        err.splitlines()[-1]
        == f"driftmap: {files}: mapped {summary['rows']:,} rows, 10 landmarks; wrote {tmp_path / 'out'}"
    )
    frozen = FrozenMap.load(tmp_path / "out" / "_map.ckpt")
    rows = 0
    for i in range(8):
        source, found = (pq.read_table(place / f"day {i}.parquet") for place in (Path(files).parent, tmp_path / "out"))
        assert found.column_names == ["name", "x1", "x2"]
        assert found["name"] == source["name"]
        X = np.column_stack([source[name] for name in "abc"])
        assert np.array_equal(np.column_stack([found["x1"], found["x2"]]), frozen.transform(X))
        assert frozen.distances(X).min(axis=1).max() <= summary["certified_radius"]
        rows += len(X)
    assert summary["rows"] == frozen.n_samples_seen_ == frozen.landmark_mass_.sum() == rows
    assert summary["certified_radius"] == frozen.covering_radius_ <= summary["coverage_bound"]
    assert (summary["files"], summary["leaves"]) == (8, 1)
    assert sorted(contents(tmp_path / "out")) == ["_map.ckpt", *(f"day {i}.parquet" for i in range(8))]


def test_the_same_files_when_a_worker_is_killed_and_none_is_ever_half_written(client, files, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "LEAF_ROWS", ROWS_OF_A_FILE)
    assert embed(files, client.scheduler.address, tmp_path / "expected") == 0
    pids, done = [*client.run(os.getpid).values()][:1], threading.Event()

    def kill(event):
        if event[1][0] == "mapping" and pids:
            os.kill(pids.pop(), signal.SIGKILL)

    def watch():
        while not done.wait(0.002):
            for path in tmp_path.glob("out/*.parquet"):
                sizes.add(pq.read_metadata(path).num_rows)

    sizes = set()
    watcher = threading.Thread(target=watch)
    client.subscribe_topic("driftmap", kill)
    watcher.start()
    assert embed(files, client.scheduler.address, tmp_path / "out") == 0
    done.set()
    watcher.join()
    client.unsubscribe_topic("driftmap")
    assert sizes == {ROWS_OF_A_FILE}
    assert contents(tmp_path / "out") == contents(tmp_path / "expected")


def test_a_cluster_of_this_machine(files, tmp_path, capsys):
    assert embed(files, "local", tmp_path / "out", "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 8 * ROWS_OF_A_FILE


def test_bad_files_are_one_line(client, files, tmp_path, capsys):
    for name, column in (("a", [1.0, 2.0, 3.0]), ("b", [1.0, np.nan, 3.0])):
        pq.write_table(pa.table({"x": column, "y": [0.0, 1.0, 2.0]}), tmp_path / f"{name}.parquet")
    assert embed(str(tmp_path), client.scheduler.address, tmp_path / "out") == 2
    assert "b.parquet, row 2, column 'x' is NaN" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    pq.write_table(pa.table({"x": ["text"], "y": [0.0]}), tmp_path / "b.parquet")
    assert embed(str(tmp_path), client.scheduler.address, tmp_path / "out") == 2
    assert "b.parquet" in capsys.readouterr().err


@contextlib.contextmanager
def scheduler(port, file):
    """A scheduler without workers: what it is given would wait for ever."""
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--no-dashboard", "--scheduler-file", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(file.exists)
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("restarted", [False, True])
def test_a_scheduler_that_is_lost_or_restarted_is_one_error(restarted, tmp_path):
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(scheduler(0, tmp_path / "first.json"))
        client = stack.enter_context(Client(scheduler_file=str(tmp_path / "first.json"), timeout=60))
        port = client.scheduler.address.rsplit(":", 1)[1]

        def strike():
            first.kill()
            first.wait()
            if restarted:
                stack.enter_context(scheduler(port, tmp_path / "second.json"))

        striking = threading.Timer(0.5, strike)
        striking.start()
        with pytest.raises(on_dask.ClusterLostError, match="was lost or restarted"):
            on_dask.fit(new(), [delayed(np.eye)(6)] * 20, **OPTIONS)
        striking.join()
