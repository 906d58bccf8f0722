"""What is refused in one line: bombs, damaged recordings, edited run checkpoints, and what gave tracebacks."""

import contextlib
import copy
import gzip
import io
import os
import random
import threading
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import naive
from driftmap import DriftMap
from driftmap.cli import main
from driftmap.landmarks import OnlineLandmarks
from driftmap.landmarks.online import LandmarkEngine
from driftmap.live.recording import Replay
from driftmap.map import StreamMap
from driftmap.sources import files
from driftmap.storage import checkpoint
from driftmap.tables import blocks, csv
from driftmap.tables.delay import DelayEmbedding
from driftmap.tables.missing import FillMissing
from driftmap.tables.scaling import RunningScale, Scaling
from driftmap.utils.errors import InputError
from torture import recordings, runs

X = np.random.default_rng(0).random((40, 3))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*words):
    """The one line of a command that fails."""
    err = io.StringIO()
    with contextlib.redirect_stderr(err):
        assert main([*words, "-o", "o.csv"]) == 2
    (line,) = err.getvalue().splitlines()
    assert line.startswith("driftmap: error: ")
    assert not os.path.exists("o.csv")
    return line


def write_npy(name, shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())


# --- bombs ---


@pytest.mark.parametrize(
    "shape", ["(0, 1000000000)", f"(0, {10**30})", "(True, True)", f"({10**30}, 0)", "(0, 3)", "(-1, 3)"]
)
def test_the_shape_of_an_npy_file_is_checked_before_memory_is_asked_for(folder, shape):
    write_npy("t.npy", shape)
    assert shape in refused("embed", "t.npy")


def test_blank_lines_are_limited(folder, monkeypatch):
    monkeypatch.setattr(blocks, "LONGEST_ROW", 1000)
    monkeypatch.setattr(files, "READ_BYTES", 100)
    for name, head in (("a.csv.gz", b""), ("b.csv.gz", b"a,b\n1,2\n"), ("c.jsonl.gz", b"")):
        folder.joinpath(name).write_bytes(gzip.compress(head + b"\n" * 5000))
        assert "begins more than 1,000 bytes of blank lines" in refused("embed", name)


@pytest.mark.parametrize("wide", [0, 1, 2], ids=["first", "second", "third"])
def test_cells_of_a_row_are_counted_before_arrow_sees_them(folder, monkeypatch, wide):
    monkeypatch.setattr(csv, "MOST_CELLS_OF_ROW", 50)
    seen = []
    arrow_memory = csv.arrow_memory
    monkeypatch.setattr(csv, "arrow_memory", lambda data: seen.append(data) or arrow_memory(data))
    lines = ["a,b", "1,2", "3,5", "4,4"]
    lines[wide] = ",".join(["1"] * 60)
    folder.joinpath("t.csv").write_text("\n".join(lines) + "\n")
    assert "60" in refused("embed", "t.csv")
    if wide == 0:
        assert not seen


# --- tracebacks ---


@pytest.mark.parametrize("option", ["--columns", "--exclude"])
def test_a_line_feed_in_a_list_of_names_is_named(folder, option):
    assert option in refused("embed", "t.csv", option, "a\nb")


@pytest.mark.parametrize("cells", [[[]] * 20, [None] * 20, [None, []] * 10])
@pytest.mark.parametrize("more", [[], ["--online"], ["--columns", "v"]])
def test_a_parquet_file_of_empty_lists_has_no_features(folder, cells, more):
    pq.write_table(pa.table({"v": pa.array(cells, pa.list_(pa.float64()))}), "t.parquet")
    assert "'v' (empty)" in refused("embed", "t.parquet", *more)


@pytest.mark.parametrize(
    ("times", "problem"),
    [
        (pa.array([0] * 20, pa.timestamp("us", tz="No/Where")), "the zone 'No/Where'"),
        (pa.array([2**60] * 20, pa.timestamp("us")), "beyond the range"),
        (pa.array([2**30] * 20, pa.date32()), "beyond the range"),
        (pa.array([2**62] * 20, pa.duration("s")), "beyond the range"),
    ],
)
def test_times_that_python_cannot_hold_are_named(folder, times, problem):
    x = np.arange(20.0)
    pq.write_table(pa.table({"x": x, "y": x * x % 5, "t": times}), "t.parquet")
    line = refused("embed", "t.parquet", "--label", "t")
    assert "column 't'" in line
    assert problem in line


class Locked:
    """A metric that notes, whenever it is copied, whether another thread could take a lock."""

    def __init__(self):
        self.lock, self.free = None, []

    def __call__(self, x, y):
        return float(np.abs(x - y).sum())

    def __deepcopy__(self, memo):
        if self.lock is not None:
            probe = threading.Thread(target=lambda: self.free.append(self.lock.acquire(blocking=False)))
            probe.start()
            probe.join()
        return self


@pytest.mark.parametrize("kind", [StreamMap, LandmarkEngine])
def test_a_deep_copy_holds_the_lock(kind):
    metric = Locked()
    engine = kind(n_landmarks=5, metric=metric).partial_fit(X)
    metric.lock = engine.lock
    twin = copy.deepcopy(engine)
    assert metric.free
    assert not any(metric.free)
    assert twin.lock is not engine.lock
    twin.partial_fit(X[:3])
    assert engine.n_samples_seen_ == len(X)


@pytest.mark.parametrize("slack", [1.1e9, 1e200])
def test_a_slack_that_no_checkpoint_could_hold_is_refused(slack):
    with pytest.raises(InputError, match=r"^slack must be at most 1e\+09"):
        OnlineLandmarks(5, slack=slack).partial_fit(X)


@pytest.mark.parametrize("kind", [DriftMap, OnlineLandmarks])
def test_a_metric_cannot_write_into_stored_points(kind):
    def scribble(x, y):
        distance = float(np.abs(x - y).sum())
        x *= 0
        return distance

    rows = X.copy()
    with pytest.raises(ValueError, match="read-only"):
        kind(n_landmarks=5, metric=scribble).partial_fit(rows)
    np.testing.assert_array_equal(rows, X)


# --- bounds, to the last bit ---


def test_bounds_hold_for_true_distances():
    for seed in range(60):
        rows = np.random.default_rng(seed).standard_normal((30, 3))
        found = OnlineLandmarks(4).partial_fit(rows)
        covering = max(min(naive.exact_square(row, mark) for mark in found.landmarks_) for row in rows)
        assert covering <= Fraction(found.coverage_bound_) ** 2


def test_the_lower_bound_is_at_most_the_best_radius():
    for h in np.random.default_rng(0).random(200).tolist():
        points = np.array([[0.0], [h], [2 * h]])
        found = OnlineLandmarks(1).partial_fit(points)
        assert Fraction(found.radius_lower_bound_) <= max(abs(Fraction(p) - Fraction(h)) for p in points[:, 0].tolist())


# --- recordings ---


def test_edited_recordings_are_refused_or_played(tmp_path):
    class Case:
        folder, rng = tmp_path, random.Random(0)

        def chance(self, share):
            return self.rng.random() < share

        def count(self, **found):
            total.append(found["refused"])

    total = []
    for _ in range(300):
        recordings.run(Case())
    assert 0 < sum(total) < len(total)


@pytest.mark.parametrize("capacity", [0, -1, 2**31, True, 1.5, None])
def test_the_capacity_of_a_recording_is_checked_before_memory_is_asked_for(tmp_path, capacity):
    path = tmp_path / "r.dmr"
    path.write_bytes(recordings.bomb(capacity))
    with pytest.raises(InputError, match="message 1 is damaged: its header"):
        Replay(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
def test_a_fifo_is_no_recording(tmp_path):
    os.mkfifo(tmp_path / "r.dmr")
    with pytest.raises(InputError, match="is not a file"):
        Replay(tmp_path / "r.dmr")


# --- run checkpoints ---


def edited(save, name, change):
    """What a command says of a run whose checkpoint was changed by hand; its files must stay as they are."""
    folder, before, _ = runs.interrupted(name, save)
    for path in folder.iterdir():
        if path.name not in before:
            path.unlink()
    for file, content in before.items():
        if not file.startswith("t."):
            (folder / file).write_bytes(content)
    found = checkpoint.read(folder / "c.ckpt")
    header = {
        key: value for key, value in found.header.items() if key not in ("format", "version", "library", "members")
    }
    arrays = dict(found.arrays)
    change(header, arrays)
    checkpoint.write(folder / "c.ckpt", header, arrays)
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    code, _, err = runs.call(folder, *runs.COMMANDS[name], *runs.KEPT, "--resume")
    assert code == 2, err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == kept
    return err.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "path", "value", "problem"),
    [
        ("online", ("run", "position", 0), 7, "position is after 7 rows"),
        ("online", ("run", "position", 2), {"id": "0-1"}, "not one in a file"),
        ("online", ("run", "stage"), "learned", "run.stage is 'learned'"),
        ("online", ("run", "rows"), {"mapping": 3}, "run.rows"),
        ("online", ("operator", "n_rows"), -1, "operator.n_rows is -1"),
        ("novelty", ("operator", "detector"), 0.5, "operator.detector"),
        ("novelty", ("operator", "detector", 2), 10**6, "contradicts itself"),
        ("novelty", ("operator", "detector", 0), 0.9, "is not one of"),
    ],
)
def test_a_run_checkpoint_that_contradicts_itself_is_refused(name, path, value, problem):
    def change(header, arrays):
        part = header
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value

    assert problem in edited(8, name, change)


@pytest.mark.parametrize("name", ["online", "delay", "last", "drop"])
def test_arrays_of_steps_are_checked(name):
    def change(header, arrays):
        own = next(key for key in sorted(arrays) if key.startswith("operator.steps.") and arrays[key].ndim)
        arrays[own] = np.zeros((2, 2, 2))

    assert "is damaged: its" in edited(8, name, change)


@pytest.mark.parametrize(
    "step", [FillMissing("last"), FillMissing("drop"), DelayEmbedding(3), RunningScale("minmax", 5)]
)
def test_a_step_refuses_the_state_of_other_columns(step):
    step(X[:10])
    state = step.state()
    step.restore(state, 3)
    with pytest.raises(ValueError, match=r"of shape|holds"):
        step.restore(state, 4)
    for name, array in state.items():
        with pytest.raises(ValueError, match=r"^its "):
            step.restore(state | {name: array.astype(np.float32)})
    with pytest.raises(ValueError, match="the arrays"):
        step.restore({**state, "more": np.zeros(3)})


def test_a_scaling_by_zero_is_refused():
    with pytest.raises(ValueError, match="not positive"):
        Scaling.of({"shift": np.zeros(2), "scale": np.array([1.0, 0.0])})
