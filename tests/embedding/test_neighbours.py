"""Neighbour lists against their definition, whatever has come and gone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive
from driftmap.embedding import NeighbourLists, nearest_neighbours
from streams import few


def taxi(X):
    return np.abs(X[:, None] - X).sum(axis=2)


@given(seed=st.integers(0, 10**6), k=st.integers(1, 5), side=st.sampled_from([3, 6, 1000]))
@few
def test_lists_are_those_of_the_stored_points_whatever_has_come_and_gone(seed, k, side):
    rng = np.random.default_rng(seed)
    D = taxi(rng.integers(0, side, (50, 2)).astype(float))  # on a small grid many distances are equal, or 0
    lists, ids, first = NeighbourLists.empty(k), np.empty(0, np.int64), 0
    while first < len(D):
        last = first + int(rng.integers(1, 12))
        ids = np.append(ids, np.arange(first, min(last, len(D))))
        ids, first = ids[rng.random(len(ids)) > rng.choice([0.0, 0.1, 0.4])], last
        lists = lists.updated(ids, lambda rows, columns: D[np.ix_(rows, columns)])
        rows, lengths = lists.nearest()
        assert np.where(rows < 0, -1, ids[rows] if len(ids) else -1).tolist() == naive.nearest_neighbours(D, ids, k)
        there = rows >= 0
        expected = np.where(there, D[ids[:, None], ids[rows]], np.inf) if len(ids) else lengths
        np.testing.assert_array_equal(lengths, expected)


def test_only_new_points_are_measured():
    rng = np.random.default_rng(0)
    D = taxi(rng.standard_normal((300, 3)))
    measured = []

    def measure(rows, columns):
        measured.append(len(rows))
        return D[np.ix_(rows, columns)]

    lists = NeighbourLists.empty(5).updated(np.arange(200), measure)
    measured.clear()
    again = lists.updated(np.arange(200), measure)
    assert again is lists
    assert not measured
    lists.updated(np.arange(203), measure)
    assert sum(measured) == 3
    measured.clear()
    lists.updated(np.append(np.arange(2, 200), 200), measure)  # two have gone: lists that lost one are long enough
    assert sum(measured) == 1


def test_neighbours_of_a_matrix():
    D = taxi(np.random.default_rng(1).integers(0, 4, (20, 2)).astype(float))
    assert nearest_neighbours(D, 4)[0].tolist() == naive.nearest_neighbours(D, range(20), 4)
