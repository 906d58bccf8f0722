"""Stress placement, anchors and weighted landmark MDS against formulas written out here."""

import functools
import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.manifold import smacof

from driftmap import DriftMap
from driftmap.datasets import load_hospital, load_stocks, s_curve_stream
from driftmap.embedding import Anchors, Embedding, LandmarkMDS, LandmarkStress, choose_anchors, classical_mds
from driftmap.embedding.anchors import infer_distances
from driftmap.embedding.stress_fit import arrange, views
from driftmap.landmarks import OnlineLandmarks
from driftmap.quality import stress
from streams import make, needs

# --- the slow, obvious twins -----------------------------------------------------------------------------------------


def point_loss(y, points, d, w):
    """Weighted mean squared residual of one position."""
    return np.sum(w * (d - np.sqrt(np.sum((points - y) ** 2, axis=1))) ** 2) / np.sum(w)


def pair_stress(D, Y, w):
    """Normalised stress over all pairs with weights w_i w_j."""
    above = below = 0.0
    for i in range(len(D)):
        for j in range(i):
            above += w[i] * w[j] * (D[i, j] - np.linalg.norm(Y[i] - Y[j])) ** 2
            below += w[i] * w[j] * D[i, j] ** 2
    return np.sqrt(above / below)


def guttman(D, Y, w):
    """One step of weighted SMACOF: with weights w_i w_j the transform is a weighted mean per point."""
    R = cdist(Y, Y)
    ratio = np.divide(D, R, out=np.zeros_like(D), where=R > 0) * w
    return (ratio.sum(axis=1)[:, None] * Y - ratio @ Y) / w.sum()


def majorise(y, points, d, w):
    """One SMACOF step of a single point."""
    r = np.sqrt(np.sum((points - y) ** 2, axis=1))
    toward = points + np.where(r > 0, d / np.where(r > 0, r, 1.0), 0.0)[:, None] * (y - points)
    return (w[:, None] * toward).sum(axis=0) / w.sum()


def example(seed, m=25, n=40, dimensions=6):
    """Landmarks, masses and further points; the axes differ in length, as in real data."""
    rng = np.random.default_rng(seed)
    scales = 1.5 ** -np.arange(dimensions)
    L, X = rng.standard_normal((m, dimensions)) * scales, rng.standard_normal((n, dimensions)) * scales
    return cdist(L, L), rng.integers(1, 50, m).astype(float), cdist(X, L)


def sample(to_landmarks, masses=None):
    """Anchors, given their distances to landmarks."""
    a, m = np.shape(to_landmarks)
    return Anchors(np.arange(a), np.arange(m), np.ones(a) if masses is None else masses, to_landmarks)


def size_of(Y, w):
    return np.sqrt(np.average(((Y - np.average(Y, axis=0, weights=w)) ** 2).sum(axis=1), weights=w))


# --- weighted classical MDS ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_mass_counts_as_so_many_landmarks_in_the_same_place(k):
    D, masses, to_landmarks = example(0, m=8)
    masses = masses % 5 + 1
    copies = np.repeat(np.arange(8), masses.astype(int))
    weighted = LandmarkMDS(k, weighted=True).fit(D, masses)
    repeated = LandmarkMDS(k).fit(D[np.ix_(copies, copies)])
    signs = np.sign((weighted.coordinates_[copies] * repeated.coordinates_).sum(axis=0))
    np.testing.assert_allclose(weighted.coordinates_[copies], repeated.coordinates_ * signs, atol=1e-9)
    np.testing.assert_allclose(
        weighted.place(to_landmarks), repeated.place(to_landmarks[:, copies]) * signs, rtol=1e-9, atol=1e-9
    )


def test_equal_masses_change_nothing():
    D, _, to_landmarks = example(1)
    plain, weighted = LandmarkMDS(2).fit(D), LandmarkMDS(2, weighted=True).fit(D, np.full(25, 3.0))
    np.testing.assert_allclose(weighted.coordinates_, plain.coordinates_, atol=1e-12)
    np.testing.assert_allclose(weighted.eigenvalues_, plain.eigenvalues_, atol=1e-12)
    np.testing.assert_allclose(weighted.place(to_landmarks), plain.place(to_landmarks), atol=1e-12)


def test_masses_play_no_part_unless_asked_for():
    D, masses, _ = example(2)
    assert LandmarkMDS(2).fit(D, masses).coordinates_.tobytes() == LandmarkMDS(2).fit(D).coordinates_.tobytes()
    assert LandmarkMDS(2, weighted=True).fit(D).coordinates_.tobytes() == LandmarkMDS(2).fit(D).coordinates_.tobytes()


# --- the arrangement of the landmarks --------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_stress_is_the_formula_and_no_larger_than_at_the_start(seed, k):
    D, masses, _ = example(seed)
    embedding = LandmarkStress(k).fit(D, masses)
    assert embedding.stress_ == pytest.approx(pair_stress(D, embedding.coordinates_, masses), rel=1e-9)
    assert embedding.stress_ <= pair_stress(D, LandmarkMDS(k, weighted=True).fit(D, masses).coordinates_, masses)
    np.testing.assert_allclose(np.average(embedding.coordinates_, axis=0, weights=masses), 0, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_stress_never_goes_up_from_sweep_to_sweep(k):
    D, masses, _ = example(7, m=40)
    # the best of several starts is taken, each of which goes down; starts that differ by less than `tol` are the same
    values = [LandmarkStress(k, max_iter=n, tol=1e-15).fit(D, masses).stress_ for n in range(1, 40)]
    assert all(later <= earlier * (1 + 1e-14) for earlier, later in itertools.pairwise(values))


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_smacof_finds_nothing_better(seed, k):
    D, masses, _ = example(seed)
    embedding = LandmarkStress(k).fit(D, masses)
    Y = embedding.coordinates_
    moved = np.linalg.norm(guttman(D, Y, masses) - Y, axis=1)
    assert np.sqrt(np.average(moved**2, weights=masses)) < 10 * embedding.tol * size_of(Y, masses)
    start = LandmarkMDS(k, weighted=True).fit(D, masses).coordinates_
    for _ in range(3000):
        start = guttman(D, start, masses)
    assert embedding.stress_ <= 1.01 * pair_stress(D, start, masses)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_without_masses_as_good_as_scikit_learn(k):
    D, _, _ = example(3, m=60)
    embedding = LandmarkStress(k).fit(D)
    start = LandmarkMDS(k).fit(D).coordinates_
    Y, _ = smacof(D, n_components=k, init=start, n_init=1, max_iter=3000, eps=1e-12, normalized_stress=False)
    ours, theirs = (pair_stress(D, positions, np.ones(60)) for positions in (embedding.coordinates_, Y))
    assert ours <= theirs * (1.001 if k > 1 else 1.0)  # scikit-learn comes to rest in a worse order on the line


def test_a_mass_counts_as_so_many_points_in_the_same_place():
    D, masses, _ = example(4, m=10)
    masses = masses % 4 + 1
    copies = np.repeat(np.arange(10), masses.astype(int))
    repeated = LandmarkStress(2).fit(D[np.ix_(copies, copies)])
    assert LandmarkStress(2).fit(D, masses).stress_ == pytest.approx(repeated.stress_, rel=1e-6)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_configuration_is_recovered(k):
    rng = np.random.default_rng(k)
    L, X = rng.standard_normal((20, k)), rng.standard_normal((50, k))
    embedding = LandmarkStress(k).fit(cdist(L, L), rng.uniform(1, 9, 20))
    np.testing.assert_allclose(cdist(embedding.coordinates_, embedding.coordinates_), cdist(L, L), atol=1e-9)
    Y = embedding.place(cdist(X, L))
    np.testing.assert_allclose(cdist(Y, Y), cdist(X, X), atol=1e-7)
    assert embedding.residuals(cdist(X, L)).max() < 1e-7


@pytest.mark.parametrize("seed", range(10))
def test_on_the_line_the_order_is_as_good_as_any(seed):
    """All orders of a few landmarks: an order fixes the signs of all differences, and then the best positions."""
    D, masses, _ = example(seed, m=6, dimensions=3)
    w, best = masses / masses.sum(), np.inf
    for order in itertools.permutations(range(6)):
        if order[0] < order[-1]:  # its mirror image is as good
            rank = np.argsort(order)
            Y = (np.sign(rank[:, None] - rank) * D * w).sum(axis=1)
            best = min(best, pair_stress(D, Y[:, None], masses))
    assert LandmarkStress(1).fit(D, masses).stress_ <= 1.02 * best


# --- the placement of points -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_a_point_is_never_worse_off_than_at_its_start_and_comes_to_rest(seed, k):
    D, masses, to_landmarks = example(seed, n=200)
    embedding = LandmarkStress(k).fit(D, masses)
    Y, residuals, fixed = embedding.place(to_landmarks), embedding.residuals(to_landmarks), embedding._placer
    starts = to_landmarks**2 @ fixed.projection.T + fixed.shift
    for start, y, residual, d in zip(starts, Y, residuals, to_landmarks, strict=True):
        loss = point_loss(y, embedding.coordinates_, d, masses)
        assert residual == pytest.approx(np.sqrt(loss), rel=1e-9)
        assert loss <= point_loss(start, embedding.coordinates_, d, masses) * (1 + 1e-12)
        step = majorise(y, embedding.coordinates_, d, masses) - y
        assert np.linalg.norm(step) < embedding.tol * size_of(embedding.coordinates_, masses)


@given(seed=st.integers(0, 10_000), m=st.integers(2, 30))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_on_the_line_a_point_goes_to_the_least_of_all_minima(seed, m):
    D, masses, to_landmarks = example(seed, m=m, n=5)
    embedding = LandmarkStress(1).fit(D, masses)
    points = embedding.coordinates_
    span = np.linspace(points.min() - to_landmarks.max(), points.max() + to_landmarks.max(), 1001)
    for y, d in zip(embedding.place(to_landmarks), to_landmarks, strict=True):
        least = min(point_loss(np.array([at]), points, d, masses) for at in span)
        assert point_loss(y, points, d, masses) <= least * (1 + 1e-12)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("anchored", [False, True])
@given(seed=st.integers(0, 1000), m=st.integers(4, 40), d=st.integers(3, 40), far=st.sampled_from([0.0, 1e4]))
@settings(max_examples=20, derandomize=True, deadline=None)
def test_rows_go_where_their_distances_go(k, anchored, seed, m, d, far):
    """Also where the landmarks span less than the space: what an anchor has outside is taken as unrelated."""
    rng = np.random.default_rng(seed)
    L, A, X = (rng.standard_normal((n, d)) * 1.5 ** -np.arange(d) + far for n in (m, 30, 20))
    more = {"anchors": sample(cdist(A, L))} if anchored else {}
    embedding = LandmarkStress(k).fit(cdist(L, L), rng.uniform(1, 9, m), **more)
    placer, distances = embedding.for_rows(L), cdist(X, L)
    Y = placer.place(X)
    fixed, w = embedding.anchor_coordinates_, embedding._weights
    targets = np.sqrt(np.maximum(embedding._squared(distances), 0.0))
    # by their losses: a point may be as well off in two places
    by_rows, by_distances = (
        [point_loss(y, fixed, d, w) for y, d in zip(places, targets, strict=True)]
        for places in (Y, embedding.place(distances))
    )
    np.testing.assert_allclose(by_rows, by_distances, rtol=1e-6, atol=1e-9)
    assert Y.tobytes() == np.concatenate([placer.place(x[None]) for x in X]).tobytes()
    turn = np.linalg.qr(rng.standard_normal((embedding.n_dimensions_, embedding.n_dimensions_)))[0]
    rotation, translation = np.eye(k), np.zeros(k)
    rotation[: len(turn), : len(turn)], translation[: len(turn)] = turn, 5.0
    np.testing.assert_allclose(placer.moved(rotation, translation).place(X), Y @ rotation + translation, atol=1e-6)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("out", [3.0, 30.0, 300.0, 3000.0])
def test_a_point_far_outside_finds_its_way_round_the_map(out, k):
    """Its loss is a ring, along which coordinates lead astray; it ends where Newton's step is tiny, at a minimum."""
    rng = np.random.default_rng(0)
    L, X = rng.standard_normal((60, 5)) * [2, 1, 0.8, 0.5, 0.5], rng.standard_normal((200, 5)) * out
    embedding = LandmarkStress(k).fit(cdist(L, L))
    P, D = embedding.coordinates_, cdist(X, L)
    for y, d in zip(embedding.place(D), D, strict=True):
        lengths = np.linalg.norm(y - P, axis=1)
        u, q = (y - P) / lengths[:, None], d / lengths / len(P)
        second = (u * q[:, None]).T @ u + (1 - q.sum()) * np.eye(k)
        assert np.linalg.eigvalsh(second)[0] > 0
        slope = np.mean((1 - d / lengths)[:, None] * (y - P), axis=0)
        assert np.linalg.norm(np.linalg.solve(second, slope)) < 1e-6 * np.linalg.norm(y)


def test_a_point_above_the_middle_leaves_it():
    """All four landmarks are as far: nothing leads away from the middle, though it is the worst of all places."""
    L = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
    X = np.column_stack([np.zeros((40, 2)), np.linspace(0.5, 30.0, 40)])
    embedding = LandmarkStress(2).fit(cdist(L, L))
    for y, d in zip(embedding.place(cdist(X, L)), cdist(X, L), strict=True):
        around = [d.mean() * np.array([np.cos(t), np.sin(t)]) for t in np.linspace(0, 2 * np.pi, 60)]
        best = min(point_loss(at, embedding.coordinates_, d, np.ones(4)) for at in around)
        assert point_loss(y, embedding.coordinates_, d, np.ones(4)) <= best + 1e-9


def test_masses_and_distances_at_the_edge_of_what_numbers_can_be_give_no_warning():
    D, _, to_landmarks = example(11)
    for scale, heaviest in ((1.0, 1e80), (1e-160, 1.0)):
        masses = np.ones(len(D))
        masses[0] = heaviest
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.isfinite(LandmarkStress(2).fit(scale * D, masses).place(scale * to_landmarks)).all()


@pytest.mark.parametrize("k", [2, 3])
def test_landmarks_are_placed_where_they_are(k):
    D, masses, _ = example(6)
    embedding = LandmarkStress(k, tol=1e-8).fit(D, masses)
    np.testing.assert_allclose(embedding.place(D), embedding.coordinates_, atol=1e-5)


# --- a start from the last map ---------------------------------------------------------------------------------------


def test_a_fit_without_a_start_takes_the_best_of_several_views():
    """Clusters in space have many maps in the plane, and classical MDS leads to any of them."""
    gains = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (40, 3))[rng.integers(0, 40, 100)]
        D = cdist(X, X)
        _, alone, _ = arrange(D, np.full(100, 0.01), LandmarkMDS(2).fit(D).coordinates_, 1e-5, 500)
        gains.append(LandmarkStress(2).fit(D).stress_ / alone)
    assert max(gains) <= 1 + 1e-4
    assert min(gains) < 0.97


def test_a_cold_fit_has_at_most_thirteen_starts_and_is_as_good_as_by_all_views():
    for seed, k in itertools.product(range(3), (2, 4, 5, 8)):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((60, 12))[rng.integers(0, 60, 80)] + 0.1 * rng.standard_normal((80, 12))
        D, w = cdist(X, X), np.full(80, 1 / 80)
        mds = classical_mds(D, k + 1)
        assert len(list(views(mds, k))) == 1 + 3 * min(k, 4)
        each = []
        for axis in range(k):  # a quarter turn of each axis towards the next dimension
            start = mds.coordinates[:, :k].copy()
            start[:, axis] = mds.coordinates[:, k]
            each.append(arrange(D, w, start, 1e-5, 500)[1])
        assert LandmarkStress(k).fit(D).stress_ <= 1.01 * min(each)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("kind", ["noise", "clusters", "plane"])
def test_a_cold_fit_of_many_points_is_as_good_as_from_all_views(kind, k):
    rng = np.random.default_rng(k)
    X = rng.standard_normal((300, 10)) * {"plane": 0.3 ** np.arange(10)}.get(kind, 1.0)
    X += 3 * rng.standard_normal((6, 10))[rng.integers(0, 6, 300)] * (kind == "clusters")
    D, masses = cdist(X, X), rng.uniform(1, 5, 300)
    starts = views(classical_mds(D, k + 1, masses), k)
    best = min(arrange(D, masses / masses.sum(), start, 1e-5, 500)[1] for start in starts)
    embedding = LandmarkStress(k).fit(D, masses)
    assert embedding.stress_ == pytest.approx(pair_stress(D, embedding.coordinates_, masses))
    assert embedding.stress_ <= 1.01 * best


def test_half_of_many_points_may_lie_in_fewer_dimensions_than_all():
    X = np.zeros((300, 2))
    X[:, 0], X[149, 1] = np.arange(300), 50.0  # one that is not among the first half
    D = cdist(X, X)
    embedding = LandmarkStress(2).fit(D)
    assert embedding.n_dimensions_ == 2
    np.testing.assert_allclose(cdist(embedding.coordinates_, embedding.coordinates_), D, atol=0.1)


def test_a_map_for_which_a_start_is_left_is_the_best_of_several_views():
    left = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, start = rng.standard_normal((10, 3)), rng.standard_normal((10, 2))
        D = cdist(X, X)
        free, given = LandmarkStress(2).fit(D), LandmarkStress(2).fit(D, start=start)
        alone = LandmarkStress(2, max_warm_iter=500).fit(D, start=LandmarkMDS(2).fit(D).coordinates_)
        assert given.stress_ <= 1.13 * max(alone.stress_, free.stress_) * (1 + 1e-9)
        if given.stress_ == free.stress_:
            left += 1
            np.testing.assert_array_equal(given.coordinates_, free.coordinates_)
    assert left > 0


def test_a_start_is_followed():
    D, masses, _ = example(8)
    before = LandmarkStress(2).fit(D, masses)
    turned = before.coordinates_ @ np.array([[0.6, 0.8], [0.8, -0.6]]) + 5.0
    after = LandmarkStress(2).fit(D, masses, start=turned)
    moved = after.coordinates_ - (turned - np.average(turned, axis=0, weights=masses))
    assert np.abs(moved).max() < 1e-3 * size_of(turned, masses)
    assert after.stress_ <= before.stress_ * (1 + 1e-12)
    assert after.n_iter_ <= after.max_warm_iter


def test_a_bad_start_is_not_followed():
    D, masses, _ = example(8)
    fresh = LandmarkStress(2).fit(D, masses)
    for bad in (np.random.default_rng(0).standard_normal((25, 2)), np.zeros((25, 2)), np.arange(50.0).reshape(25, 2)):
        assert LandmarkStress(2, max_warm_iter=1).fit(D, masses, start=bad).stress_ <= 1.1 * fresh.stress_
    flat = LandmarkStress(2).fit(D, masses, start=np.column_stack([fresh.coordinates_[:, 0], np.zeros(25)]))
    assert flat.coordinates_.tobytes() == fresh.coordinates_.tobytes()


# --- anchors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [4, 7, 20])
def test_distances_to_anchors_follow_from_distances_to_landmarks(m):
    """Exactly, where the landmarks span the space; else what points have outside of it is taken as unrelated."""
    rng = np.random.default_rng(m)
    L, A, X = (rng.standard_normal((n, 3)) for n in (m, 30, 50))
    inference = infer_distances(cdist(L, L), rng.uniform(1, 5, m), cdist(A, L))
    for points in (X, A):
        squared = cdist(points, L) ** 2 @ inference.coefficients + inference.offsets
        np.testing.assert_allclose(np.sqrt(np.maximum(squared, 0.0)), cdist(points, A), atol=1e-6)


def test_landmarks_as_anchors_are_landmarks():
    D, masses, to_landmarks = example(9)
    plain, anchored = (
        LandmarkStress(2).fit(D, masses),
        LandmarkStress(2).fit(D, masses, anchors=sample(D, masses)),
    )
    np.testing.assert_allclose(anchored.anchor_coordinates_, plain.coordinates_, atol=1e-6)
    np.testing.assert_allclose(anchored.place(to_landmarks), plain.place(to_landmarks), atol=1e-5)


def test_anchors_make_a_map_as_if_their_distances_had_been_measured():
    rng = np.random.default_rng(10)
    X = rng.standard_normal((300, 5)) * [3, 2, 1, 1, 0.5]
    landmarks, anchors = X[:8], X[8:100]
    inferred = LandmarkStress(2).fit(cdist(landmarks, landmarks), anchors=sample(cdist(anchors, landmarks)))
    measured = LandmarkStress(2).fit(cdist(anchors, anchors))
    first, second = inferred.place(cdist(X, landmarks)), measured.place(cdist(X, anchors))
    assert stress(X, first) == pytest.approx(stress(X, second), rel=1e-3)
    assert stress(X, first) < stress(X, LandmarkStress(2).fit(cdist(landmarks, landmarks)).place(cdist(X, landmarks)))
    np.testing.assert_array_equal(inferred.coordinates_, first[:8])


def cells_of(X, landmarks):
    nearest = cdist(X, X[landmarks]).argmin(axis=1)
    return [np.flatnonzero(nearest == i) for i in range(len(landmarks))]


def test_anchors_share_the_mass_of_their_cells():
    X = np.random.default_rng(11).standard_normal((500, 2))
    landmarks = np.arange(0, 500, 50)
    cells = cells_of(X, landmarks)
    for n in (1, 5, 10, 11, 64, 499):
        ids, masses = choose_anchors(cells, n)
        assert len(ids) == len(masses) == n
        assert (np.diff(ids) > 0).all()
        for cell in cells:
            n_anchors = np.isin(ids, cell).sum()
            assert n_anchors == pytest.approx(n * len(cell) / 500, abs=2)
            assert masses[np.isin(ids, cell)].sum() == pytest.approx(len(cell) if n_anchors else 0)
    ids, masses = choose_anchors(cells, 1000)
    np.testing.assert_array_equal(ids, np.arange(500))
    np.testing.assert_array_equal(masses, 1.0)


@pytest.mark.parametrize("n_anchors", [64, 128, 256])
def test_anchors_follow_topics_that_change_throughout_where_landmarks_stay_behind(n_anchors):
    """Where all distances are alike, hardly any row is uncovered; mass moves all the same."""
    rng, n, d = np.random.default_rng(0), 3000, 200
    centres, progress = rng.standard_normal((20, d)), np.arange(n) / n
    shares = np.exp(-((progress[:, None] - np.linspace(0, 1, 20)) ** 2) / 0.01)
    topic = (rng.random((n, 1)) > np.cumsum(shares, axis=1) / shares.sum(axis=1, keepdims=True)).sum(axis=1)
    X = centres[topic] + rng.standard_normal((n, d))
    mapper = DriftMap(n_landmarks=50, n_anchors=n_anchors).fit(X / np.linalg.norm(X, axis=1, keepdims=True))
    assert np.mean(mapper.landmark_indices_ >= n // 2) < 0.2
    assert np.mean(mapper.anchor_indices_ >= n // 2) > 0.4


def test_anchors_do_not_depend_on_the_order_of_a_cell():
    rng = np.random.default_rng(12)
    landmarks = np.array([3, 70, 190])
    cells = cells_of(rng.standard_normal((200, 2)), landmarks)
    shuffled = [rng.permutation(cell) for cell in cells]
    for weights in (np.ones(200), rng.uniform(1, 9, 200)):
        first = choose_anchors(cells, 40, [weights[cell] for cell in cells])
        second = choose_anchors(shuffled, 40, [weights[cell] for cell in shuffled])
        np.testing.assert_array_equal(first[0], second[0])
        np.testing.assert_allclose(first[1], second[1])


def test_heavier_points_are_chosen_sooner_and_masses_add_up():
    cells = [np.arange(1000)]
    weights = np.where(np.arange(1000) % 2, 9.0, 1.0)
    ids, masses = choose_anchors(cells, 101, [weights])
    assert masses.sum() == pytest.approx(weights.sum())
    assert 0.8 < (ids % 2).mean() < 1.0


def test_anchors_hardly_change_when_points_arrive_and_landmarks_leave():
    X = np.random.default_rng(13).standard_normal((2000, 3))
    landmarks = np.arange(0, 1000, 100)
    before = choose_anchors(cells_of(X[:1990], landmarks), 128)[0]
    after = choose_anchors(cells_of(X, landmarks[1:]), 128)[0]
    assert len(np.intersect1d(before, after)) > 110


# --- degenerate input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("anchored", [False, True])
@pytest.mark.parametrize(
    ("points", "real"),
    [
        (np.zeros((1, 2)), 0),
        (np.zeros((4, 2)), 0),
        (np.array([[0.0, 0.0], [1.0, 0.0]]), 1),
        (np.arange(5.0)[:, None] * [1.0, 2.0], 1),
        (np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), 2),
    ],
)
def test_missing_dimensions_are_zero_and_counted(points, real, anchored):
    D = cdist(points, points)
    embedding = LandmarkStress(3).fit(D, np.arange(1.0, len(D) + 1), **({"anchors": sample(D)} if anchored else {}))
    assert isinstance(embedding, Embedding)
    assert embedding.n_dimensions_ == real
    Y = embedding.place(np.vstack([D, D + 1.0]))
    assert embedding.coordinates_.shape == (len(D), 3)
    for coordinates in (embedding.coordinates_, Y):
        assert np.isfinite(coordinates).all()
        assert not coordinates[:, real:].any()
    np.testing.assert_allclose(cdist(embedding.coordinates_, embedding.coordinates_), D, atol=1e-6)
    assert np.isfinite(embedding.residuals(D + 1.0)).all()


@pytest.mark.parametrize("k", [1, 2, 3])
def test_distances_that_no_space_has(k):
    D = np.full((4, 4), 2.0)  # a star whose arms are too far apart
    D[0, :] = D[:, 0] = 0.5
    np.fill_diagonal(D, 0.0)
    random = np.random.default_rng(0).uniform(0.1, 1.0, (12, 12))
    random = np.triu(random, 1) + np.triu(random, 1).T
    for distances in (D, random):
        for more in ({}, {"anchors": sample(distances)}):
            embedding = LandmarkStress(k).fit(distances, **more)
            assert np.isfinite(embedding.place(distances)).all()
            assert embedding.stress_ < 1


def test_no_rows_and_rows_of_the_wrong_width():
    D, masses, _ = example(0)
    embedding = LandmarkStress(2).fit(D, masses)
    assert embedding.place(np.empty((0, 25))).shape == (0, 2)
    with pytest.raises(ValueError, match=r"\(n, 25\)"):
        embedding.place(D[:, :24])


@pytest.mark.parametrize("masses", [np.ones(3), np.zeros(25), np.full(25, -1.0), np.full(25, np.nan)])
def test_masses_must_be_positive(masses):
    D, _, _ = example(0)
    for embedding in (LandmarkStress(2), LandmarkMDS(2, weighted=True)):
        with pytest.raises(ValueError, match="mass"):
            embedding.fit(D, masses)


def test_parameters_and_starts_are_checked():
    D, masses, _ = example(0)
    for wrong in ({"tol": 0.0}, {"max_iter": 0}, {"max_warm_iter": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            LandmarkStress(2, **wrong).fit(D, masses)
    with pytest.raises(ValueError, match="start"):
        LandmarkStress(2).fit(D, masses, start=np.zeros((25, 3)))


def test_a_warm_start_may_have_more_dimensions_than_the_distances():
    """An outlier is so far away that the distances between the other points are lost, but they have places."""
    for seed, at, size in ((6, 16, 159018.0), (27, 5, 125415.0), (38, 11, 74829.0)):
        rows, mapper = make("walk", 40, 3, seed), DriftMap(2, n_landmarks=6)
        rows[at] = size
        for row in rows:
            assert np.isfinite(mapper.update([row]).coordinates).all()


# --- the paper's data: final landmarks of one pass, rule "tight", sigma over all points ------------------------------


@functools.cache
def stream(name):
    """The points, the landmarks and anchors after one pass, and the distances of all points to both."""
    load = {
        "s-curve": s_curve_stream,
        "spy": lambda: load_stocks().normalized,
        "hospital": lambda: load_hospital().spectra(),
    }
    X = load[name]()
    selector = OnlineLandmarks({"s-curve": 100, "spy": 10, "hospital": 20}[name], rule="tight").partial_fit(X)
    landmarks, masses = selector.landmark_indices_, selector.landmark_mass_.astype(float)
    ids, anchor_masses = choose_anchors(cells_of(X, landmarks), 128)
    return X, landmarks, masses, cdist(X, X[landmarks]), ids, anchor_masses


GOALS = [
    # data, k, classical MDS on all points, with n_anchors=128
    pytest.param("s-curve", 1, 0.306, 0.277),
    pytest.param("s-curve", 2, 0.144, 0.122),
    pytest.param("spy", 1, 0.082, 0.072, marks=needs("spy10_adjclose.csv")),
    pytest.param("spy", 2, 0.037, 0.0250, marks=needs("spy10_adjclose.csv")),
    pytest.param("spy", 3, 0.022, 0.0143, marks=needs("spy10_adjclose.csv")),
    pytest.param("hospital", 1, 0.217, 0.191, marks=needs("hospital_lyon_contacts.dat.gz")),
    pytest.param("hospital", 2, 0.094, 0.069, marks=needs("hospital_lyon_contacts.dat.gz")),
    pytest.param("hospital", 3, 0.052, 0.0345, marks=needs("hospital_lyon_contacts.dat.gz")),
]


@pytest.mark.parametrize(("name", "k", "classical", "by_anchors"), GOALS)
def test_the_map_is_truer_than_classical_mds_on_all_points(name, k, classical, by_anchors):
    X, landmarks, masses, D, ids, anchor_masses = stream(name)
    inferred = LandmarkStress(k).fit(D[landmarks], masses, anchors=sample(D[ids], anchor_masses))
    sigma = stress(X, inferred.place(D))
    assert sigma < classical
    assert sigma <= by_anchors  # what measured anchors were to reach, from landmark distances alone
    to_anchors = cdist(X, X[ids])
    measured = LandmarkStress(k).fit(to_anchors[ids], anchor_masses)
    assert stress(X, measured.place(to_anchors)) <= by_anchors


@pytest.mark.parametrize(("name", "k", "classical", "by_anchors"), GOALS)
def test_no_start_finds_a_better_fit_to_the_landmarks(name, k, classical, by_anchors):
    _, landmarks, masses, D, *_ = stream(name)
    between, rng = D[landmarks], np.random.default_rng(0)
    fitted = LandmarkStress(k).fit(between, masses).stress_
    for _ in range(10):
        start = rng.standard_normal((len(landmarks), k)) * between.mean()
        other = LandmarkStress(k, tol=1e-9, max_iter=20_000, max_warm_iter=20_000).fit(between, masses, start=start)
        assert fitted <= 1.001 * other.stress_


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_steadiness_keeps_the_distance_of_points_far_away(metric, k):
    X = np.random.default_rng(0).standard_normal((300, 6))
    mapper = DriftMap(k, n_landmarks=20, metric=metric, embedding=LandmarkStress(k, steadiness=0.01)).fit(X)
    for far in (1e8, 1e12, 1e16, 1e17, 1e18, 1e20, 1e30, 1e100, 1e138):
        place = mapper.transform(far * np.eye(6)[:1])
        assert np.linalg.norm(place) == pytest.approx(far, rel=0.1)


@pytest.mark.parametrize("k", [2, 3])
def test_steadiness_weighs_the_distance_to_the_place_of_landmark_mds(k):
    X = np.random.default_rng(0).standard_normal((260, 6))
    D = np.linalg.norm(X[:, None] - X[:60], axis=2)

    def places(steadiness):
        return LandmarkStress(k, steadiness=steadiness).fit(D[:60]).place(D[60:])

    exact, linear = places(0.0), places(1e9)
    gaps = [np.linalg.norm(places(steadiness) - linear, axis=1) for steadiness in (0.0, 0.03, 0.3, 3.0)]
    assert all((after < before).all() for before, after in itertools.pairwise(gaps))
    embedding = LandmarkStress(k, steadiness=0.3).fit(D[:60])
    y = embedding.place(D[60:])
    steps = 1e-4 * np.concatenate([np.eye(k), -np.eye(k)])
    anchors, weights = embedding.anchor_coordinates_, np.full(60, 1 / 60)

    def loss(at):
        stress = ((np.linalg.norm(at[:, None] - anchors, axis=2) - D[60:]) ** 2) @ weights
        return stress + 0.3 * ((at - linear) ** 2).sum(axis=1)

    assert all((loss(y) <= loss(y + step)).all() for step in steps)
    assert np.abs(exact - y).max() > 0.01
