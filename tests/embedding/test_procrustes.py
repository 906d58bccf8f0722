"""Alignment of frames against the definition: no rotation, reflection or shift does better."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftmap.embedding import move, procrustes


def misfit(new, old, weights, rotation, translation):
    """The weighted sum of squared distances between corresponding rows, written out."""
    total = 0.0
    for x, y, w in zip(new, old, weights, strict=True):
        total += w * np.sum((x @ rotation + translation - y) ** 2)
    return total


def random_rotation(rng, k):
    return np.linalg.qr(rng.standard_normal((k, k)))[0]


@given(seed=st.integers(0, 10_000), n=st.integers(1, 30), k=st.integers(1, 4))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_nothing_fits_better(seed, n, k):
    rng = np.random.default_rng(seed)
    new, old, weights = rng.standard_normal((n, k)), rng.standard_normal((n, k)), rng.uniform(0, 3, n)
    rotation, translation = procrustes(new, old, weights)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(k), atol=1e-12)
    least = misfit(new, old, weights, rotation, translation)
    nearby = [np.linalg.qr(rotation + 0.05 * rng.standard_normal((k, k)))[0] for _ in range(10)]
    nearby = [Q * np.sign(np.sum(Q * rotation, axis=0)) for Q in nearby]  # qr may mirror columns
    for other in [random_rotation(rng, k) for _ in range(20)] + nearby:
        shift = np.average(old - new @ other, axis=0, weights=weights)
        assert least <= misfit(new, old, weights, other, shift) * (1 + 1e-9) + 1e-12
        assert least <= misfit(new, old, weights, rotation, translation + 0.1 * rng.standard_normal(k))


@given(seed=st.integers(0, 10_000), n=st.integers(4, 30), k=st.integers(1, 4))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_a_turned_mirrored_and_shifted_map_is_brought_back(seed, n, k):
    rng = np.random.default_rng(seed)
    old, turn, shift = rng.standard_normal((n + k, k)), random_rotation(rng, k), rng.standard_normal(k) * 10
    rotation, translation = procrustes(old @ turn + shift, old, rng.uniform(0.1, 1, n + k))
    np.testing.assert_allclose(rotation, turn.T, atol=1e-9)
    np.testing.assert_allclose(move(old @ turn + shift, rotation, translation), old, atol=1e-9)


def test_nothing_is_scaled():
    old = np.random.default_rng(0).standard_normal((20, 2))
    rotation, _ = procrustes(3.0 * old, old)
    np.testing.assert_allclose(rotation, np.eye(2), atol=1e-12)


def test_a_point_without_weight_plays_no_part():
    rng = np.random.default_rng(1)
    new, old = rng.standard_normal((10, 3)), rng.standard_normal((10, 3))
    weights = np.ones(10)
    weights[4] = 0.0
    expected = procrustes(np.delete(new, 4, axis=0), np.delete(old, 4, axis=0))
    for ours, theirs in zip(procrustes(new, old, weights), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_a_weight_counts_as_so_many_points():
    rng = np.random.default_rng(2)
    new, old, counts = rng.standard_normal((8, 2)), rng.standard_normal((8, 2)), rng.integers(1, 5, 8)
    expected = procrustes(np.repeat(new, counts, axis=0), np.repeat(old, counts, axis=0))
    for ours, theirs in zip(procrustes(new, old, counts), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_what_the_points_do_not_fix_stays_as_it_is(k):
    rng = np.random.default_rng(3)
    point = rng.standard_normal((1, k))
    for new, old in (
        (np.empty((0, k)), np.empty((0, k))),
        (point, point + 2.0),
        (np.repeat(point, 5, axis=0), np.repeat(point, 5, axis=0) - 1.0),
        (rng.standard_normal((6, k)), np.ones((6, k))),
        (np.ones((6, k)), rng.standard_normal((6, k))),
    ):
        rotation, translation = procrustes(new, old)
        np.testing.assert_allclose(rotation, np.eye(k), atol=1e-12)
        if len(new):
            np.testing.assert_allclose(translation, old.mean(axis=0) - new.mean(axis=0), atol=1e-12)


def test_points_in_a_line_are_turned_onto_it_and_no_further():
    """A map that had one dimension so far and now gets a second: the first may be mirrored, the second is kept."""
    old = np.column_stack([np.arange(5.0), np.zeros(5), np.zeros(5)])
    for new in (-old, old):
        rotation, _ = procrustes(new, old)
        np.testing.assert_allclose(rotation, np.diag([np.sign(new[1, 0]), 1.0, 1.0]), atol=1e-12)
    upright = old[:, [1, 0, 2]]
    rotation, translation = procrustes(upright, old)
    np.testing.assert_allclose(move(upright, rotation, translation), old, atol=1e-12)
    np.testing.assert_allclose(rotation[2], [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)


def test_the_same_points_give_the_same_bits():
    rng = np.random.default_rng(4)
    new, old, weights = rng.standard_normal((50, 3)), rng.standard_normal((50, 3)), rng.uniform(0, 1, 50)
    first, second = procrustes(new, old, weights), procrustes(new.copy(), old.copy(), weights.copy())
    assert all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))


@given(seed=st.integers(0, 1000), rows=st.integers(1, 50), k=st.integers(1, 4))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_a_row_is_moved_as_it_is_alone(seed, rows, k):
    rng = np.random.default_rng(seed)
    Y, rotation, translation = rng.standard_normal((rows, k)), random_rotation(rng, k), rng.standard_normal(k)
    moved = move(Y, rotation, translation)
    np.testing.assert_allclose(moved, Y @ rotation + translation, atol=1e-12)
    assert moved.tobytes() == np.concatenate([move(row[None], rotation, translation) for row in Y]).tobytes()


def test_input_is_checked():
    with pytest.raises(ValueError, match="same shape"):
        procrustes(np.zeros((3, 2)), np.zeros((4, 2)))
    for weights in (np.ones(2), -np.ones(3), np.full(3, np.nan)):
        with pytest.raises(ValueError, match="weights"):
            procrustes(np.zeros((3, 2)), np.zeros((3, 2)), weights)
