"""Made-up states of the core are refused, or their indices are valid: no file stands between them and the memory."""

import copy
import functools

import numpy as np

from driftmap._core import Stream
from streams import make
from torture.edits import edit_array

X = make("walk", 400, 3, 0)
M = 8
MODES = {
    "all": {},
    "paper": {"rule": "paper"},
    "bounded": {"memory": 128},
    "slack": {"memory": 128, "slack": 0.1},
    "window": {"window": 90.0, "memory": 128},
    "half-life": {"half_life": 40.0, "memory": 128},
}
METRICS = ("euclidean", "cityblock")


@functools.cache
def learnt(mode, metric):
    stream = Stream(metric, X.shape[1], n_landmarks=M, **MODES[mode])
    learn(stream, mode, 0, 300)
    return stream.state()


def learn(stream, mode, first, last):
    """What was learnt first is long ago afterwards."""
    times = np.arange(first, last, dtype=float) + 1e7 * (first >= 300)
    stream.learn(X[first:last], **({"times": times} if mode in ("window", "half-life") else {}))


def run(case):
    rng = case.rng
    mode, metric = rng.choice(sorted(MODES)), rng.choice(METRICS)
    state = copy.deepcopy(learnt(mode, metric))
    for _ in range(rng.choice([1, 1, 2])):
        key = rng.choice(sorted(state))
        value = state[key]
        if isinstance(value, np.ndarray):
            state[key] = edit_array(value, rng)
        else:
            state[key] = type(value)(rng.choice([value + 1, value - 1, 2 * value, -value, 0, 1, 10**6, -1]))
    stream = Stream(metric, X.shape[1], n_landmarks=M, **MODES[mode])
    case.count(edits=1)
    try:
        stream.restore(state)
    except (ValueError, TypeError):
        case.count(refused=1)
        return
    check(stream, MODES[mode].get("memory"))
    if state.get("now", 0.0) <= 1e7:
        for first, last in ((300, 340), (340, 341)):
            learn(stream, mode, first, last)
            check(stream, MODES[mode].get("memory"))


def check(stream, memory):
    """Every number names something that exists. Distances may be wrong: they are as the state says."""
    rows, landmarks, cells = np.flatnonzero(stream.masses() > 0), stream.landmark_rows(), stream.cells()
    points, arrivals, spreads = stream.points(np.arange(stream.n_stored)), stream.arrivals(), stream.spreads()
    assert 0 < len(landmarks) <= M
    assert len(rows) <= (memory or np.inf)
    assert ((landmarks >= 0) & (landmarks < stream.n_stored)).all()
    assert ((cells[rows] >= 0) & (cells[rows] < len(landmarks))).all()
    assert (np.diff(arrivals) > 0).all()
    assert 0 <= arrivals[0] <= arrivals[-1] < stream.seen
    assert np.isfinite(points).all()
    assert np.isfinite(stream.masses()).all()
    assert np.isfinite(spreads).all()
    assert (spreads >= 0).all()
    assert 0 <= stream.radius < np.inf
    assert stream.resolution == spreads[rows].max(initial=0.0)
