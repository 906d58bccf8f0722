"""Algorithm 1, the bounds on its result, and the notions of domination."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from driftmap.landmarks import (
    greedy_dominating_set,
    greedy_size_bound,
    is_dominating,
    private_points,
    radius_for_budget,
)
from streams import many, streams


@given(stream=streams(), radius=st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0, 5.0]))
@many
def test_greedy_equals_the_oracle_and_its_bound_holds(stream, radius):
    X, _ = stream
    graph = naive.radius_graph(np.sqrt(naive.squared_distance_matrix(X)), radius)
    chosen = greedy_dominating_set(X, radius)
    assert chosen.tolist() == naive.greedy_dominating_set(graph)
    assert is_dominating(X, chosen, radius)
    n_edges = sum(map(len, graph)) // 2
    assert len(chosen) <= greedy_size_bound(len(X), n_edges)


@given(stream=streams())
@many
def test_the_budget_radius_keeps_the_greedy_set_within_the_budget(stream):
    X, m = stream
    radius = radius_for_budget(X, m)
    assert len(np.unique(greedy_dominating_set(X, radius))) <= m
    D = naive.squared_distance_matrix(X)
    n, needed = len(X), -(-((len(X) - m + 1) ** 2 - 1) // 2)
    pairs = np.sort(D[np.tril_indices(n, -1)])
    if m < n and needed > 0:
        assert radius == np.sqrt(pairs[min(needed, len(pairs)) - 1])  # and no smaller one has that many pairs
    else:
        assert radius == 0.0


@given(stream=streams(), radius=st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0, 5.0]))
@many
def test_private_points_and_domination_equal_the_oracle(stream, radius):
    X, m = stream
    graph = naive.radius_graph(np.sqrt(naive.squared_distance_matrix(X)), radius)
    landmarks = list(range(0, len(X), max(1, len(X) // m)))
    private = private_points(X, landmarks, radius)
    assert {z: set(points.tolist()) for z, points in private.items()} == {
        z: naive.only_by(z, landmarks, graph) for z in landmarks
    }
    covered = set(landmarks).union(*(graph[z] for z in landmarks))
    assert is_dominating(X, landmarks, radius) == (len(covered) == len(X))


def test_other_metrics():
    X = ["a", "ab", "abc", "xyz"]

    def size(a, b):
        return abs(len(a) - len(b))

    assert greedy_dominating_set(X, 1.0, metric=size).tolist() == [1]
    assert greedy_dominating_set(np.eye(3), 1.0, metric="manhattan").tolist() == [0, 1, 2]


def test_mistakes_are_named():
    X = [[0.0], [1.0]]
    with pytest.raises(ValueError, match="radius must be a number and not negative"):
        greedy_dominating_set(X, -1.0)
    with pytest.raises(ValueError, match="landmarks must be numbers of points, 0 to 1"):
        is_dominating(X, [2], 1.0)
    with pytest.raises(ValueError, match="n_landmarks must be at least 1"):
        radius_for_budget(X, 0)
