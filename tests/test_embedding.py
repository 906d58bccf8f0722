"""Landmark MDS against its formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from driftmap.embedding import Embedding, LandmarkMDS, classical_mds


def distances(X, Y):
    return np.linalg.norm(X[:, None] - Y[None], axis=2)


def up_to_signs(A, B):
    signs = np.where((A * B).sum(axis=0) < 0, -1.0, 1.0)
    np.testing.assert_allclose(A, B * signs, rtol=1e-7, atol=1e-9 * np.abs(B).max())


@given(seed=st.integers(0, 2**32 - 1), m=st.integers(10, 30), k=st.integers(1, 3))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_equals_the_formulas(seed, m, k):
    rng = np.random.default_rng(seed)
    scales = 4.0 ** -np.arange(6.0)  # well separated eigenvalues, so that eigenvectors are determined
    X, L = rng.standard_normal((20, 6)) * scales, rng.standard_normal((m, 6)) * scales
    mds = LandmarkMDS(k).fit(distances(L, L))
    coordinates, placed = naive.lmds(distances(L, L), distances(X, L), k)
    up_to_signs(mds.coordinates_, coordinates)
    up_to_signs(mds.place(distances(X, L)), placed)
    assert mds.n_dimensions_ == min(k, m - 1, 6)


def test_landmarks_are_placed_where_they_are():
    L = np.random.default_rng(0).standard_normal((9, 3))
    mds = LandmarkMDS(2).fit(distances(L, L))
    np.testing.assert_allclose(mds.place(distances(L, L)), mds.coordinates_, atol=1e-12)


def test_distances_are_kept_where_there_are_enough_dimensions():
    rng = np.random.default_rng(1)
    X, L = rng.standard_normal((30, 3)), rng.standard_normal((7, 3))
    Y = LandmarkMDS(3).fit(distances(L, L)).place(distances(X, L))
    np.testing.assert_allclose(distances(Y, Y), distances(X, X), atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@given(seed=st.integers(0, 1000), m=st.integers(3, 40), k=st.integers(1, 3), far=st.sampled_from([0.0, 1e6]))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_rows_go_where_their_distances_go(weighted, seed, m, k, far):
    rng = np.random.default_rng(seed)
    L, X = (rng.standard_normal((n, 5)) * [8, 4, 2, 1, 0.5] + far for n in (m, 20))
    mds = LandmarkMDS(k, weighted=weighted).fit(distances(L, L), rng.uniform(1, 9, m))
    placer = mds.for_rows(L)
    Y = placer.place(X)
    np.testing.assert_allclose(Y, mds.place(distances(X, L)), atol=1e-6 if far else 1e-9)
    assert Y.tobytes() == np.concatenate([placer.place(x[None]) for x in X]).tobytes()
    rotation, translation = np.linalg.qr(rng.standard_normal((k, k)))[0], rng.standard_normal(k)
    np.testing.assert_allclose(placer.moved(rotation, translation).place(X), Y @ rotation + translation, atol=1e-9)


@pytest.mark.parametrize(
    ("points", "real"),
    [
        (np.zeros((4, 2)), 0),
        (np.zeros((1, 2)), 0),
        (np.arange(5.0)[:, None] * [1.0, 2.0], 1),
        (np.array([[0.0, 0.0], [1.0, 0.0]]), 1),
        (np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 2),
    ],
)
def test_missing_dimensions_are_zero_and_counted(points, real):
    mds = LandmarkMDS(3).fit(distances(points, points))
    assert mds.n_dimensions_ == real
    assert not mds.coordinates_[:, real:].any()
    assert not mds.place(distances(points, points))[:, real:].any()
    assert np.isfinite(mds.place(distances(points, points))).all()


def test_only_positive_eigenvalues_count():
    """A dissimilarity with no Euclidean picture: a star whose arms are too far apart."""
    D = np.full((4, 4), 2.0)
    D[0, :] = D[:, 0] = 0.5
    np.fill_diagonal(D, 0.0)
    mds = classical_mds(D, 4)
    assert (mds.eigenvalues < -1e-9).any()
    assert mds.n_dimensions == (mds.eigenvalues > 1e-9).sum() == 2


def test_the_protocol_fits():
    assert isinstance(LandmarkMDS(2).fit(np.zeros((1, 1))), Embedding)
