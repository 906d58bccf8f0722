"""Landmark MDS against its formulas; what holds for all embeddings."""

import copy
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

import naive
from driftmap import DriftMap
from driftmap.embedding import EMBEDDINGS, Embedding, LandmarkMDS, classical_mds
from driftmap.embedding.base import NEEDS, row_placer
from driftmap.embedding.factory import BY_NAME, KEEPING_DISTANCES, make_embedding
from streams import make


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


# --- all embeddings ---------------------------------------------------------------------------------------------------


def fitted(name, L, k=2):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the graph of")
        return make_embedding(name, k).fit(distances(L, L), np.ones(len(L)))


def test_the_table_has_what_the_default_and_the_docs_name():
    assert EMBEDDINGS[0] == DriftMap().embedding
    docs = Path(__file__).parents[2] / "docs/embeddings.md"
    table = docs.read_text().split("```")[0]
    assert set(re.findall(r'`"([a-z-]+)"`', table)) == set(EMBEDDINGS)


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_the_protocol_is_kept(name):
    embedding = fitted(name, np.random.default_rng(0).standard_normal((12, 3)))
    assert isinstance(embedding, Embedding)
    assert set(getattr(embedding, "needs", ())) <= set(NEEDS)
    assert row_placer(embedding, np.zeros((12, 3))) is not None
    assert {"state", "restore", "keeps_distances"} <= set(dir(embedding))


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_a_derived_embedding_that_overrides_place_is_asked_to_place_rows(name):
    kind, params = BY_NAME[name]

    class Mirrored(kind):
        def place(self, distances):
            return -super().place(distances)

    X = np.random.default_rng(0).standard_normal((60, 3))
    plain, mirrored = (DriftMap(n_landmarks=12, embedding=one(2, **params)).fit(X) for one in (kind, Mirrored))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the graph of")
        Y = plain.transform(X)
        np.testing.assert_allclose(mirrored.transform(X), -Y, atol=1e-5 * np.abs(Y).max())


@pytest.mark.parametrize("name", EMBEDDINGS)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 40), k=st.integers(1, 3))
@settings(max_examples=8, derandomize=True, deadline=None)
def test_places_are_finite_and_rows_go_where_their_distances_go(name, seed, m, k):
    """Far points, duplicates of landmarks, few landmarks, landmarks in the same place."""
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((m, 4)) * [3, 2, 1, 0.5] * rng.choice([1e-6, 1.0, 1e6])
    L[rng.random(m) < 0.2] = L[0]
    near = L[rng.integers(0, m, 10)] + 0.3 * L[0] * rng.standard_normal((10, 4))
    X = np.concatenate([near, L[: min(m, 5)], [[1e9] * 4, [1e60, 0, 0, 0], [-9e149] * 4]])
    embedding = fitted(name, L, k)
    D = distances(X, L)
    Y = embedding.place(D)
    assert Y.shape == (len(X), k)
    assert embedding.coordinates_.shape == (m, k)
    assert np.isfinite(Y).all()
    assert not Y[:, embedding.n_dimensions_ :].any()
    assert Y.tobytes() == np.concatenate([embedding.place(row[None]) for row in D]).tobytes()
    if name not in KEEPING_DISTANCES:  # tests of these allow for rounding far out, and for two minima
        placer = embedding.for_rows(L)
        near = placer.place(X[:10])
        assert near.tobytes() == np.concatenate([placer.place(x[None]) for x in X[:10]]).tobytes()
        np.testing.assert_allclose(near, Y[:10], atol=1e-5 * max(np.ptp(embedding.coordinates_), 1e-9))
        assert np.isfinite(placer.place(X)).all()
        rotation, translation = np.linalg.qr(rng.standard_normal((k, k)))[0], rng.standard_normal(k)
        moved = placer.moved(rotation, translation).place(X[:10])
        np.testing.assert_allclose(moved, near @ rotation + translation, atol=1e-9 * (1 + np.abs(near).max()))


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_wrong_shapes_are_named(name):
    L = np.random.default_rng(0).standard_normal((12, 3))
    with pytest.raises(ValueError, match=r"distances must have shape \(n, 12\), got \(5, 11\)"):
        fitted(name, L).place(np.ones((5, 11)))
    with pytest.raises(ValueError, match=r"shape \(m, m\), m at least 1, got \(3, 4\)"):
        make_embedding(name, 2).fit(np.ones((3, 4)), np.ones(3))
    with pytest.raises(ValueError, match="masses must have one entry for each of the 12 points"):
        make_embedding(name, 2).fit(distances(L, L), np.ones(3))


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_a_stream_may_be_asked_from_its_first_point_on(name):
    mapper, X = DriftMap(2, n_landmarks=8, embedding=name), np.random.default_rng(0).standard_normal((20, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(len(X)):
            assert np.isfinite(mapper.partial_fit(X[i : i + 1]).transform(X)).all()
            mapper.partial_fit(X[i : i + 1])  # again
    assert mapper.n_dimensions_ == 2


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_points_in_one_place(name):
    mapper = DriftMap(2, n_landmarks=5, embedding=name)
    with pytest.warns(UserWarning, match="span 0 of n_components=2") as caught:
        Y = mapper.fit_transform(np.ones((30, 3)))
    assert len(caught) == 1
    assert not Y.any()


def test_needs_are_given_and_others_are_refused():
    asked = {}

    class Curious:
        n_dimensions_, n_neighbors = 2, 3

        def __init__(self, needs):
            self.needs = needs

        def fit(self, distances, masses, **given):
            asked.update(given)
            self.coordinates_ = distances[:, :2]
            return self

        def place(self, distances):
            return distances[:, :2]

    X = np.random.default_rng(0).standard_normal((50, 3))
    mapper = DriftMap(2, n_landmarks=6, embedding=Curious({"neighbours", "to_landmarks", "start"}), frame_tolerance=0)
    mapper.fit(X)
    mapper.transform(X)
    stored = asked["stored"]
    assert asked["start"] is None
    np.testing.assert_array_equal(stored.ids, mapper.stored_indices_)
    np.testing.assert_array_equal(stored.ids[stored.landmarks], mapper.landmark_indices_)
    np.testing.assert_allclose(stored.to_landmarks, distances(X, mapper.landmarks_))
    assert stored.neighbours.tolist() == naive.nearest_neighbours(distances(X, X), range(50), 3)
    assert stored.masses.sum() == 50
    mapper.partial_fit(X * 3)
    mapper.landmark_embedding_  # noqa: B018 - makes a frame
    assert asked["start"].shape == (6, 2)
    asked.clear()
    DriftMap(2, n_landmarks=6, embedding=Curious({"stored"})).fit_transform(X)
    assert asked.keys() == {"stored"}
    assert asked["stored"].to_landmarks is asked["stored"].neighbours is None
    with pytest.raises(
        ValueError, match="needs must be one of 'stored', 'to_landmarks', 'neighbours', 'anchors', 'start'"
    ):
        DriftMap(2, n_landmarks=6, embedding=Curious({"points"})).fit(X)


def straight(x, y):
    """A Python function, of which each distance takes long."""
    return float(np.linalg.norm(np.subtract(x, y)))


@pytest.mark.parametrize(
    ("n_anchors", "metric"), [(None, "euclidean"), (4, straight), (15, "euclidean"), (15, "cityblock"), (15, straight)]
)
def test_anchors_are_given_and_start_where_they_lay(n_anchors, metric):
    asked = []

    class Anchored:
        n_dimensions_, needs = 2, ("anchors", "start")

        def fit(self, distances, masses, anchors, start):
            asked.append((anchors, start, distances, masses))
            self.coordinates_, self.anchor_coordinates_ = distances[:, :2], np.full((len(anchors.ids), 2), 7.0)
            return self

        def place(self, distances):
            return distances[:, :2]

    X = make("walk", 80, 3, seed=0)
    params = {"embedding": Anchored(), "n_anchors": n_anchors, "metric": metric, "frame_tolerance": 0}
    mapper = DriftMap(2, n_landmarks=6, **params).fit(X[:60])
    mapper.transform(X)
    mapper.partial_fit(X[60:]).transform(X)
    (before, nowhere, _, _), (anchors, start, between, masses) = asked
    assert nowhere is None
    np.testing.assert_array_equal(anchors.landmarks, mapper.landmark_indices_)
    assert len(anchors.ids) == (15 if n_anchors == 15 else 6)
    assert anchors.masses.sum() == pytest.approx(80)
    assert anchors.measured == (n_anchors == 15 and metric is not straight)
    if n_anchors == 15:
        expected = cdist(X[anchors.ids], mapper.landmarks_, "euclidean" if metric is straight else metric)
        np.testing.assert_allclose(anchors.to_landmarks, expected)
    else:
        assert anchors.to_landmarks is None
    if n_anchors == 15 and metric is straight:  # inferred
        assert between.shape == (6, 6)
    else:
        expected = cdist(X[anchors.ids], X[anchors.ids], "euclidean" if metric is straight else metric)
        np.testing.assert_allclose(between, expected)
        np.testing.assert_array_equal(masses, anchors.masses)
    is_old = np.isin(anchors.ids, before.ids)
    assert 0 < is_old.sum() < len(is_old)
    np.testing.assert_array_equal(start[is_old], 7.0)
    assert (start[~is_old] != 7.0).any()


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_a_fit_forgets_the_one_before(name):
    X = np.random.default_rng(0).standard_normal((60, 3))
    first, second = (np.linalg.norm(part[:, None] - part, axis=2) for part in (X[:30], X[30:]))
    once, again = (make_embedding(name, 2).fit(part, np.ones(30)) for part in (second, first))
    np.testing.assert_array_equal(again.fit(second, np.ones(30)).coordinates_, once.coordinates_)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@pytest.mark.parametrize("name", EMBEDDINGS)
def test_a_map_with_duplicates_places_far_points(name, metric):
    rng = np.random.default_rng(1)
    X = np.repeat(rng.standard_normal((40, 3)), rng.integers(1, 6, 40), axis=0)
    far = [[1e9] * 3, [1e60, 0, 0], [-9e138] * 3]
    places = DriftMap(2, n_landmarks=12, metric=metric, embedding=name).fit(X).transform(np.concatenate([X, far]))
    assert np.isfinite(places).all()
    assert len(np.unique(places[: len(X)], axis=0)) <= 40  # duplicates have one place


@pytest.mark.parametrize(("name", "key"), [("tsne", "ids"), ("isomap", "landmarks")])
@pytest.mark.parametrize("change", [lambda ids: ids[[0, 0, *range(2, len(ids))]], lambda ids: ids[::-1].copy()])
def test_a_state_whose_points_are_not_in_order_is_refused(name, key, change):
    X = np.random.default_rng(0).standard_normal((300, 3))
    mapper = DriftMap(n_landmarks=20, embedding=name).fit(X)
    fitted = mapper.fitted_embedding_
    state = fitted.state()
    fixed = X[mapper.anchor_indices_ if name == "tsne" else mapper.landmark_indices_]
    distances, masses = np.linalg.norm(fixed[:, None] - fixed, axis=2), np.ones(len(fixed))
    copy.deepcopy(fitted).restore(distances, masses, state)
    with pytest.raises(ValueError, match="not in the order of their arrival"):
        copy.deepcopy(fitted).restore(distances, masses, state | {key: change(state[key])})


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_threads_of_blas_change_no_bit(name):
    points = np.random.default_rng(0).standard_normal((150, 4))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    maps = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            maps.append(make_embedding(name, 2).fit(distances, np.ones(150)).coordinates_.tobytes())
    assert maps[0] == maps[1]


def test_threads_of_blas_change_no_place():
    X = np.random.default_rng(0).standard_normal((2000, 384))
    places = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            places.append(DriftMap(2, n_landmarks=300, n_anchors=500).fit(X).transform(X[:100]).tobytes())
    assert places[0] == places[1]
