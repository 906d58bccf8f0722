"""Compiling on two cores: the other process compiles just what a stream needs, and nothing depends on it."""

import gc
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from driftmap.landmarks import OnlineLandmarks, beside, euclidean

SCRIPT = """
import numpy as np
from driftmap.landmarks import beside
from driftmap._kernels.doors import admit_tight, advance, is_ready, merge_cells, merge_costs
from driftmap.landmarks import OnlineLandmarks
for dtype in ("float64", "float32"):
    beside.main(dtype, 100, 3)
    assert dtype == "float32" or not is_ready(advance)
    X = np.cumsum(np.random.default_rng(0).standard_normal((30_000, 3)), axis=0).astype(dtype)
    assert OnlineLandmarks(100).partial_fit(X).resolution_ > 0
print([len(getattr(kernel, "doors", None) or kernel.signatures) for kernel in (admit_tight, merge_costs, merge_cells)])
"""


def test_the_other_process_compiles_what_a_stream_needs():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.stdout == "[2, 2, 2]\n", done.stderr


@pytest.fixture
def processes(monkeypatch):
    """The processes that are started."""
    started, start = [], subprocess.Popen
    monkeypatch.setattr(
        beside.subprocess, "Popen", lambda *args, **how: started.append(start(*args, **how)) or started[-1]
    )
    return started


@pytest.fixture
def busy(processes, monkeypatch):
    """The processes that are started; they are at work for a minute."""
    monkeypatch.setattr(beside, "_possible", lambda: True)
    start = subprocess.Popen
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(beside.subprocess, "Popen", lambda *args, **how: start(command, **how))
    return processes


def test_the_other_process_ends_with_this_one(busy):
    with pytest.raises(KeyboardInterrupt), beside.compiled_beside("float64", 100, 3):
        assert not gc.isenabled()
        raise KeyboardInterrupt
    assert gc.isenabled()
    assert busy[0].wait(10) == -signal.SIGKILL


def test_what_has_to_be_there_is_waited_for(busy, monkeypatch):
    found = iter([False, False, True])
    monkeypatch.setattr(beside.doors, "is_kept_by_now", lambda kernel: kernel is beside.doors.advance or next(found))
    with beside.compiled_beside("float64", 100, 3):
        pass
    assert next(found, None) is None
    assert beside.is_busy()  # with what nobody waits for
    busy[0].kill()
    busy[0].wait()
    assert not beside.is_busy()


def test_a_process_that_ends_early_is_not_waited_for(processes, monkeypatch):
    monkeypatch.setattr(beside, "_possible", lambda: True)
    monkeypatch.setattr(beside.doors, "is_kept_by_now", lambda kernel: kernel is beside.doors.advance)
    with beside.compiled_beside("nonsense", 100, 3):
        pass
    assert processes[0].returncode == 1


def test_where_nothing_can_be_kept_nobody_waits(busy, monkeypatch):
    monkeypatch.setattr(beside.doors, "is_kept_by_now", lambda kernel: False)
    with beside.compiled_beside("float64", 100, 3):
        pass
    assert busy[0].returncode == -signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of the end of another")
def test_the_other_process_ends_even_if_this_one_is_killed():
    code = (
        "import subprocess, sys, time; other = subprocess.Popen([sys.executable, '-c', sys.argv[1]], stdout=-1);"
        "other.stdout.readline(); print(other.pid, flush=True); time.sleep(60)"
    )
    child = "from driftmap.landmarks.beside import _end_with_parent as f; f(); print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code, child], stdin=-1, stdout=-1) as parent:
        pid = int(parent.stdout.readline())
        parent.kill()
    for _ in range(100):
        if not is_alive(pid):
            return
        time.sleep(0.1)
    raise AssertionError("the child is still there")


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_while_scanning_is_compiled_elsewhere_nothing_changes(monkeypatch):
    """A stream that is calm, then not, so that blocks are scanned as soon as that is possible."""
    X = np.random.default_rng(0).standard_normal((60_000, 16)).astype("f4").astype("f8")
    X[50_000:] += np.linspace(0, 100, 10_000)[:, None]
    expected = OnlineLandmarks(30).partial_fit(X)
    busy = iter([True] * 3 + [False] * 1000)
    monkeypatch.setattr(euclidean, "is_busy", lambda: next(busy))
    landmarks = OnlineLandmarks(30).partial_fit(X[:1])
    landmarks._learner.waits = True
    landmarks.partial_fit(X[1:])
    assert not landmarks._learner.waits
    assert landmarks.landmark_indices_.tolist() == expected.landmark_indices_.tolist()
    assert landmarks.landmark_mass_.tolist() == expected.landmark_mass_.tolist()
    assert landmarks.radius_ == expected.radius_


@pytest.mark.parametrize("executable", ["/nowhere/python", "/usr/bin/env", "", None])
def test_where_there_is_no_other_process_nothing_is_lost(executable, monkeypatch):
    monkeypatch.setattr(sys, "executable", executable)
    done = False
    with beside.compiled_beside("float64", 100, 3):
        done = True
    assert done
    assert gc.isenabled()
