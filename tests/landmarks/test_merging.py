"""Merged streams: one pass, to the bit, while everything fits into memory; beyond, promises about every point."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import naive
from checks import CHECKS, Subject, contracts
from driftmap import DriftMap, OnlineLandmarks
from driftmap.landmarks import RatioShift
from streams import facts, make, some, streams

KINDS = ("stationary", "walk", "line", "grid", "duplicates", "jumps", "tails", "regimes", "spiral")


def parts_of(X, cuts):
    return [part for part in np.split(X, sorted(cuts)) if len(part)]


def merged(X, cuts, m, **params):
    first, *later = [OnlineLandmarks(m, **params).fit(part) for part in parts_of(X, cuts)]
    return first.merge(*later)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@given(stream=streams(kinds=KINDS, longest=60), cuts=st.lists(st.integers(1, 59), max_size=4))
@some
def test_while_all_points_are_stored_a_merge_is_one_pass(metric, stream, cuts):
    X, m = stream
    both = merged(X, cuts, m, metric=metric)
    single = OnlineLandmarks(m, metric=metric).fit(X)
    assert facts(both) == facts(single)
    assert both.stored_indices_.tolist() == single.stored_indices_.tolist()
    more = make("walk", 30, X.shape[1], 5)
    assert facts(both.partial_fit(more)) == facts(single.partial_fit(more))  # it goes on as the single pass


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@given(stream=streams(kinds=KINDS, longest=400), cuts=st.lists(st.integers(1, 399), max_size=4))
@some
def test_beyond_the_memory_the_promises_hold(metric, stream, cuts):
    X, _ = stream
    both = merged(X, cuts, 3, metric=metric, memory=48)
    assert len(both.landmark_indices_) <= 3
    assert len(both.stored_indices_) <= 48
    assert both.n_samples_seen_ == both.landmark_mass_.sum() == len(X)
    assert both.distances(X).min(axis=1).max() <= both.coverage_bound_
    at = naive.distances(X, both.stored_points(both.stored_indices_), metric)
    assert (at[both.stored_indices_, np.arange(at.shape[1])] == 0).all()  # arrivals are numbered through all parts
    assert at.min(axis=1).max() <= both.resolution_ * (1 + 1e-9)
    again = merged(X, cuts, 3, metric=metric, memory=48)
    assert facts(again) == facts(both)


def test_parts_stay_as_they_are_and_the_merged_one_learns_and_saves(tmp_path):
    X = make("walk", 900, 3, 0)
    parts = [OnlineLandmarks(5, memory=80).fit(part) for part in np.split(X, 3)]
    before = [facts(part) for part in parts]
    both = parts[0].merge(*parts[1:])
    assert [facts(part) for part in parts] == before
    both.save(tmp_path / "merged.ckpt")
    loaded = OnlineLandmarks.load(tmp_path / "merged.ckpt")
    more = make("walk", 200, 3, 1)
    assert facts(loaded.partial_fit(more)) == facts(both.partial_fit(more))


@pytest.mark.parametrize("d", [3, 16])
def test_of_later_streams_their_core_sets_are_enough(d):
    X = make("walk", 1200, d, 0)
    parts = [OnlineLandmarks(5, memory=80).fit(part) for part in np.split(X, 3)]
    coresets = [part.coreset() for part in parts]
    assert facts(parts[0].merge(*coresets[1:])) == facts(parts[0].merge(*parts[1:]))
    for part, coreset in zip(parts, coresets, strict=True):
        assert coreset.weights.sum() == part.n_samples_seen_ == coreset.n_samples_seen == 400
        assert coreset.arrivals.tolist() == part.stored_indices_.tolist()
        size = len(pickle.dumps(coreset._replace(origin=None), protocol=5))
        assert size <= len(coreset.arrivals) * (8 * d + 24) + 1000


def test_maps_and_objects():
    X = make("walk", 600, 3, 0)
    maps = [DriftMap(n_landmarks=20, n_jobs=jobs).fit(part) for part, jobs in zip(np.split(X, 2), (1, 2), strict=True)]
    both, single = maps[0].merge(maps[1]), DriftMap(n_landmarks=20).fit(X)
    assert np.array_equal(both.transform(X), single.transform(X))
    assert both.frame_ == 1

    def mismatches(a, b):
        return sum(map(str.__ne__, a, b)) + abs(len(a) - len(b))

    first, second = (DriftMap(n_landmarks=20, frame_tolerance=None).fit(part) for part in np.split(X, 2))
    kept = first.transform(X)
    assert np.array_equal(first.merge(second).transform(X), kept)  # the frame of the map merged into

    mismatches.obeys_triangle = True
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abc"), rng.integers(1, 9))) for _ in range(300)]
    halves = [OnlineLandmarks(4, metric=mismatches, memory=64).fit(part) for part in (words[:150], words[150:])]
    both = halves[0].merge(halves[1])
    assert both.distances(words).min(axis=1).max() <= both.coverage_bound_
    assert [words[i] for i in both.landmark_indices_] == both.landmarks_


def test_sparse_rows():
    rows = scipy.sparse.random_array((300, 20), density=0.2, format="csr", random_state=0)
    first, *later = (OnlineLandmarks(5).fit(rows[i : i + 100]) for i in range(0, 300, 100))
    assert facts(first.merge(*later)) == facts(OnlineLandmarks(5).fit(rows))


X = make("walk", 100, 3, 0)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"window": 10}, "window=10 cannot be merged"),
        ({"half_life": 10}, "half_life=10 cannot be merged"),
        ({"replace_on": RatioShift()}, "replace_on=.* cannot be merged"),
        ({"rule": "paper"}, "rule='paper' cannot be merged"),
        ({"memory": None}, "memory=None stores every point"),
        ({"metric": "cosine"}, "metric='cosine' cannot be merged.*normalise the rows"),
    ],
)
def test_what_cannot_be_merged_is_refused(params, match):
    part = OnlineLandmarks(3, **params).fit(X)
    with pytest.raises(ValueError, match=match):
        part.merge(part)


def test_other_parts_are_refused():
    part = OnlineLandmarks(3).fit(X)
    with pytest.raises(ValueError, match=r"part 2 has slack=0\.5, but the first one has slack=0\.02"):
        part.merge(part, OnlineLandmarks(3, slack=0.5).fit(X))
    with pytest.raises(ValueError, match="part 1 has 2 features, but the first one has 3"):
        part.merge(OnlineLandmarks(3).fit(X[:, :2]))
    with pytest.raises(TypeError, match="part 1 is a DriftMap"):
        part.merge(DriftMap(n_landmarks=3).fit(X))
    D = np.linalg.norm(X[:, None] - X, axis=2)
    precomputed = OnlineLandmarks(3, metric="precomputed").fit(D)
    with pytest.raises(ValueError, match="metric='precomputed' cannot be merged"):
        precomputed.merge(precomputed)
    with pytest.raises(ValueError, match="part 1 has n_components=1"):
        DriftMap(n_landmarks=3).fit(X).merge(DriftMap(1, n_landmarks=3).fit(X))


def merged_halves(kind, **params):
    """A merged estimator, which has thinned what it stores, with further points to come."""
    first, *later = (kind(**params).fit(part) for part in np.split(make("walk", 600, 3, 9), 3))
    return first.merge(*later)


FROM_THE_START = ("fit_forgets", "nothing_is_known_before", "dtypes")
"""What is promised of estimators that have seen nothing yet."""
MERGED = {
    "landmarks": Subject(lambda: merged_halves(OnlineLandmarks, n_landmarks=9, memory=144), bounded=True),
    "map": Subject(lambda: merged_halves(DriftMap, n_landmarks=9, memory=144), bounded=True),
}
AFTER_A_MERGE = [check for check in CHECKS if not check.__name__.removeprefix("check_").startswith(FROM_THE_START)]


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize(("check", "subject"), contracts(MERGED, AFTER_A_MERGE))
def test_what_every_estimator_promises_holds_after_a_merge(check, subject, tmp_path):
    check(subject, tmp_path)
