"""The paper's other scenarios and the offline yardstick."""

import numpy as np
import pytest
from hypothesis import given

import naive
from driftmap.landmarks import (
    FarthestFirstLandmarks,
    InitialLandmarks,
    OnlineLandmarks,
    RandomLandmarks,
    RandomOnlineLandmarks,
)
from driftmap.landmarks.farthest_first import MEASURED_CELLS, farthest_first
from streams import many, streams

ALL = [InitialLandmarks, RandomLandmarks, RandomOnlineLandmarks, FarthestFirstLandmarks]


def make_selector(kind, m, **parameters):
    return kind(m, **parameters, **({"random_state": 0} if "Random" in kind.__name__ else {}))


@pytest.mark.parametrize("kind", ALL)
@given(stream=streams())
@many
def test_masses_and_covering_radius_are_those_of_the_landmarks(kind, stream):
    X, m = stream
    selector = make_selector(kind, m).fit(X)
    ids = selector.landmark_indices_
    D = naive.squared_distance_matrix(X)[:, ids]
    assert len(ids) <= m
    assert selector.landmark_mass_.tolist() == np.bincount(D.argmin(axis=1), minlength=len(ids)).tolist()
    assert selector.covering_radius_ == selector.radius_ == np.sqrt(D.min(axis=1).max())
    assert selector.n_samples_seen_ == len(X)
    np.testing.assert_array_equal(selector.landmarks_, X[ids])


@given(stream=streams())
@many
def test_farthest_first_equals_the_oracle(stream):
    X, m = stream
    expected = naive.farthest_first(X, m, naive.squared_euclidean)
    assert FarthestFirstLandmarks(m).fit(X).landmark_indices_.tolist() == sorted(expected)


@pytest.mark.parametrize("width", [1, 40, 2**19, 2**30])
def test_farthest_first_measures_few_numbers_in_one_call(width):
    """The store copies the points that it measures: 10,000 rows of 39,916 columns are 3 GB."""
    points, calls = np.random.default_rng(0).random(30_000), []

    def distances(rows, columns):
        calls.append(len(rows))
        return abs(points[rows, None] - points[columns])

    ids = np.arange(len(points) if width < 1000 else 50)
    found = farthest_first(distances, ids, 5, width)
    assert max(calls) * width <= max(MEASURED_CELLS, width)
    assert sum(calls) == 5 * len(ids)
    expected = farthest_first(lambda rows, columns: abs(points[rows, None] - points[columns]), ids, 5)
    assert (found[0].tolist(), found[1]) == (expected[0].tolist(), expected[1])


def test_random_landmarks_are_uniform_over_everything_seen():
    X = np.arange(40.0)[:, None]
    counts = np.zeros(40)
    for seed in range(2000):
        counts[RandomLandmarks(10, random_state=seed).fit(X).landmark_indices_] += 1
    # each point with probability 1/4: binomial, standard deviation 19; the largest of 40 deviations stays below 4 of it
    assert np.abs(counts - 500).max() < 4 * np.sqrt(2000 * 0.25 * 0.75)


def test_random_online_landmarks_come_with_probability_one_half_and_leave_uniformly():
    X = np.arange(20_000.0)[:, None]
    selector = RandomOnlineLandmarks(10, random_state=0).fit(X)
    assert abs(selector.n_replacements_ - 9995) < 4 * np.sqrt(20_000 / 4)
    ages = [event.arrival - event.left for event in selector.events_ if event.kind == "replaced"]
    assert abs(np.mean(ages) - 20) < 1  # leaves with probability 0.5 / 10 at each arrival


def test_the_tight_rule_is_close_to_the_offline_yardstick_on_the_s_curve():
    from driftmap.datasets import s_curve_stream

    X = s_curve_stream()
    tight = OnlineLandmarks(100).fit(X).covering_radius_
    paper = OnlineLandmarks(100, rule="paper").fit(X).covering_radius_
    offline = FarthestFirstLandmarks(100).fit(X).covering_radius_
    assert (round(tight, 3), round(paper, 3), round(offline, 3)) == (0.326, 0.536, 0.334)


def test_a_selector_that_cannot_begin_has_seen_nothing():
    selector = RandomLandmarks(3, random_state="one")
    with pytest.raises(ValueError, match="seed"):
        selector.partial_fit([[0.0], [1.0]])
    assert not selector.__sklearn_is_fitted__()
    assert selector.set_params(random_state=1).partial_fit([[0.0], [1.0]]).n_samples_seen_ == 2
