"""t-SNE, kernel t-SNE and bi-kernel t-SNE: formulas, neighbours that must be kept, and points that must not pile up."""

import copy
import pickle

import numpy as np
import pytest
from benchmarks import sheets
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

import naive
from driftmap import DriftMap, InputError, quality
from driftmap.embedding import Anchors, BiKernelTSNE, KernelTSNE, LandmarkTSNE
from driftmap.embedding.affinities import divergences, joint_affinities, nearest_affinities, shares_at
from driftmap.embedding.tsne_fit import descend, loss_of
from driftmap.embedding.tsne_placer import PERPLEXITY, TsnePlacer
from streams import few

DIGITS = [sheets.digits(seed) for seed in range(2)]


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


# --- formulas ---


@given(seed=st.integers(0, 10**6), perplexity=st.sampled_from([2.0, 5.0, 12.0]), scale=st.sampled_from([1e-6, 1, 1e6]))
@few
def test_affinities_have_the_perplexity_asked_for(seed, perplexity, scale):
    squared = np.random.default_rng(seed).chisquare(4, (20, 30)) * scale
    shares = shares_at(squared, perplexity)
    np.testing.assert_allclose([naive.perplexity(row) for row in shares], perplexity, rtol=1e-6)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (np.argmax(shares, axis=1) == np.argmin(squared, axis=1)).all()


def test_equally_near_points_share_equally():
    shares = shares_at(np.array([[1.0] * 8 + [2.0, 50.0], [3.0] * 10, [0.0] * 10]), 5.0)
    np.testing.assert_allclose(shares[0, :8], 0.125, rtol=1e-6)
    np.testing.assert_allclose(shares[1:], 0.1)


def literal_affinities(D, perplexity):
    """Of each point to its nearest others, (n, n)."""
    n, others = len(D), ~np.eye(len(D), dtype=bool)
    shares = np.zeros((n, n))
    for i in range(n):
        shares[i, others[i]] = naive.affinities(D[i, others[i]] ** 2, perplexity, int(np.ceil(3 * perplexity)) + 1)
    return shares


@given(seed=st.integers(0, 10**6), perplexity=st.sampled_from([3.0, 8.0]), rounded=st.booleans())
@few
def test_affinities_are_those_of_the_formula(seed, perplexity, rounded):
    X = np.random.default_rng(seed).standard_normal((30, 3))
    D = between(np.round(X) if rounded else X, np.round(X) if rounded else X)  # many equal distances
    P = literal_affinities(D, perplexity)
    points, shares = nearest_affinities(D, perplexity)
    found = np.zeros_like(P)
    np.put_along_axis(found, points, shares, axis=1)
    np.testing.assert_allclose(found, P, atol=1e-5)
    np.testing.assert_allclose(joint_affinities(D, perplexity).toarray(), (P + P.T) / 60, atol=1e-6)
    Y = X[:, :2] * 4
    near = 1 / (1 + between(Y, Y) ** 2) - np.eye(30)
    near /= near.sum(axis=1, keepdims=True)
    literal = [sum(p * np.log(p / q) for p, q in zip(P[i], near[i], strict=True) if p > 0) for i in range(30)]
    np.testing.assert_allclose(divergences(D, Y, perplexity), literal, atol=1e-4)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_a_step_of_the_descent_follows_the_gradient(k):
    """Without momentum and with small steps, the first step is the gradient times the rate and the first gain."""
    X = np.random.default_rng(0).standard_normal((40, 6))
    P = joint_affinities(between(X, X), 5.0)
    moved = (descend(P, X[:, :k], 1)[0] - (X[:, :k] - X[:, :k].mean(axis=0))) / -50.0
    gains = np.array([0.8])
    np.testing.assert_allclose(moved, gains * naive.tsne_gradient(P.toarray(), X[:, :k]), atol=1e-7)


def test_a_descent_ends_where_the_gradient_vanishes():
    X = np.random.default_rng(0).standard_normal((25, 4))
    P = joint_affinities(between(X, X), 6.0)
    start = X[:, :2] * 1e-4
    Y, loss = descend(P, start, 3000)
    gradients = [np.abs(naive.tsne_gradient(P.toarray(), Z)).max() for Z in (Y, X[:, :2])]
    assert gradients[0] < 1e-3 * gradients[1]
    assert loss == pytest.approx(naive.tsne_loss(P.toarray(), Y))
    assert loss < descend(P, start, 20)[1]


def test_the_loss_is_never_negative():
    """Three points that are all alike have a map without loss, but for rounding."""
    alike = joint_affinities(np.ones((3, 3)) - np.eye(3), 1.5)
    losses = [descend(alike, np.random.default_rng(seed).standard_normal((3, 2)), 500)[1] for seed in range(20)]
    assert min(losses) == 0.0
    assert max(losses) < 1e-6
    assert loss_of(alike, np.zeros((3, 2))) < 1e-12


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_a_row_goes_downhill_to_where_its_loss_is_least(k):
    rng = np.random.default_rng(k)
    X = rng.standard_normal((90, 4))
    tsne = LandmarkTSNE(k, n_anchors=0).fit(between(X[:60], X[:60]))
    D, Y = between(X[60:], X[:60]), tsne.layout_.positions
    shares = [naive.affinities(row**2, PERPLEXITY, 31) for row in D]
    places = tsne.place(D)
    apart = np.linalg.norm(places - [naive.tsne_row(row, Y) for row in shares], axis=1)
    assert np.median(apart) < 1e-4
    assert np.quantile(apart, 0.9) < 0.01  # the core sums the loss in single precision: a last step is taken or not
    slopes = [np.linalg.norm(naive.tsne_row_loss(row, Y, y)[1]) for row, y in zip(shares, places, strict=True)]
    assert np.median(slopes) < 2e-3
    for row, y in zip(shares, places, strict=True):
        neighbours = Y[np.flatnonzero(row)]
        start = max(neighbours, key=lambda place, row=row: np.sum(row / (1 + np.sum((place - Y) ** 2, axis=1))))
        assert naive.tsne_row_loss(row, Y, y)[0] <= naive.tsne_row_loss(row, Y, start)[0] + 1e-6


@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), k=st.integers(1, 4))
@few
def test_rows_are_placed_by_themselves(seed, n, k):
    rng = np.random.default_rng(seed)
    placer = TsnePlacer(5 * rng.standard_normal((n, k)), n > 3)
    D = rng.integers(0, 4, (37, n)).astype(float)  # with ties, rows that are equal, and a row at distance 0 from all
    D[5], D[6] = 0.0, 1e140
    places = placer.place(D)
    assert np.isfinite(places).all()
    np.testing.assert_array_equal(np.concatenate([placer.place(part) for part in np.array_split(D, 11)]), places)
    for other in (copy.deepcopy(placer), pickle.loads(pickle.dumps(placer))):
        np.testing.assert_array_equal(other.place(D), places)
    turned = placer.moved(np.eye(k)[::-1], np.ones(k)).moved(np.eye(k)[::-1], np.ones(k))
    np.testing.assert_allclose(turned.place(D), places + 2, atol=1e-9)


def test_rows_of_numbers_are_placed_as_by_their_distances():
    X = np.random.default_rng(0).standard_normal((400, 4))
    mapper = DriftMap(n_landmarks=20, embedding="tsne").fit(X[:300])
    mapper.transform(X[:1])
    tsne, anchors = mapper.fitted_embedding_, X[mapper.anchor_indices_]
    assert len(anchors) == 200
    by_rows, by_distances = tsne.for_rows(anchors).place(X[300:]), tsne.place(between(X[300:], anchors))
    apart = np.linalg.norm(by_rows - by_distances, axis=1)
    assert np.median(apart) < 1e-5
    assert apart.max() < 0.1  # steps of a row may end a little sooner


# --- neighbours ---


@pytest.mark.parametrize(("name", "limits"), [("tsne", (0.965, 0.965, 0.96)), ("kernel-tsne", (0.945, 0.94, 0.92))])
def test_digits_keep_their_neighbours(name, limits):
    found = [scores(DriftMap(n_landmarks=200, embedding=name).fit(digits.points), digits) for digits in DIGITS]
    assert (np.median(found, axis=0) >= limits).all()
    assert (np.min(found, axis=0) >= np.array(limits) - 0.01).all()


def test_a_map_that_keeps_distances_does_not_keep_neighbours():
    """Else the test above could not fail."""
    trust, by_landmarks, _ = scores(DriftMap(n_landmarks=200).fit(DIGITS[0].points), DIGITS[0])
    assert trust < 0.9
    assert by_landmarks < 0.8


def in_class_order():
    X, labels = load_digits(return_X_y=True)
    order = np.argsort(labels, kind="stable")
    return X[order], labels[order]


def n_cells(Y):
    """Cells of a picture of 500 x 500 that have a point."""
    return len(np.unique((499.999 * (Y - Y.min(axis=0)) / np.ptp(Y, axis=0).max()).astype(int), axis=0))


def label_agreement(labels, Y, k=10):
    nearest = np.argsort(between(Y, Y) + 1e9 * np.eye(len(Y)), axis=1)[:, :k]
    return np.mean(labels[nearest] == labels[:, None])


def test_one_pass_is_as_good_as_opentsne_on_all_points():
    """openTSNE 1.0.4 with its defaults: 1,749 cells, trustworthiness 0.9934, label agreement 0.981."""
    X, labels = in_class_order()
    found = {}
    for m in (500, 1000):
        Y = DriftMap(n_landmarks=m, embedding="tsne").fit(X).transform(X)
        found[m] = quality.trustworthiness(X, Y, n_neighbors=7), label_agreement(labels, Y)
        assert n_cells(Y) >= 0.95 * 1749
    assert (np.array(found[500]) >= (0.9834, 0.971)).all()
    assert (np.array(found[1000]) >= np.array(found[500]) - 0.003).all()


def test_new_classes_get_places_and_old_ones_keep_theirs():
    X, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    first = rng.permutation(np.flatnonzero(labels < 7))[: len(X) // 2]
    rest = rng.permutation(np.setdiff1d(np.arange(len(X)), first))
    order = np.concatenate([first, rest])
    X, labels = X[order], labels[order]
    mapper = DriftMap(n_landmarks=100, embedding="tsne").partial_fit(X[: len(first)])
    mapper.transform(X[:1])
    for part in np.array_split(X[len(first) :], 4):
        mapper.partial_fit(part).transform(X[:1])
    Y = mapper.transform(X)
    nearest = np.argsort(between(Y, Y) + 1e9 * np.eye(len(Y)), axis=1)[:, :10]
    majority = np.array([np.bincount(row, minlength=10).argmax() for row in labels[nearest]])
    assert np.mean(majority[labels >= 7] >= 7) >= 0.9
    assert np.mean((majority == labels)[labels >= 7]) >= 0.9
    assert np.median([change.displacement.median for change in mapper.frames_]) < 0.05


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
    assert by_anchors > 0.98
    assert by_landmarks < by_anchors - 0.04  # t-SNE's last digits depend on the processor's matrix product


# --- which points the map is made of ---


@pytest.mark.parametrize(("m", "expected"), [(10, 100), (100, 1000), (333, 1000), (500, 1500), (1000, 3000)])
def test_how_many_points_the_map_is_made_of(m, expected):
    assert LandmarkTSNE().anchors_for(m) == expected
    assert LandmarkTSNE(n_anchors=7).anchors_for(m) == 7


def test_anchors_are_stored_points_or_the_landmarks():
    X = np.random.default_rng(0).standard_normal((400, 4))
    for embedding, expected in ((LandmarkTSNE(), 200), (LandmarkTSNE(n_anchors=50), 50)):
        mapper = DriftMap(n_landmarks=20, embedding=embedding).fit(X)
        mapper.transform(X[:1])
        assert len(mapper.fitted_embedding_.anchors_.ids) == expected
    for embedding in (LandmarkTSNE(n_anchors=0), LandmarkTSNE(n_anchors=12), KernelTSNE(), BiKernelTSNE()):
        mapper = DriftMap(n_landmarks=20, embedding=embedding).fit(X)
        assert (mapper.fitted_embedding_.anchors_.ids == mapper.landmark_indices_).all()


def test_landmarks_and_the_last_points_are_anchors():
    X = np.random.default_rng(0).standard_normal((1000, 4))
    mapper = DriftMap(n_landmarks=20, embedding="tsne").fit(X)
    mapper.transform(X[:1])
    anchors = mapper.anchor_indices_
    assert len(anchors) == 200
    assert np.isin(mapper.landmark_indices_, anchors).all()
    assert np.isin(np.arange(950, 1000), anchors).all()
    assert np.sum(anchors < 500) > 50


def test_forgotten_points_are_not_on_the_map():
    X = np.random.default_rng(0).standard_normal((400, 4))
    mapper = DriftMap(n_landmarks=20, window=60, embedding="tsne").fit(X)
    mapper.transform(X[:1])
    assert np.setdiff1d(mapper.anchor_indices_, mapper.landmark_indices_).min() >= 340


def test_a_python_function_as_metric():
    """Only distances to landmarks are asked for; those to anchors follow from them, here exactly."""
    X = np.random.default_rng(0).standard_normal((150, 3))
    asked = []

    def metric(x, y):
        asked.append(1)
        return float(np.linalg.norm(x - y))

    own, named = (
        DriftMap(n_landmarks=20, embedding="tsne", metric=m, memory=None).fit(X[:120]) for m in (metric, "euclidean")
    )
    own.transform(X[:1])
    assert not own.fitted_embedding_.anchors_.measured
    assert (own.anchor_indices_ == named.anchor_indices_).all()
    asked.clear()
    places = own.transform(X[120:])
    assert len(asked) == 30 * 20
    trust = [quality.trustworthiness(X[120:], Y, n_neighbors=5) for Y in (places, named.transform(X[120:]))]
    assert trust[0] > trust[1] - 0.05


def test_precomputed_distances():
    X = np.random.default_rng(0).standard_normal((150, 3))
    D = between(X, X)
    mapper = DriftMap(n_landmarks=20, embedding="tsne", metric="precomputed")
    for n in range(len(X)):
        mapper.partial_fit(D[n : n + 1, : n + 1])
    named = DriftMap(n_landmarks=20, embedding="tsne", memory=None).fit(X)
    np.testing.assert_array_equal(mapper.anchor_indices_, named.anchor_indices_)
    apart = np.linalg.norm(mapper.transform(D[:20]) - named.transform(X[:20]), axis=1)
    assert np.median(apart) < 1e-3


# --- frames ---


@pytest.mark.parametrize("name", ["tsne", "kernel-tsne", "bikernel-tsne"])
def test_frames_start_from_the_last_one(name):
    digits, embedding = DIGITS[0], LandmarkTSNE(n_anchors=400) if name == "tsne" else name
    mapper = DriftMap(n_landmarks=100, embedding=embedding, frame_tolerance=0).partial_fit(digits.points[:300])
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
    mapper = DriftMap(n_landmarks=100, embedding=LandmarkTSNE(n_anchors=200), align=False)
    mapper.partial_fit(digits.points[:300])
    mapper.transform(digits.new[:1])
    for part in np.array_split(digits.points[300:], 4):
        mapper.partial_fit(part).transform(digits.new[:1])
    assert np.median([change.displacement.median for change in mapper.frames_]) > 0.15


# --- kernels ---


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


# --- bad input ---


def test_bad_parameters():
    X = np.random.default_rng(0).standard_normal((30, 3))
    for embedding, message in (
        (LandmarkTSNE(perplexity=0.5), "perplexity must be at least 1"),
        (LandmarkTSNE(perplexity=np.nan), "perplexity must be"),
        (
            LandmarkTSNE(perplexity=30, n_anchors=0),
            "perplexity=30 needs a map of at least 32 points, but it is made of 20; take more landmarks or anchors",
        ),
        (LandmarkTSNE(perplexity=500), "perplexity=500 needs a map of at least 502 points, but it is made of 200"),
        (LandmarkTSNE(n_anchors=-1), "n_anchors must be at least 0"),
        (KernelTSNE(width=0.0), "width must be positive"),
    ):
        mapper = DriftMap(n_landmarks=20, embedding=embedding)
        with pytest.raises(InputError, match=message):
            mapper.fit(X)
        assert not hasattr(mapper, "landmarks_")
    with pytest.raises(InputError, match="n_landmarks must be at least 4 for t-SNE, got 3"):
        DriftMap(n_landmarks=3, embedding="tsne").fit(X)
    with pytest.raises(ValueError, match=r"start must have shape \(5, 2\), got \(5, 1\)"):
        LandmarkTSNE().fit(between(X[:5], X[:5]), start=X[:5, :1])


@pytest.mark.filterwarnings("ignore:the landmarks so far span")
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 12])
def test_fewer_points_than_the_perplexity_needs(n):
    X = np.random.default_rng(n).standard_normal((n, 3))
    Y = DriftMap(n_landmarks=10, embedding="tsne").fit(X).transform(np.concatenate([X, X + 0.01, X * 100]))
    assert Y.shape == (3 * n, 2)
    assert np.isfinite(Y).all()


@pytest.mark.filterwarnings("ignore:the landmarks so far span")
def test_constant_data_is_one_place():
    mapper = DriftMap(n_landmarks=10, embedding="tsne").fit(np.full((50, 3), 7.0))
    assert mapper.n_dimensions_ == 0
    assert (mapper.transform([[7.0, 7.0, 7.0], [8.0, 8.0, 8.0]]) == 0).all()


def test_duplicates_lie_in_one_place_and_change_little():
    X = DIGITS[0].points[:300]
    once, thrice = (DriftMap(n_landmarks=30, embedding="tsne").fit(rows) for rows in (X, np.repeat(X, 3, axis=0)))
    Y = thrice.transform(np.repeat(X, 3, axis=0))
    assert (Y[::3] == Y[1::3]).all()
    trust = [quality.trustworthiness(X, mapper.transform(X), n_neighbors=5) for mapper in (once, thrice)]
    assert trust[1] > trust[0] - 0.02


def test_one_class_is_spread_evenly():
    X = np.random.default_rng(0).standard_normal((800, 5))
    Y = DriftMap(n_landmarks=50, embedding="tsne").fit(X).transform(X)
    assert n_cells(Y) > 750


def test_the_state_of_another_embedding_is_refused():
    X = DIGITS[0].points[:100]
    D = between(X, X)
    anchors = Anchors(np.arange(100), np.arange(20), np.ones(100), D[:, :20], measured=True)
    tsne = LandmarkTSNE(n_anchors=100).fit(D, np.ones(100), anchors=anchors)
    state, other = tsne.state(), LandmarkTSNE(n_anchors=100)
    np.testing.assert_array_equal(other.restore(D, np.ones(100), state).place(D), tsne.place(D))
    for name, value, message in (
        ("positions", state["positions"][:, :1], "its positions have the wrong shape"),
        ("positions", state["positions"] * np.inf, "its positions are not finite"),
        ("landmarks", state["landmarks"][::-1], "its landmarks are not in the order of their arrival"),
        ("ids", state["ids"][:50], "its masses have the wrong shape"),
        ("coordinates", None, "its places have the wrong shape"),
        ("to_landmarks", -D[:, :20], "it has negative distances"),
        ("measured", False, "it lacks the distances from its points to the landmarks"),
        ("loss", -1.0, "loss must be finite and not negative"),
        ("n_exchanged", -1, "n_exchanged must be at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            other.restore(D, np.ones(100), state | {name: value})
        np.testing.assert_array_equal(other.place(D), tsne.place(D))  # as before
    with pytest.raises(KeyError):
        other.restore(D, np.ones(100), {})
