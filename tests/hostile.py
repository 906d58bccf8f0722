"""A program that edits checkpoints and states at random and looks whether they are refused or whole.

    python tests/hostile.py {files,states} N

It says which edit comes next, so that whoever started it knows at which one it crashed or hung.
"""

import copy
import os
import random
import resource
import signal
import sys
import tempfile
import warnings

import numpy as np

import naive
from driftmap import DriftMap
from driftmap._core import Stream
from driftmap.io import checkpoint
from driftmap.io.checkpoint import CheckpointError
from driftmap.landmarks import OnlineLandmarks, RatioShift
from driftmap.landmarks.memory import Memory
from driftmap.landmarks.snapshot import check_state
from streams import facts, make

SECONDS = 60
"""An edit that takes longer hangs."""
MOST_MEMORY = 6 * 2**30

X = make("walk", 400, 3, 0)


def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


# --- edits ------------------------------------------------------------------------------------------------------------

ODD = [
    None,
    True,
    0,
    1,
    -1,
    2,
    7,
    31,
    32,
    127,
    2**31 - 1,
    2**31,
    2**62,
    2**63,
    10**8,
    10**30,
    0.0,
    -0.0,
    0.5,
    -2.5,
    1e-320,
]
ODD += [1e153, 1e160, 1e308, -1e308, "", "nan", "euclidean", "cityblock", "tight", [], {}, [1], {"float": "nan"}]
ODD += [
    {"float": "inf"},
    {"float": "-inf"},
    {"array": "points"},
    {"table": {}},
    {"list": []},
    {"dict": {}},
    {"tuple": [1]},
]
NUMBERS = [0, 1, -1, 2, 3, 100, 10**6, 2**31, 2**40, 2**62, -(2**62), 0.5, -0.5, 1e-300, 1e152, 1e300, -1e300]
NUMBERS += [float("nan"), float("inf"), float("-inf")]


def nodes(tree, path=()):
    """The paths of everything in a tree of dicts and lists."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, part in items:
        yield (*path, key)
        yield from nodes(part, (*path, key))


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def edit_tree(tree, rng):
    paths = list(nodes(tree))
    path = rng.choice(paths)
    parent, value, how = at(tree, path[:-1]), at(tree, path), rng.random()
    if how < 0.1 and isinstance(parent, dict):
        del parent[path[-1]]
    elif how < 0.3:
        parent[path[-1]] = copy.deepcopy(at(tree, rng.choice(paths)))
    elif how < 0.6 and isinstance(value, int | float) and not isinstance(value, bool):
        parent[path[-1]] = rng.choice([value + 1, value - 1, 2 * value, -value, value / 2, float(value)])
    else:
        parent[path[-1]] = rng.choice(ODD)


def put(array, place, value):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            array[place] = value
        except (OverflowError, ValueError):
            array[place] = 1


def edit_array(array, rng):
    array, flat = array.copy(), None
    if array.size == 0 or rng.random() < 0.15:
        return rng.choice(
            [array[:-1], array[1:], array[:0], np.concatenate([array, array[:1]]), array.reshape(-1), array.T.copy(),
             array.astype(np.float32), array.astype(np.int8), array.astype(np.float64), np.zeros((2, 2, 2))]
        )  # fmt: skip
    flat = array.reshape(-1)
    i, j, how = rng.randrange(flat.size), rng.randrange(flat.size), rng.random()
    if how < 0.2:
        flat[i], flat[j] = flat[j], flat[i]
    elif how < 0.4:
        put(flat, i, flat[j])
    elif how < 0.6:
        put(flat, i, float(flat[i]) * rng.choice([2, -1, 0.5, 1.001]) + rng.choice([0, 0, 1, -1, 1e-9]))
    elif how < 0.65:
        put(flat, slice(None), rng.choice(NUMBERS))
    elif how < 0.7:
        np.random.default_rng(i).shuffle(array)
    else:
        put(flat, i, rng.choice(NUMBERS))
    return array


# --- what must hold ---------------------------------------------------------------------------------------------------


def check_estimator(found):
    landmarks, masses, stored = found.landmark_indices_, found.landmark_mass_, found.stored_indices_
    seen = found.n_samples_seen_
    assert 0 < len(landmarks) == len(masses) <= found.n_landmarks
    assert (np.diff(landmarks) > 0).all()
    assert 0 <= landmarks[0] <= landmarks[-1] < seen
    assert (np.diff(stored) > 0).all()
    assert len(stored) == 0 or 0 <= stored[0] <= stored[-1] < seen
    assert not isinstance(found.memory, int) or len(stored) <= found.memory
    assert np.isfinite(masses).all()
    assert (masses >= 0).all()
    assert 0 < found.radius_ < np.inf
    assert 0 <= found.covering_radius_ < np.inf
    assert found.covering_radius_ <= found.radius_ or found.replace_on != "uncovered"
    assert 0 <= found.resolution_ < np.inf
    bound = facts(found)["coverage bound"]
    assert bound is None or found.covering_radius_ <= bound < np.inf
    assert np.isfinite(np.asarray(found.landmarks_)).all()
    assert len(found.events_) <= 10_000


def check_stream(stream, m, memory, metric):
    """The facts that the core relies on, measured again."""
    rows, landmarks = np.flatnonzero(stream.cells() >= 0), stream.landmark_rows()
    points, arrivals, spreads = stream.points(np.arange(stream.n_stored)), stream.arrivals(), stream.spreads()
    assert 0 < len(landmarks) <= m
    assert len(rows) <= (memory or np.inf)
    assert (np.diff(landmarks) > 0).all()
    assert (np.diff(arrivals) > 0).all()
    assert 0 <= arrivals[0] <= arrivals[-1] < stream.seen
    assert np.isfinite(points).all()
    assert np.isfinite(stream.masses()).all()
    assert np.isfinite(spreads).all()
    assert (spreads >= 0).all()
    assert 0 < stream.radius < np.inf
    assert stream.resolution == spreads[rows].max(initial=0.0)
    if len(rows):
        reduced = naive.reduced_distances(points[rows], points[landmarks], metric)
        np.testing.assert_array_equal(stream.cells()[rows], reduced.argmin(axis=1))
        assert stream.covering_radius == naive.true(reduced.min(axis=1).max(), metric)


# --- files ------------------------------------------------------------------------------------------------------------


def taxi(x, y):
    return float(np.abs(x - y).sum())


taxi.obeys_triangle = True
MODES = {
    "all": {"memory": None},
    "paper": {"rule": "paper"},
    "bounded": {"memory": 128},
    "slack": {"memory": 128, "slack": 0.1},
    "window": {"window": 90, "memory": 128},
    "half-life": {"half_life": 40, "memory": 128},
    "detector": {"memory": 128, "replace_on": RatioShift(warm_up=5)},
    "cityblock": {"metric": "cityblock", "memory": 128},
    "scipy": {"metric": "sqeuclidean"},
    "cosine": {"metric": "cosine"},
    "function": {"metric": taxi, "memory": 128},
}


def learnt(name):
    estimators = {f"landmarks {mode}": lambda mode=mode: OnlineLandmarks(8, **MODES[mode]) for mode in MODES}
    for mode in ("bounded", "window", "detector", "half-life", "cosine", "function"):
        estimators[f"map {mode}"] = lambda mode=mode: DriftMap(n_landmarks=8, n_anchors=12, **MODES[mode])
    return {key: make for key, make in estimators.items() if name in ("", key)}


def edit_file(path, original, rng):
    header, arrays = copy.deepcopy(original.header), dict(original.arrays)
    for name in ("format", "version", "library", "members"):
        header.pop(name)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if rng.random() < 0.4 or not arrays:
            edit_tree(header, rng)
        else:
            name = rng.choice(sorted(arrays))
            arrays[name] = edit_array(arrays[name], rng)
    checkpoint.write(path, header, arrays)


def load(kind, path):
    """A checkpoint does not hold a function: it is given again, if the file still asks for it."""
    try:
        return kind.load(path)
    except CheckpointError as error:
        if "metric=taxi" not in str(error):
            raise
        return kind.load(path, metric=taxi)


def try_file(kind, path):
    """Whether a file is refused; else it must hold something that goes on."""
    try:
        found = load(kind, path)
    except CheckpointError:
        return True
    check_estimator(found)
    try:
        found.partial_fit(X[:40]).partial_fit(X[40:41])
    except ValueError as error:
        if "times" not in str(error):  # the file says that times were given, or that it is later
            raise
        return False
    check_estimator(found)
    if isinstance(found, DriftMap):
        assert np.isfinite(found.transform(X[:20])).all()
    else:
        assert np.isfinite(found.distances(X[:20])).all()
    found.save(path)
    again = load(kind, path)
    assert facts(again) == facts(found)
    return False


def try_files(count):
    folder = tempfile.mkdtemp()
    path, originals = os.path.join(folder, "edited.ckpt"), {}
    for name, make_one in learnt("").items():
        estimator = make_one().partial_fit(X[:250])
        if isinstance(estimator, DriftMap):
            estimator.transform(X[:3])
        estimator.partial_fit(X[250:300]).save(path)
        originals[name] = type(estimator), checkpoint.read(path)
        assert not try_file(type(estimator), path), "an original is refused"
    for number in range(count):
        rng = random.Random(number)
        name = rng.choice(sorted(originals))
        say("file", name, number)
        kind, original = originals[name]
        edit_file(path, original, rng)
        signal.alarm(SECONDS)
        yield try_file(kind, path)


# --- states -----------------------------------------------------------------------------------------------------------

STREAMS = {
    "all": {},
    "paper": {"rule": "paper"},
    "bounded": {"memory": 128},
    "slack": {"memory": 128, "slack": 0.1},
    "window": {"window": 90.0, "memory": 128},
    "half-life": {"half_life": 40.0, "memory": 128},
}


def learn(stream, name, first, last):
    """What was learnt first is long ago afterwards."""
    times = np.arange(first, last, dtype=float) + 1e7 * (first >= 300)
    stream.learn(X[first:last], **({"times": times} if name in ("window", "half-life") else {}))


def try_states(count):
    originals = {}
    for name, params in STREAMS.items():
        for metric in ("euclidean", "cityblock"):
            stream = Stream(metric, 3, n_landmarks=8, **params)
            learn(stream, name, 0, 300)
            originals[name, metric] = stream.state()
    for number in range(count):
        rng = random.Random(number)
        name, metric = rng.choice(sorted(originals))
        say("state", name, metric, number)
        state = copy.deepcopy(originals[name, metric])
        for _ in range(rng.choice([1, 1, 2])):
            key = rng.choice(sorted(state))
            value = state[key]
            if isinstance(value, np.ndarray):
                state[key] = edit_array(value, rng)
            else:
                state[key] = type(value)(rng.choice([value + 1, value - 1, 2 * value, -value, 0, 1, 10**6, -1]))
        params = STREAMS[name]
        memory, expiry = params.get("memory"), [params.get(key, np.inf) for key in ("window", "half_life")]
        stream = Stream(metric, 3, n_landmarks=8, **params)
        signal.alarm(SECONDS)
        try:
            check_state(state, 8, Memory(memory, *expiry))
            stream.restore(state)
        except (ValueError, TypeError):
            yield True
            continue
        check_stream(stream, 8, memory, metric)
        if state.get("now", 0.0) <= 1e7:
            for first, last in ((300, 340), (340, 341)):
                learn(stream, name, first, last)
                check_stream(stream, 8, memory, metric)
        yield False


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    warnings.simplefilter("ignore")
    refused = list({"files": try_files, "states": try_states}[sys.argv[1]](int(sys.argv[2])))
    say("done", len(refused), sum(refused))
