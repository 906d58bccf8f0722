"""Damaged checkpoints are refused; made-up ones are refused, or every index in them is valid."""

import contextlib
import copy
import functools
import tempfile
from pathlib import Path

import numpy as np

from driftmap import DriftMap, FrozenMap, InputError
from driftmap.embedding import EMBEDDINGS
from driftmap.landmarks import OnlineLandmarks, RatioShift
from driftmap.storage import checkpoint
from driftmap.storage.checkpoint import CheckpointError
from streams import facts, make
from torture.draws import function, words
from torture.edits import damage, edit_array, edit_tree

X = make("walk", 400, 3, 0)
WORDS = ["".join("abcd"[int(c) % 4] for c in np.abs(row).astype(int)) for row in X]
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
    "function": {"metric": function, "memory": 128},
    "words": {"metric": words},
}
MAPS = ("bounded", "window", "detector", "half-life", "cityblock", "cosine", "function")


@functools.cache
def originals():
    """Of each kind of checkpoint, how it is made."""
    made = {f"landmarks {mode}": functools.partial(OnlineLandmarks, 8, **MODES[mode]) for mode in MODES}
    for mode in MAPS:
        made[f"map {mode}"] = functools.partial(DriftMap, n_landmarks=8, n_anchors=12, **MODES[mode])
    for name in EMBEDDINGS:
        made[f"map {name}"] = functools.partial(DriftMap, n_landmarks=8, n_anchors=12, embedding=name)
    return made | {name.replace("map", "frozen"): made[name] for name in made if name.startswith("map")}


@functools.cache
def saved(name):
    """The class of an estimator and the bytes of its checkpoint."""
    estimator = originals()[name]()
    points = points_of(estimator)
    estimator.partial_fit(points[:250])
    if isinstance(estimator, DriftMap):
        estimator.transform(points[:3])
    estimator.partial_fit(points[250:300])
    found = estimator.freeze() if name.startswith("frozen") else estimator
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "saved.ckpt")
        found.save(path)
        data = path.read_bytes()
        assert not is_refused(type(found), path), "an original is refused"
    return type(found), data


def points_of(estimator):
    return WORDS if estimator.metric is words else X


def run(case):
    path = case.folder / "edited.ckpt"
    name = case.rng.choice(sorted(originals()))
    kind, data = saved(name)
    if case.chance(0.3):
        damaged = damage(data, case.rng)
        path.write_bytes(damaged)
        refused = is_refused(kind, path)
        assert refused == (damaged != data), "damage is not noticed"
    else:
        path.write_bytes(data)
        edit(path, case.rng)
        refused = is_refused(kind, path)
    case.count(edits=1, refused=refused)


def edit(path, rng):
    """Change the contents of a checkpoint, under checksums that are right."""
    original = checkpoint.read(path)
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
        given = [metric for metric in (function, words) if f"metric={metric.__name__}" in str(error)]
        if not given:
            raise
        return kind.load(path, metric=given[0])


def is_refused(kind, path):
    """Whether a file is refused; else it must hold something that goes on."""
    try:
        found = load(kind, path)
    except CheckpointError:
        return True
    if isinstance(found, FrozenMap):
        with contextlib.suppress(InputError):  # another map now: of other features, or so small that rows are too far
            assert np.isfinite(found.transform(X[:20])).all()
        return False
    check(found)
    points = points_of(found)
    try:
        found.partial_fit(points[:40]).partial_fit(points[40:41])
    except (TypeError, ValueError) as error:
        made_up = found.metric is words and isinstance(error, TypeError)  # an object that is no word
        if not made_up and "times" not in str(error):  # the file says that times were given, or that it is later
            raise
        return False
    check(found)
    placed = found.transform(points[:20]) if isinstance(found, DriftMap) else found.distances(points[:20])
    assert np.isfinite(placed).all()
    found.save(path)
    try:
        again = load(kind, path)
    except CheckpointError:  # learning from wrong distances has led to a state that no stream can have
        return False
    assert facts(again) == facts(found)
    return False


def check(found):
    """Every arrival number that an estimator gives exists. Distances may be wrong: they are as the file says."""
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
    assert len(found.events_) <= 10_000
