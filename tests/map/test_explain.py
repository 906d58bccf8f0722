"""What a map means: explanations, the table of landmarks, figures and HTML, the score."""

import copy
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftmap import DriftMap, InputError, OnlineLandmarks, quality
from driftmap.map import StreamMap
from driftmap.map.explain import NEIGHBOURS, LinearEffects, explain, explain_axes, tricube


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"wide": 9 * rng.random(n), "thin": rng.random(n), "middle": 4 * rng.random(n)})


def test_an_axis_is_explained_by_correlations_and_slopes_of_the_points_seen():
    X = table()
    mapper = DriftMap(n_landmarks=30).fit(X)
    Y, found = mapper.transform(X), mapper.explain(axis=1)
    assert [feature.feature for feature in found.features][:1] == ["middle"]
    for feature in found.features:
        expected = np.corrcoef(X[feature.feature], Y[:, 1])[0, 1]
        assert feature.correlation == pytest.approx(expected, abs=1e-9)
    standard = (X - X.mean()) / X.std(ddof=0)
    slopes = np.linalg.lstsq(np.column_stack([standard, np.ones(len(X))]), Y[:, 1], rcond=None)[0]
    for j, name in enumerate(X):  # a ridge of a thousandth
        slope = next(feature.slope for feature in found.features if feature.feature == name)
        assert slope == pytest.approx(slopes[j], abs=3e-3 * np.abs(slopes).max())
    assert str(found).splitlines()[0] == f"axis 1: {found.share:.0%} of its variance is linear in the features"


def test_correlations_weight_stored_points_by_what_they_represent():
    """Merged points: weights make up for the dense places, of which fewer are stored."""
    rng = np.random.default_rng(0)
    dense, sparse = rng.normal(0, 0.01, (4000, 3)), rng.random((400, 3)) * 5
    X = rng.permutation(np.vstack([dense, sparse]))
    mapper = DriftMap(n_landmarks=20, memory=320).fit(X)
    assert len(mapper.stored_indices_) <= 320
    centre = mapper.transform(np.zeros((1, 3)))
    inside = mapper.explain(region=lambda places: np.linalg.norm(places - centre, axis=1) < 0.1)
    assert inside.share == pytest.approx(4000 / 4400, abs=0.02)


def test_a_local_regression_sees_what_the_whole_axis_hides():
    """A bent strip: the first feature runs forth, then back along the axis."""
    t = np.linspace(-1, 1, 2000)
    rows = np.column_stack([np.abs(t) * 0.2, t * 10])
    mapper = DriftMap(1, n_landmarks=20).fit(rows)
    places = mapper.transform(rows)
    turn = np.sign(places[-1, 0] - places[0, 0])  # which way t runs on the map
    slopes = []
    for place in places[[300, 1700]]:
        local = mapper.explain(axis=0, near=place)
        slopes.append(next(found.correlation for found in local.features if found.feature == 0) * turn)
    assert slopes[0] < -0.9
    assert slopes[1] > 0.9
    whole = mapper.explain(axis=0)
    assert abs(next(found.correlation for found in whole.features if found.feature == 0)) < 0.1
    weights = tricube(np.arange(500.0))
    assert (weights > 0).sum() == NEIGHBOURS


def test_a_region_and_a_landmark_are_explained_by_standardised_differences():
    X = table()
    mapper = DriftMap(n_landmarks=12).fit(X)
    Y = mapper.transform(X)

    def corner(places):
        return (places[:, 0] >= 0) & (places[:, 0] <= 2) & (places[:, 1] <= 0)

    inside = corner(Y)
    for region in (corner, [(0, 2), (Y[:, 1].min() - 1, 0)]):
        found = mapper.explain(region=region)
        assert found.share == pytest.approx(inside.mean())
        for name, difference, mean, other in found.features:
            assert mean == pytest.approx(X[name][inside].mean())
            assert other == pytest.approx(X[name][~inside].mean())
            assert difference == pytest.approx((mean - other) / X[name].std(ddof=0))
        assert np.all(np.diff([abs(feature.difference) for feature in found.features]) <= 0)
    arrival = mapper.landmark_indices_[4]
    rows = X.to_numpy()
    cell = np.linalg.norm(rows[:, None] - mapper.landmarks_, axis=2).argmin(axis=1) == 4
    found = mapper.explain(landmark=arrival)
    assert found.share == pytest.approx(cell.mean())
    assert found.features[0].inside == pytest.approx(X[found.features[0].feature][cell].mean())


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        ({}, "takes one of axis, region and landmark; got none"),
        ({"axis": 0, "landmark": 3}, "got axis and landmark"),
        ({"axis": 2}, "axis must be below the number of dimensions, 2, got 2"),
        ({"axis": "x"}, "axis must be an integer"),
        ({"near": [0, 0]}, "near is a position at which to explain an axis"),
        ({"axis": 0, "near": [0, np.nan]}, "near must be a position on the map, 2 numbers"),
        ({"landmark": -1}, "landmark=-1 is not the arrival number of a landmark"),
        ({"region": [(0, 1)]}, "region must be a pair .* for each of 2 axes"),
        ({"region": [(1, 0), (0, 1)]}, "region must be a pair"),
        ({"region": "all"}, "region must be a pair"),
        ({"region": lambda places: places}, "region must return a boolean for each of"),
        ({"region": [(1e9, 2e9), (0, 1)]}, "the region holds none of the"),
        ({"region": [(-1e9, 1e9)] * 2}, "the region holds all of the"),
    ],
)
def test_questions_that_cannot_be_answered(question, problem):
    with pytest.raises(InputError, match=problem):
        DriftMap(n_landmarks=12).fit(table()).explain(**question)


def test_points_without_features_are_not_explained():
    words = DriftMap(1, n_landmarks=3, metric=lambda a, b: abs(len(a) - len(b))).fit(["a", "aa", "aaaa", "aaaaaaaaa"])
    distances = DriftMap(1, n_landmarks=3, metric="precomputed").fit(
        np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    )
    for mapper in (words, distances):
        with pytest.raises(InputError, match="only a map of rows of features"):
            mapper.explain(axis=0)
        assert "points seen" in mapper._repr_mimebundle_()["text/html"]
    assert words.landmark_table()["landmark"] == words.landmarks_
    assert list(distances.landmark_table()) == ["arrival", "mass", "driftmap0"]


def test_constant_features_explain_nothing():
    X = table().assign(same=7.0)
    mapper = DriftMap(n_landmarks=12).fit(X)
    for found in (mapper.explain(axis=0), mapper.explain(region=lambda y: y[:, 0] > 0)):
        assert found.features[-1][:2] == ("same", 0.0)
    flat = LinearEffects(X.to_numpy(), np.ones(len(X)), np.ones(4)).on(np.ones(len(X)))
    assert not any(np.any(part) for part in flat)


def test_all_axes_are_explained_from_one_copy_of_the_stored_points(monkeypatch):
    mapper, copies = StreamMap(2, n_landmarks=12), []
    mapper.partial_fit(table().to_numpy())
    _ = mapper.n_dimensions_  # the frame copies its points
    engine = type(mapper.landmarks)

    def stored(self, ids, original=engine.stored_points):
        copies.append(len(ids))
        return original(self, ids)

    monkeypatch.setattr(engine, "stored_points", stored)
    expected = explain(mapper, axis=0)
    once = len(copies)
    found = explain_axes(mapper)
    assert len(copies) == 2 * once
    assert [str(axis) for axis in found] == [str(expected), str(explain(mapper, axis=1))]


def test_more_features_than_points_and_missing_ones():
    wide = np.random.default_rng(0).standard_normal((30, 80))
    found = DriftMap(n_landmarks=10).fit(wide).explain(axis=0)
    assert np.isnan(found.share)
    assert str(found).splitlines()[0] == "axis 0"
    assert str(found).splitlines()[-1] == "and 70 more"
    gaps = table().to_numpy().copy()
    gaps[::7, 1] = np.nan
    assert DriftMap(n_landmarks=10, metric="nan_euclidean").fit(gaps).explain(axis=0).features[0].feature == 0


def test_sparse_rows_are_explained_and_their_frames_follow_each_other():
    X = np.zeros((200, 3000))
    X[:, [7, 2999]] = np.random.default_rng(0).random((200, 2)) * [9, 3]
    mapper = DriftMap(n_landmarks=8, frame_tolerance=0).fit(csr_array(X[:50]))
    mapper.transform(csr_array(X[:5]))
    assert mapper.partial_fit(csr_array(X[50:])).transform(csr_array(X)).shape == (200, 2)
    assert mapper.frame_ == 2
    assert [mapper.explain(axis=axis).features[0].feature for axis in (0, 1)] == [7, 2999]
    assert mapper.score(csr_array(X)) == pytest.approx(-quality.stress(X, mapper.transform(csr_array(X))), abs=1e-9)


def test_the_table_of_landmarks():
    X = table().rename(columns={"thin": "mass"})
    mapper = DriftMap(n_landmarks=5).fit(X)
    days = pd.date_range("2020-01-01", periods=len(X))
    found = pd.DataFrame(mapper.landmark_table(names=days))
    assert list(found) == ["arrival", "name", "mass", "driftmap0", "driftmap1", "wide", "feature mass", "middle"]
    assert found["arrival"].tolist() == mapper.landmark_indices_.tolist()
    assert found["name"].tolist() == days[mapper.landmark_indices_].tolist()
    assert found["mass"].sum() == len(X)
    assert np.array_equal(found[["driftmap0", "driftmap1"]], mapper.landmark_embedding_)
    assert np.array_equal(found[["wide", "feature mass", "middle"]], mapper.landmarks_)
    with pytest.raises(InputError, match="names must name all 400 points seen, got 2 names"):
        mapper.landmark_table(names=["a", "b"])


def test_a_figure_shows_the_stored_points_or_others():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    X = table()
    mapper = DriftMap(n_landmarks=12).fit(X)
    axes = mapper.plot(color=X["thin"]).axes[0]
    assert np.array_equal(
        np.sort(np.asarray(axes.collections[0].get_offsets()), axis=0), np.sort(mapper.transform(X), axis=0)
    )
    assert np.array_equal(np.asarray(axes.collections[-1].get_offsets()), mapper.landmark_embedding_)
    assert len(mapper.plot(X[:7], title="seven").axes[0].collections[0].get_offsets()) == 7
    with pytest.raises(InputError, match="color must have a value for each of the 400 points seen, got 3"):
        mapper.plot(color=[1, 2, 3])
    merged = DriftMap(n_landmarks=4, memory=64).fit(np.random.default_rng(0).random((3000, 2)))
    assert len(merged.plot(color=np.arange(3000) % 7).axes[0].collections[0].get_offsets()) <= 64
    assert merged.plot().axes


def picture_of(html):
    """The part of a map's HTML that follows scikit-learn's diagram."""
    return html[html.rfind('<div style="font: 12px sans-serif') :] if "<svg" in html else ""


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_html_shows_a_map_without_changing_anything(n_components):
    X = table().rename(columns={"wide": "<script>alert(1)</script> & a name that is rather long"})
    mapper = DriftMap(n_components, n_landmarks=12).fit(X[:300])
    before, twin = mapper.transform(X), copy.deepcopy(mapper)
    mapper.partial_fit(X[300:])
    twin.partial_fit(X[300:])
    assert "coverage_bound_" in dir(mapper)
    shown = mapper._repr_mimebundle_()["text/html"]
    picture = picture_of(shown)
    assert 0 < len(picture) < 15_000
    assert mapper._repr_html_().endswith(picture)
    assert "<script>" not in picture
    assert "&lt;script&gt;ale...ather long" in picture
    assert mapper.frames_ == []  # neither the picture nor the list of attributes is a new frame
    ET.fromstring(picture)  # closed, and nothing in it that is not quoted
    assert np.array_equal(twin.transform(X), mapper.transform(X))
    assert before.shape == (400, n_components)
    assert mapper.frame_ == twin.frame_


def test_estimators_of_metrics_without_bounds_can_be_shown():
    for estimator in (DriftMap(n_landmarks=9, metric="cosine"), OnlineLandmarks(9, metric="cosine")):
        estimator.fit(table() + 1)
        assert type(estimator).__name__ in estimator._repr_mimebundle_()["text/html"]
        assert "coverage_bound_" in dir(estimator)


def test_html_of_a_map_that_cannot_be_drawn():
    assert picture_of(DriftMap()._repr_mimebundle_()["text/html"]) == ""
    one = DriftMap(n_landmarks=5).partial_fit(np.ones((1, 3)))
    assert "1 points seen, 1 landmarks" in one._repr_mimebundle_()["text/html"]
    early = DriftMap(n_landmarks=20, embedding="isomap").partial_fit(table()[:2])
    assert "DriftMap" in early._repr_mimebundle_()["text/html"]


def test_the_score_is_minus_the_stress():
    X = table()
    mapper = DriftMap(n_landmarks=12).fit(X)
    assert mapper.score(X) == pytest.approx(-quality.stress(X, mapper.transform(X)), abs=1e-12)
    many = table(5000)
    assert mapper.score(many) == pytest.approx(-quality.stress(many[::3], mapper.transform(many[::3])), abs=1e-12)
    with pytest.raises(InputError, match="metric='precomputed' does not know the distances between the rows of X"):
        DriftMap(1, n_landmarks=3, metric="precomputed").fit(np.ones((4, 4)) - np.eye(4)).score(np.ones((2, 4)))


def test_the_score_selects_models_in_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), DriftMap())
    search = GridSearchCV(pipeline, {"driftmap__embedding": ["lmds", "stress"]}, cv=3).fit(table(300))
    assert search.best_params_ == {"driftmap__embedding": "stress"}
    assert -0.3 < search.best_score_ < 0
