"""Landmark Isomap: geodesics against Floyd and Warshall, and sheets that it must unroll."""

import warnings

import numpy as np
import pytest
from benchmarks import sheets
from hypothesis import given
from hypothesis import strategies as st

import naive
from driftmap import DriftMap, quality
from driftmap.embedding import LandmarkIsomap
from driftmap.landmarks import InitialLandmarks
from streams import few, make


def between(X, Y):
    return np.linalg.norm(X[:, None] - Y, axis=2)


def unrolled(points, **params):
    return DriftMap(n_landmarks=100, memory=1600, embedding="isomap", **params).fit(points)


@given(seed=st.integers(0, 10**6), k=st.integers(1, 6), kind=st.sampled_from(["walk", "grid", "duplicates", "jumps"]))
@few
def test_geodesics_are_shortest_paths(seed, k, kind):
    X = make(kind, 60, 2, seed)
    D = between(X, X)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the graph of")
        isomap = LandmarkIsomap(2, n_neighbors=k).fit(D)
    np.testing.assert_allclose(isomap.paths_.lengths, naive.geodesics(D, k), rtol=1e-12, atol=1e-300)
    assert isomap.n_parts_ == len({tuple(np.isfinite(row)) for row in naive.geodesics(D, k)})


@pytest.mark.parametrize(
    ("stream", "limit"),
    [(sheets.swiss_roll, 0.020), (sheets.s_curve, 0.015), (lambda seed: sheets.swiss_roll(seed, noise=0.5), 0.05)],
    ids=["swiss roll", "S-curve", "swiss roll with noise"],
)
@pytest.mark.parametrize("seed", range(6))
def test_sheets_are_unrolled_and_frames_stay_in_place(stream, limit, seed):
    points, new, truth, _ = stream(seed)
    mapper = unrolled(points)
    assert quality.procrustes_error(truth, mapper.transform(new)) <= limit
    growing = unrolled(points[:1500], frame_tolerance=0)
    growing.transform(new[:1])
    for part in np.split(points[1500:], 10):
        growing.partial_fit(part).transform(new[:1])
    moved = [change.displacement for change in growing.frames_]
    assert len(moved) == 10
    assert max(change.median for change in moved) <= 0.012
    assert max(change.max for change in moved) <= 0.05
    assert quality.procrustes_error(truth, growing.transform(new)) <= limit  # with paths of landmarks that stayed


def test_other_landmarks_and_embeddings_do_worse():
    """Else the test above could not fail."""
    points, new, truth, _ = sheets.swiss_roll(0)
    initial = InitialLandmarks(100).fit(points)
    distances = between(initial.landmarks_, initial.landmarks_)
    isomap = LandmarkIsomap().fit(distances)
    assert quality.procrustes_error(truth, isomap.place(initial.distances(new))) > 0.5
    assert quality.procrustes_error(truth, DriftMap(n_landmarks=100).fit(points).transform(new)) > 0.5


def test_paths_of_landmarks_that_stay_are_kept_until_they_are_out_of_date():
    points = sheets.s_curve(0, n=1500).points
    mapper = DriftMap(n_landmarks=30, embedding="isomap", frame_tolerance=0).partial_fit(points[:1000])
    first = mapper.fitted_embedding_.paths_
    kept = []
    for x in points[1000:]:
        paths = mapper.partial_fit(x[None]).fitted_embedding_.paths_
        kept.append(paths.n_exchanged)
    assert first.n_exchanged == 0
    assert max(kept) <= 15
    assert 0 in kept[10:]  # all paths were computed again
    fresh = DriftMap(n_landmarks=30, embedding="isomap").fit(points).fitted_embedding_.paths_
    np.testing.assert_array_equal(fresh.landmarks, paths.landmarks)
    np.testing.assert_allclose(paths.lengths, fresh.lengths, rtol=0.05)


def islands(n=150):
    """Three squares, far apart."""
    rng = np.random.default_rng(0)
    return np.concatenate([rng.random((n, 2)) + [x, 0.0] for x in (0.0, 5.0, 30.0)])


def test_parts_of_the_graph_are_laid_side_by_side_at_the_length_of_their_bridge():
    X = islands()
    mapper = DriftMap(n_landmarks=45, embedding="isomap")
    with pytest.warns(UserWarning, match="9 nearest neighbours is in 3 parts") as caught:
        Y = mapper.fit_transform(X)
    assert len(caught) == 1
    assert mapper.fitted_embedding_.n_parts_ == 3
    parts = np.repeat([0, 1, 2], 150)
    for part in range(3):
        assert quality.procrustes_error(X[parts == part], Y[parts == part]) < 0.1
    parts = np.rint(mapper.landmarks_[:, 0] / 5).clip(0, 2)
    landmarks, places = mapper.landmarks_, mapper.landmark_embedding_
    for a, b in ((0, 1), (1, 2)):
        bridge = between(landmarks[parts == a], landmarks[parts == b]).min()
        assert bridge <= between(places[parts == a], places[parts == b]).min() <= bridge + 1.5
    with warnings.catch_warnings():  # the one warning has been given
        warnings.simplefilter("error")
        for part in np.split(islands()[::-1] * 1.1, 5):
            Z = mapper.partial_fit(part).transform(X)
    assert mapper.frame_ > 1
    assert max(change.displacement.median for change in mapper.frames_) < 0.15
    assert np.isfinite(Z).all()


def test_parts_come_together():
    rng = np.random.default_rng(0)
    ends = np.concatenate([rng.random((100, 2)), rng.random((100, 2)) + [4.0, 0.0]])
    mapper = DriftMap(n_landmarks=30, embedding="isomap")
    with pytest.warns(UserWarning, match="in 2 parts"):
        mapper.partial_fit(ends).transform(ends)
    mapper.partial_fit(rng.random((300, 2)) * [5.0, 1.0]).transform(ends)
    assert mapper.fitted_embedding_.n_parts_ == 1
    assert quality.procrustes_error(ends, mapper.transform(ends)) < 0.05


def test_bad_parameters():
    with pytest.raises(ValueError, match="n_neighbors must be at least 1"):
        DriftMap(embedding=LandmarkIsomap(n_neighbors=0)).fit(islands())
    with pytest.raises(ValueError, match=r"start must have shape \(3, 2\)"):
        LandmarkIsomap().fit(np.zeros((3, 3)), start=np.zeros((3, 3)))
