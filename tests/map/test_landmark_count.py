"""How many landmarks are enough, by one pass with the largest number."""

import datetime

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

from driftmap import DriftMap, InputError
from driftmap.landmarks import RatioShift
from driftmap.map import StreamMap, landmark_count
from driftmap.map.landmark_count import LANDMARK_COUNTS, N_ANCHORS, TRUST_COUNTS, count_landmarks, largest_map
from streams import make


def rows(n=600, d=6, seed=0):
    return make("walk", n, d, seed)


@pytest.mark.parametrize(
    "options", [{}, {"metric": "cityblock", "n_anchors": 50}, {"memory": None}, {"metric": "cosine"}]
)
def test_stresses_are_those_of_maps_with_so_many_landmarks(options):
    """While all points are stored; also where a metric promises nothing, so that all points always are."""
    X, n_anchors = rows(), options.get("n_anchors", N_ANCHORS)
    found = count_landmarks(largest_map(StreamMap(**options)).partial_fit(X))
    options = options | {"n_anchors": n_anchors}
    assert tuple(found.stresses) == LANDMARK_COUNTS
    for m, value in found.stresses.items():
        assert value == pytest.approx(-DriftMap(n_landmarks=m, **options).fit(X).score(X), rel=1e-9)
    enough = [m for m in LANDMARK_COUNTS[:-2] if found.stresses[m] <= 1.02 * found.stresses[4 * m]]
    assert found.n_landmarks == enough[0]


def test_batches_do_not_matter_nor_does_it_that_points_are_merged():
    X = rows(12_000, 2)
    whole, parts = largest_map(StreamMap()), largest_map(StreamMap())
    whole.partial_fit(X)
    for part in np.array_split(X, 7):
        parts.partial_fit(part)
    assert len(whole.stored_indices_) < len(X)
    found = count_landmarks(whole)
    assert count_landmarks(parts) == found
    for m in (10, 80):  # of a sample of representatives
        exact = -DriftMap(n_landmarks=m).fit(X).score(X)
        assert found.stresses[m] == pytest.approx(exact, rel=0.05)


def test_about_twenty_are_enough_for_real_tables():
    tables = {"digits": load_digits().data, "cancer": StandardScaler().fit_transform(load_breast_cancer().data)}
    for X in tables.values():
        assert count_landmarks(largest_map(StreamMap()).partial_fit(X)).n_landmarks in (10, 20)


def test_an_estimator_with_auto_is_that_with_the_number(tmp_path):
    X = rows()
    mapper = DriftMap(n_landmarks="auto").fit(X)
    m = mapper.landmark_count_.n_landmarks
    same = DriftMap(n_landmarks=m).fit(X)
    assert np.array_equal(mapper.transform(X), same.transform(X))
    assert np.array_equal(mapper.partial_fit(X + 9).transform(X), same.partial_fit(X + 9).transform(X))
    assert str(mapper.landmark_count_).startswith(f"{m} landmarks: their stress is within 2% of that of {4 * m} (10: ")
    assert clone(mapper).n_landmarks == "auto"
    mapper.save(tmp_path / "map")
    assert DriftMap.load(tmp_path / "map").n_landmarks == m
    with pytest.raises(ValueError, match="NaN"):
        mapper.fit(X * np.nan)
    assert mapper.landmark_count_.n_landmarks == m
    with pytest.raises(AttributeError, match="was given"):
        _ = mapper.set_params(n_landmarks=50).fit(X).landmark_count_
    small = DriftMap(n_landmarks="auto", memory=16 * m).fit(X)  # less than the largest number needs
    assert len(small.stored_indices_) <= 16 * m


def test_the_largest_number_if_none_is_enough(monkeypatch):
    monkeypatch.setattr(landmark_count, "TOLERANCE", -0.9)
    monkeypatch.setattr(landmark_count, "EXACT", 0.0)
    found = count_landmarks(largest_map(StreamMap()).partial_fit(rows()))
    assert found.n_landmarks == LANDMARK_COUNTS[-1]
    assert "320 landmarks: fewer are not within" in str(found)


def test_few_points_and_equal_points():
    for X in (rows(3), np.ones((50, 3)), rows(500, 1)):  # the last fits exactly, with any number
        assert count_landmarks(largest_map(StreamMap(1)).partial_fit(X)).n_landmarks == 10
    assert tuple(DriftMap(12, n_landmarks="auto").fit(rows(100, 20)).landmark_count_.stresses) == LANDMARK_COUNTS[1:]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"embedding": "isomap"}, "embedding='isomap': it compares maps that keep distances or neighbours: stress, "),
        ({"metric": "precomputed"}, 'metric="precomputed"'),
        ({"window": 100}, "a window or a half_life"),
        ({"half_life": datetime.timedelta(hours=1)}, "a window or a half_life"),
        ({"replace_on": RatioShift()}, "a detector"),
        ({"n_components": 80}, "n_components=80"),
    ],
)
def test_what_does_not_go_with_auto(options, problem):
    with pytest.raises(InputError, match=f'n_landmarks="auto" does not go with {problem}.*give a number'):
        DriftMap(n_landmarks="auto", **options).fit(np.zeros((4, 4)))


def test_a_stream_cannot_choose():
    for learn in ("partial_fit", "update"):
        with pytest.raises(InputError, match='n_landmarks="auto" is decided by all points together: call fit first'):
            getattr(DriftMap(n_landmarks="auto"), learn)(rows())


def test_neighbours_are_compared_where_a_map_keeps_them():
    X = load_digits().data
    largest = largest_map(StreamMap(embedding="tsne")).partial_fit(X)
    assert largest.n_landmarks == TRUST_COUNTS[-1]
    found = count_landmarks(largest)
    assert tuple(found.trusts) == TRUST_COUNTS
    assert not found.stresses
    enough = [m for m in TRUST_COUNTS[:-2] if found.trusts[m] >= found.trusts[4 * m] - 0.005]
    assert found.n_landmarks == enough[0]
    assert found.trusts[10] < found.trusts[40]
    assert str(found).startswith(f"{enough[0]} landmarks: their trustworthiness is within 0.005 of that of ")
    assert DriftMap(n_landmarks="auto", embedding="tsne").fit(X).landmark_count_ == found


def test_too_few_points_to_compare_neighbours():
    mapper = DriftMap(n_landmarks="auto", embedding="tsne").fit(rows(40))
    assert str(mapper.landmark_count_) == "320 landmarks: there are too few points to compare maps of fewer"
    assert np.isfinite(mapper.transform(rows(40))).all()
