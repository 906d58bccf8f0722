"""Core-sets as bytes and files: a merge takes them as it takes the originals, or they are refused."""

import numpy as np
import pytest
import scipy.sparse

from driftmap import DriftMap, OnlineLandmarks
from driftmap.embedding import LandmarkStress
from driftmap.landmarks import CoreSet
from driftmap.storage import checkpoint
from driftmap.storage.checkpoint import CheckpointError
from streams import facts, make

X = make("walk", 900, 3, 0)
WORDS = ["".join("abc"[int(i)] for i in abs(row * 7) % 3) for row in X]


def letters(a, b):
    return float(sum(map(str.__ne__, a, b)))


letters.obeys_triangle = True


class Taxi:
    obeys_triangle = True

    def __call__(self, a, b):
        return float(np.abs(a - b).sum())


TAXI = Taxi()
STRESS = LandmarkStress(2, steadiness=0.1)
SUBJECTS = {
    "landmarks": (OnlineLandmarks(5, memory=80), X, {}),
    "map": (DriftMap(2, n_landmarks=5, memory=100), X, {}),
    "sparse rows": (OnlineLandmarks(5), scipy.sparse.csr_array(np.where(X > 0, X, 0)), {}),
    "a metric of one's own": (OnlineLandmarks(5, metric=TAXI), X[:300], {"metric": TAXI}),
    "words": (OnlineLandmarks(5, metric=letters), WORDS[:300], {"metric": letters}),
    "an embedding": (DriftMap(2, n_landmarks=5, embedding=STRESS), X, {"embedding": STRESS}),
}


def two(name):
    estimator, rows, given = SUBJECTS[name]
    cut = len(rows) // 2 if isinstance(rows, list) else rows.shape[0] // 2
    first, later = (
        type(estimator)(**estimator.get_params(deep=False)).fit(rows[part]) for part in (slice(cut), slice(cut, None))
    )
    return first, later, given


@pytest.mark.parametrize("name", SUBJECTS)
def test_bytes_merge_as_the_original_does(name, tmp_path):
    first, later, given = two(name)
    core, path = later.coreset(), tmp_path / "core"
    core.save(path)
    assert core.to_bytes() == path.read_bytes()
    for other in (CoreSet.load(path, **given), CoreSet.from_bytes(core.to_bytes(), **given)):
        assert facts(first.merge(other)) == facts(first.merge(core))
        assert other.to_bytes() == core.to_bytes()


def test_the_origin_may_be_left_out():
    first, later, _ = two("map")
    core = later.coreset()._replace(origin=None)
    other = CoreSet.from_bytes(core.to_bytes())
    assert other.origin is None
    assert facts(first.merge(other)) == facts(first.merge(core))


def test_what_bytes_cannot_hold_must_be_given_again():
    _, later, given = two("an embedding")
    with pytest.raises(CheckpointError, match=r"made with embedding=LandmarkStress, .* pass embedding=\.\.\."):
        CoreSet.from_bytes(later.coreset().to_bytes())
    with pytest.raises(CheckpointError, match="holds a DriftMap, not a CoreSet"):
        CoreSet.from_bytes(later.to_bytes(), **given)
    with pytest.raises(CheckpointError, match="holds a CoreSet, not a DriftMap"):
        DriftMap.from_bytes(later.coreset().to_bytes())
    with pytest.raises(CheckpointError, match="must be bytes, got str"):
        CoreSet.from_bytes("core")
    with pytest.raises(ValueError, match="part 1 has memory=100"):
        DriftMap(2, n_landmarks=5).fit(X[:50]).merge(CoreSet.from_bytes(two("map")[1].coreset().to_bytes()))


BROKEN = {
    "arrivals that are not in order": lambda h, a: a["arrivals"].__setitem__(3, 0),
    "an arrival that has not come": lambda h, a: h.__setitem__("n_samples_seen", 3),
    "a negative weight": lambda h, a: a["weights"].__setitem__(3, -1.0),
    "a spread that is no number": lambda h, a: a["spreads"].__setitem__(3, np.nan),
    "fewer points": lambda h, a: a.__setitem__("points", a["points"][:5]),
    "no points": lambda h, a: h.__setitem__("points", None),
    "no parameters": lambda h, a: h.pop("params"),
    "weights of another type": lambda h, a: a.__setitem__("weights", a["weights"].astype(np.float32)),
    "no kind of origin": lambda h, a: h.__setitem__("origin", {"names": []}),
}


@pytest.mark.parametrize("what", BROKEN)
def test_made_up_core_sets_are_refused(what):
    found = checkpoint.from_bytes(two("landmarks")[1].coreset().to_bytes())
    header, arrays = dict(found.header), {name: array.copy() for name, array in found.arrays.items()}
    BROKEN[what](header, arrays)
    with pytest.raises(CheckpointError, match="the checkpoint does not hold a usable CoreSet"):
        CoreSet.from_bytes(checkpoint.to_bytes(header, arrays))


def test_damaged_bytes_are_refused():
    blob = two("landmarks")[1].coreset().to_bytes()
    for bad in (blob[:-1], blob[:100], b"", blob[:500] + bytes([blob[500] ^ 1]) + blob[501:]):
        with pytest.raises(CheckpointError, match=r"checkpoint is (damaged|empty|not a)"):
            CoreSet.from_bytes(bad)
