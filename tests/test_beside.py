"""Compiling on two cores: the other process compiles just what a stream needs, and nothing depends on it."""

import gc
import subprocess
import sys

import pytest

from driftmap._kernels import beside

SCRIPT = """
import numpy as np
from driftmap._kernels import beside
from driftmap._kernels.doors import admit_tight, advance, merge_cells, merge_costs
from driftmap.landmarks import OnlineLandmarks
for dtype in ("float64", "float32"):
    beside.main(dtype)
    assert dtype == "float32" or not advance.signatures
    X = np.cumsum(np.random.default_rng(0).standard_normal((30_000, 3)), axis=0).astype(dtype)
    assert OnlineLandmarks(100).partial_fit(X).resolution_ > 0
print([len(kernel.signatures) for kernel in (admit_tight, merge_costs, merge_cells)])
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


def test_the_other_process_ends_with_this_one(processes, monkeypatch):
    monkeypatch.setattr(beside, "_possible", lambda: True)
    with pytest.raises(KeyboardInterrupt), beside.compiled_beside("float64"):
        assert not gc.isenabled()
        raise KeyboardInterrupt
    assert gc.isenabled()
    assert processes[0].wait(10) != 0


def test_its_work_is_waited_for(processes, monkeypatch):
    monkeypatch.setattr(beside, "_possible", lambda: True)
    with beside.compiled_beside("float64"):
        pass
    assert processes[0].poll() == 0


@pytest.mark.parametrize("executable", ["/nowhere/python", "/usr/bin/env", "", None])
def test_where_there_is_no_other_process_nothing_is_lost(executable, monkeypatch):
    monkeypatch.setattr(sys, "executable", executable)
    done = False
    with beside.compiled_beside("float64"):
        done = True
    assert done
    assert gc.isenabled()
