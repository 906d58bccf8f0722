"""t-SNE, kernel t-SNE and bi-kernel t-SNE of landmarks: formulas, and neighbours that must be kept."""

import numpy as np
import pytest
from benchmarks import sheets
from hypothesis import given
from hypothesis import strategies as st

import naive
from driftmap import DriftMap, quality
from driftmap.embedding import BiKernelTSNE, KernelTSNE, LandmarkTSNE
from driftmap.embedding.affinities import joint_affinities, nearest_affinities, shared_affinities, shares_at
from driftmap.embedding.tsne_fit import attracted, descend
from streams import few

DIGITS = [sheets.digits(seed) for seed in range(4)]


def between(X, Y):
    return np.linalg.norm(X[:, None] - Y, axis=2)


def scores(mapper, stream):
    """Trustworthiness, 1-NN by the labels of landmarks, and leave-one-out 1-NN of new points."""
    Y, L = mapper.transform(stream.new), mapper.landmark_embedding_
    labels, apart = stream.labels[mapper.landmark_indices_], between(Y, Y) + 1e9 * np.eye(len(Y))
    return (
        quality.trustworthiness(stream.new, Y, n_neighbors=12),
        np.mean(labels[between(Y, L).argmin(axis=1)] == stream.truth),
        np.mean(stream.truth[apart.argmin(axis=1)] == stream.truth),
    )


@given(seed=st.integers(0, 10**6), perplexity=st.sampled_from([2.0, 5.0, 12.0]), scale=st.sampled_from([1e-6, 1, 1e6]))
@few
def test_affinities_have_the_perplexity_asked_for(seed, perplexity, scale):
    squared = np.random.default_rng(seed).chisquare(4, (20, 30)) * scale
    shares = shares_at(squared, perplexity)
    np.testing.assert_allclose([naive.perplexity(row) for row in shares], perplexity, rtol=1e-6)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (np.argmax(shares, axis=1) == np.argmin(squared, axis=1)).all()
    near = nearest_affinities(squared, perplexity)
    np.testing.assert_allclose(near.dense(30), shares, atol=0.02)  # the tail has hardly any affinity


def test_equally_near_landmarks_share_equally():
    shares = shares_at(np.array([[1.0] * 8 + [2.0, 50.0], [3.0] * 10, [0.0] * 10]), 5.0)
    np.testing.assert_allclose(shares[0, :8], 0.125, rtol=1e-6)
    np.testing.assert_allclose(shares[1:], 0.1)


def test_landmarks_are_neighbours_by_the_points_near_both():
    W = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.9, 0.1, 0.0]])
    masses = np.array([1.0, 2.0, 1.0])
    T = np.array(
        [[sum(masses[x] * W[x, i] * W[x, j] * (i != j) for x in range(3)) for j in range(3)] for i in range(3)]
    )
    T /= T.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shared_affinities(W, masses), (T + T.T) / (T + T.T).sum())


def test_a_descent_ends_where_the_gradient_vanishes():
    X = np.random.default_rng(0).standard_normal((25, 4))
    P = joint_affinities(between(X, X) ** 2, 6.0)
    start = X[:, :2] * 1e-4
    Y, loss = descend(P, start, 3000)
    assert np.abs(naive.tsne_gradient(P, Y)).max() < 1e-3 * np.abs(naive.tsne_gradient(P, X[:, :2])).max()
    Q = 1 / (1 + between(Y, Y) ** 2) - np.eye(25)
    pairs = ~np.eye(25, dtype=bool)
    assert loss == pytest.approx(np.sum(P[pairs] * np.log(P[pairs] / (Q / Q.sum())[pairs])))
    assert loss < descend(P, start, 20)[1]


def test_a_point_is_drawn_to_a_fixed_point():
    X = np.random.default_rng(0).standard_normal((300, 4))
    tsne = LandmarkTSNE(affinities="landmarks").fit(between(X[:40], X[:40]))
    D = between(X[40:], X[:40])
    p, L, Y = nearest_affinities(D**2, 5.0).dense(40), tsne.coordinates_, tsne.place(D)
    weights = p / (1 + between(Y, L) ** 2)
    moved = np.linalg.norm((weights @ L) / weights.sum(axis=1)[:, None] - Y, axis=1) / np.ptp(L)
    assert np.median(moved) < 1e-6
    assert moved.max() < 0.02


@pytest.mark.parametrize(("name", "limits"), [("tsne", (0.955, 0.96, 0.945)), ("kernel-tsne", (0.945, 0.94, 0.92))])
def test_digits_keep_their_neighbours(name, limits):
    found = [scores(DriftMap(n_landmarks=200, embedding=name).fit(digits.points), digits) for digits in DIGITS]
    assert (np.median(found, axis=0) >= limits).all()
    assert (np.min(found, axis=0) >= np.array(limits) - 0.01).all()


def test_a_map_that_keeps_distances_does_not_keep_neighbours():
    """Else the test above could not fail."""
    trust, by_landmarks, _ = scores(DriftMap(n_landmarks=200).fit(DIGITS[0].points), DIGITS[0])
    assert trust < 0.9
    assert by_landmarks < 0.8


def kept_in_clusters(stream, n_anchors):
    """The share of new points in clusters whose nearest other one on the map is of the same cluster."""
    mapper = DriftMap(n_landmarks=100, embedding=LandmarkTSNE(n_anchors=n_anchors)).fit(stream.points)
    Y = mapper.transform(stream.new[stream.truth >= 0])
    truth, apart = stream.truth[stream.truth >= 0], between(Y, Y) + 1e9 * np.eye(len(Y))
    return np.mean(truth[apart.argmin(axis=1)] == truth), np.mean(stream.labels[mapper.landmark_indices_] < 0)


def test_anchors_keep_clusters_apart_where_most_landmarks_are_outliers():
    stream = sheets.outliers(0, n=2000, new=500)
    (by_anchors, outliers), (by_landmarks, _) = (kept_in_clusters(stream, n_anchors) for n_anchors in (None, 0))
    assert outliers > 0.8
    assert by_anchors > 0.97
    assert by_landmarks < by_anchors - 0.04  # t-SNE's last digits depend on the processor's matrix product


@given(seed=st.integers(0, 10**6), n_anchors=st.sampled_from([None, 45]))
@few
def test_distances_to_anchors_follow_from_those_to_landmarks(seed, n_anchors):
    X = np.random.default_rng(seed).standard_normal((120, 4))
    mapper = DriftMap(n_landmarks=20, embedding=LandmarkTSNE(n_anchors=n_anchors)).fit(X[:90])
    mapper.transform(X[:1])
    tsne = mapper.fitted_embedding_
    ids = tsne.points_.ids
    assert len(ids) == (n_anchors or 40)
    assert (ids[tsne.points_.landmarks] == mapper.landmark_indices_).all()
    D = between(X[90:], mapper.landmarks_)
    np.testing.assert_allclose(tsne._squared(D), between(X[90:], X[ids]) ** 2, atol=1e-9)
    near = nearest_affinities(between(X[90:], X[ids]) ** 2, 5.0)
    np.testing.assert_allclose(tsne.place(D), attracted(near, tsne.layout_.positions), atol=1e-5)
    np.testing.assert_allclose(tsne.for_rows(mapper.landmarks_).place(X[90:]), tsne.place(D), atol=1e-5)


def test_landmarks_only():
    X = np.random.default_rng(0).standard_normal((120, 4))
    for embedding in (LandmarkTSNE(n_anchors=0), LandmarkTSNE(n_anchors=12), KernelTSNE(), BiKernelTSNE()):
        mapper = DriftMap(n_landmarks=20, embedding=embedding).fit(X)
        assert (mapper.fitted_embedding_.points_.ids == mapper.landmark_indices_).all()


def test_forgotten_landmarks_are_points_of_the_map_and_other_forgotten_points_are_not():
    X = np.random.default_rng(0).standard_normal((400, 4))
    mapper = DriftMap(n_landmarks=20, window=60, embedding=LandmarkTSNE(n_anchors=50)).fit(X)
    mapper.transform(X[:1])
    ids = np.setdiff1d(mapper.fitted_embedding_.points_.ids, mapper.landmark_indices_)
    assert len(ids) == 30
    assert ids.min() >= 340


@pytest.mark.parametrize("name", ["tsne", "kernel-tsne", "bikernel-tsne"])
def test_frames_start_from_the_last_one(name):
    digits = DIGITS[0]
    mapper = DriftMap(n_landmarks=100, embedding=name, frame_tolerance=0).partial_fit(digits.points[:300])
    mapper.transform(digits.new[:1])
    for part in np.array_split(digits.points[300:], 8):
        mapper.partial_fit(part).transform(digits.new[:1])
    moved = [change.displacement.median for change in mapper.frames_]
    assert len(moved) == 8
    assert np.median(moved) <= 0.10
    if name != "bikernel-tsne":
        assert scores(mapper, digits)[0] > 0.94


def test_without_a_start_they_would_jump():
    """Else the test above could not fail."""
    digits = DIGITS[0]
    mapper = DriftMap(n_landmarks=100, embedding="tsne", align=False).partial_fit(digits.points[:300])
    mapper.transform(digits.new[:1])
    for part in np.array_split(digits.points[300:], 4):
        mapper.partial_fit(part).transform(digits.new[:1])
    assert np.median([change.displacement.median for change in mapper.frames_]) > 0.15


@given(seed=st.integers(0, 10**6), k=st.integers(1, 3))
@few
def test_kernel_maps_equal_their_formulas(seed, k):
    rng = np.random.default_rng(seed)
    L, X = rng.standard_normal((20, 5)), rng.standard_normal((9, 5))
    D, Dx = between(L, L), between(X, L)
    kernel = KernelTSNE(k, width=0.3).fit(D)
    np.testing.assert_allclose(
        kernel.place(Dx),
        naive.kernel_tsne(D, kernel.layout_.positions, Dx, 0.3),
        atol=1e-6 * np.ptp(kernel.coordinates_),
    )
    bikernel = BiKernelTSNE(k).fit(D)
    landmarks, points = naive.bikernel_tsne(D, bikernel.layout_.positions, Dx, k)
    signs = np.where((landmarks * bikernel.coordinates_).sum(axis=0) < 0, -1.0, 1.0)
    np.testing.assert_allclose(bikernel.coordinates_ * signs, landmarks, atol=1e-6)
    np.testing.assert_allclose(bikernel.place(Dx) * signs, points, atol=1e-6)


def test_bad_parameters():
    X = np.random.default_rng(0).standard_normal((30, 3))
    for embedding, message in (
        (LandmarkTSNE(affinities="x"), "affinities must be one of 'stored', 'landmarks'"),
        (LandmarkTSNE(perplexity=0.5), "perplexity must be at least 1"),
        (LandmarkTSNE(perplexity=30), "n_landmarks must be at least 32 for a perplexity of 30, got 20"),
        (LandmarkTSNE(n_anchors=-1), "n_anchors must be at least 0"),
        (KernelTSNE(width=0.0), "width must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            DriftMap(n_landmarks=20, embedding=embedding).fit(X)
    with pytest.raises(ValueError, match=r"start must have shape \(5, 2\), got \(5, 1\)"):
        LandmarkTSNE().fit(between(X[:5], X[:5]), start=X[:5, :1])


def test_the_loss_is_never_negative():
    """Three points that are all alike have a map without loss, but for rounding."""
    alike = (np.ones((3, 3)) - np.eye(3)) / 6
    losses = [descend(alike, np.random.default_rng(seed).standard_normal((3, 2)), 500)[1] for seed in range(20)]
    assert min(losses) == 0.0
    assert max(losses) < 1e-6
