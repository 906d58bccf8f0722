"""DriftMap, the estimator."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from driftmap import DriftMap, OnlineLandmarks, quality
from driftmap.embedding import EMBEDDINGS, LandmarkIsomap, LandmarkMDS, LandmarkStress
from streams import facts, make


# check_array_api_input is skipped by scikit-learn itself unless SCIPY_ARRAY_API is set. Nothing is expected to fail.
@parametrize_with_checks([DriftMap(n_landmarks=10), DriftMap(1, n_landmarks=5, rule="paper", metric="manhattan")])
def test_is_a_scikit_learn_estimator(estimator, check):
    with warnings.catch_warnings():
        # the checks use data with fewer dimensions than components on purpose
        warnings.filterwarnings("ignore", message="the landmarks so far span")
        check(estimator)


def walk(n=300, d=4, seed=0):
    return make("walk", n, d, seed)


def test_landmarks_are_those_of_the_selector():
    X = walk()
    # a map may be as small as squares of distances can be told apart
    mapper, selector = DriftMap(n_landmarks=15).fit(X), OnlineLandmarks(15, initial_radius=1e-140).fit(X)
    assert_array_equal(mapper.landmarks_, selector.landmarks_)
    assert (mapper.radius_, mapper.events_) == (selector.radius_, selector.events_)
    assert mapper.n_features_in_ == 4


def test_learning_does_not_wait_for_the_embedding():
    class Refuses:
        n_dimensions_ = 0
        coordinates_ = None

        def fit(self, distances, masses):
            raise AssertionError("asked for a frame while learning")

        def place(self, distances):
            raise AssertionError

    mapper = DriftMap(n_landmarks=5, embedding=Refuses()).fit(walk())
    assert mapper.n_replacements_ > 0
    with pytest.raises(AssertionError, match="asked for a frame"):
        mapper.transform(walk())


def test_the_frame_is_computed_only_when_landmarks_have_changed_or_many_rows_have_come():
    calls = []

    class Counting:
        n_dimensions_ = 1

        def fit(self, distances, masses):
            calls.append(len(distances))
            assert masses.sum() == seen
            self.coordinates_ = np.zeros((len(distances), 1))
            return self

        def place(self, distances):
            return distances[:, :1]

    mapper = DriftMap(1, n_landmarks=5, embedding=Counting())
    seen = 40
    mapper.partial_fit(walk(40))
    mapper.transform(walk(3))
    mapper.transform(walk(3))
    assert calls == [5]
    mapper.partial_fit(mapper.landmarks_[:3])  # covered, and fewer than 10 % more: nothing changes
    mapper.transform(walk(3))
    assert calls == [5]
    seen = 44
    mapper.partial_fit([[1e6, 0.0, 0.0, 0.0]])
    mapper.transform(walk(3))
    assert calls == [5, 5]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_come_in(frame):
    X = walk()
    table = frame({name: X[:, i] for i, name in enumerate("abcd")})
    mapper = DriftMap(n_landmarks=15).fit(table)
    assert list(mapper.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        mapper.transform(frame({name: X[:, i] for i, name in enumerate("abcx")}))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_data_frames_go_out(kind):
    out = DriftMap(n_landmarks=15).set_output(transform=kind).fit_transform(walk())
    assert list(out.columns) == ["driftmap0", "driftmap1"]
    assert type(out).__module__.startswith(kind)


def test_works_in_a_pipeline():
    pipe = make_pipeline(StandardScaler(), DriftMap(n_landmarks=15))
    assert pipe.fit_transform(walk()).shape == (300, 2)
    assert list(pipe.get_feature_names_out()) == ["driftmap0", "driftmap1"]


def test_points_come_one_by_one_as_dicts():
    X = walk(60)
    mapper = DriftMap(n_landmarks=10)
    for x in X:
        mapper.learn_one(dict(zip("abcd", x, strict=True)))
    assert facts(mapper) == facts(DriftMap(n_landmarks=10).fit(X))
    shuffled = dict(sorted(zip("abcd", X[7], strict=True), reverse=True))
    out = mapper.transform_one(shuffled)
    assert list(out) == ["driftmap0", "driftmap1"]
    assert list(out.values()) == mapper.transform(X[7:8])[0].tolist()
    with pytest.raises(ValueError, match=r"missing: \['d'\], new: \['e'\]"):
        mapper.learn_one({"a": 1.0, "b": 1.0, "c": 1.0, "e": 1.0})
    with pytest.raises(ValueError, match="row 0, column 1"):
        mapper.learn_one({"a": 1.0, "b": "much", "c": 1.0, "d": 1.0})
    with pytest.raises(TypeError, match="must be a dict"):
        mapper.learn_one([1.0, 2.0])
    assert mapper.n_samples_seen_ == 60


def test_names_of_dicts_belong_to_the_last_fit():
    table = pd.DataFrame(walk(60, 2), columns=["a", "b"])
    mapper = DriftMap(1, n_landmarks=5).learn_one({"b": 100.0, "a": 1.0}).fit(table)
    row = table.iloc[3].to_dict()
    assert list(mapper.transform_one(row).values()) == mapper.transform(table[3:4])[0].tolist()
    with pytest.raises(ValueError, match="NaN"):
        (fresh := DriftMap(1, n_landmarks=5)).learn_one({"u": np.nan})
    assert fresh.fit(table).transform_one(row) == mapper.transform_one(row)
    learnt = DriftMap(1, n_landmarks=5).fit(table.to_numpy())
    before = learnt.landmark_table()
    for bad in ({"u": 1.0}, {"u": 1.0, "v": "much"}):
        with pytest.raises(ValueError, match=r"X has 1 features|row 0, column 1"):
            learnt.transform_one(bad)
    assert [*learnt.landmark_table()] == [*before]
    assert learnt.transform_one(row) == mapper.transform_one(row)
    nameless = DriftMap(1, n_landmarks=5).fit(table.to_numpy())
    assert nameless.transform_one(row) == nameless.transform_one(dict(reversed(row.items())))


def test_parameters_set_later_count_from_the_next_fit_on():
    mapper = DriftMap(2, n_landmarks=10).fit(walk())
    mapper.set_params(n_components=3)
    assert mapper.transform(walk()).shape[1] == len(mapper.get_feature_names_out()) == 2
    assert mapper.fit(walk()).transform(walk()).shape[1] == len(mapper.get_feature_names_out()) == 3


@pytest.mark.parametrize("kind", ["constant", "collinear"])
def test_a_flat_stream_warns_once_and_goes_on(kind):
    X = make(kind, 50, 3, seed=0)
    mapper = DriftMap(2, n_landmarks=6)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for part in np.split(X, 5):
            out = mapper.partial_fit(part).transform(part)
            assert not out[:, 1].any()
            assert np.isfinite(out).all()
    assert [str(w.message) for w in caught] == [str(caught[0].message)]
    assert "span" in str(caught[0].message)
    assert mapper.n_dimensions_ == (0 if kind == "constant" else 1)


def test_objects_are_mapped():
    words = ["a", "aa", "aaa", "aaaa", "aaaaaaa", "aaaaaaaaa"]
    mapper = DriftMap(1, n_landmarks=4, metric=lambda a, b: abs(len(a) - len(b))).fit(words)
    out = mapper.transform(words)[:, 0]
    np.testing.assert_allclose(np.abs(np.diff(out)), [1, 1, 1, 3, 2], atol=1e-9)
    assert mapper.landmarks_[0] in words


def test_precomputed_distances_are_mapped():
    X = walk(80)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    by_distance, by_rows = DriftMap(n_landmarks=10, metric="precomputed").fit(D), DriftMap(n_landmarks=10).fit(X)
    assert_array_equal(by_distance.landmark_indices_, by_rows.landmark_indices_)
    np.testing.assert_allclose(by_distance.transform(D), by_rows.transform(X), atol=1e-9)
    with pytest.raises(ValueError, match=r"distances to all 80 arrivals"):
        by_distance.transform(D[:, :10])
    assert by_distance.n_features_in_ == 80
    with pytest.raises(ValueError, match="Complex data not supported"):
        by_distance.transform(D + 1j)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_components": 3, "n_landmarks": 3}, ValueError, "n_landmarks must be at least 4 for 3 dimensions, got 3"),
        ({"n_components": 0}, ValueError, "n_components must be at least 1"),
        ({"n_components": 1.5}, TypeError, "n_components must be an integer"),
        ({"embedding": "umap"}, ValueError, "embedding must be one of"),
        ({"embedding": "tsne", "n_landmarks": 3}, ValueError, "n_landmarks must be at least 4 for t-SNE, got 3"),
        ({"embedding": LandmarkIsomap(2, n_neighbors=0)}, ValueError, "n_neighbors must be at least 1"),
        ({"embedding": 7}, TypeError, "embedding must be a name or an object"),
        ({"rule": "x"}, ValueError, "rule must be one of"),
        ({"embedding": LandmarkMDS(3)}, ValueError, "embedding has n_components=3, but the map has 2"),
        ({"embedding": LandmarkMDS}, TypeError, "embedding must be a name or an object"),
        ({"align": np.array([True, False])}, ValueError, "align must be True or False"),
    ],
)
def test_bad_parameters_are_named(parameters, error, message):
    with pytest.raises(error, match=message):
        DriftMap(**parameters).fit(walk())


def test_numbers_may_be_large_but_not_too_large():
    X = walk() * 1e120
    mapper = DriftMap(n_landmarks=20, embedding="lmds").fit(X)
    np.testing.assert_allclose(
        mapper.transform(X), 1e120 * DriftMap(n_landmarks=20, embedding="lmds").fit_transform(walk())
    )
    with pytest.raises(ValueError, match="row 1, column 2 is 1e\\+200, beyond 1e\\+140: squares overflow"):
        mapper.transform(np.where(np.arange(8).reshape(2, 4) == 6, 1e200, 1.0))


def test_a_matrix_without_the_names_that_were_learnt_is_warned_about_as_everywhere():
    table = pd.DataFrame(walk(), columns=list("abcd"))
    mapper = DriftMap(n_landmarks=20).fit(table)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        mapper.transform(table.to_numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mapper.transform(table)


@pytest.mark.parametrize("own", [LandmarkStress(2), LandmarkMDS(2)])
def test_an_embedding_of_ones_own_sees_distances(own):
    """One made of ours may place otherwise than by where the rows are."""
    asked = []

    class Watching(type(own)):
        def place(self, distances):
            asked.append(distances.shape)
            return super().place(distances)

    X = walk()
    name = "stress" if isinstance(own, LandmarkStress) else "lmds"
    watched = DriftMap(n_landmarks=20, embedding=Watching(2)).fit(X)
    np.testing.assert_allclose(
        watched.transform(X), DriftMap(n_landmarks=20, embedding=name).fit_transform(X), atol=1e-6
    )
    assert (300, watched.n_anchors_) in asked


def test_a_step_of_rivers_pipelines():
    """Also if river is imported after the map was made; scaled by hand, the map is the same."""
    preprocessing = pytest.importorskip("river.preprocessing", reason="river is not installed")
    from river import linear_model

    rows = [dict(zip("abc", row, strict=True)) for row in make("walk", 60, 3, seed=0).tolist()]
    pipeline = preprocessing.StandardScaler() | DriftMap(2, n_landmarks=8)
    assert pipeline.transform_one(rows[0]) == {"driftmap0": 0.0, "driftmap1": 0.0}
    scaler, mapper = preprocessing.StandardScaler(), DriftMap(2, n_landmarks=8)
    for row in rows:
        pipeline.learn_one(row)
        scaler.learn_one(row)
        scaled = scaler.transform_one(row)
        assert mapper.learn_one(scaled).transform_one(scaled) == pipeline.transform_one(row)
    regression = preprocessing.StandardScaler() | DriftMap(2, n_landmarks=8) | linear_model.LinearRegression()
    for row in rows:
        assert np.isfinite(regression.predict_one(row))
        regression.learn_one(row, 1.0)
    assert set(regression["LinearRegression"].weights) == {"driftmap0", "driftmap1"}
    copied, fresh = pipeline.clone(include_attributes=True), pipeline.clone({"DriftMap": {"n_landmarks": 5}})
    assert copied.transform_one(rows[0]) == pipeline.transform_one(rows[0])
    assert not fresh["DriftMap"].__sklearn_is_fitted__()
    assert fresh["DriftMap"].n_landmarks == 5
    first = DriftMap(2, n_landmarks=8) | preprocessing.StandardScaler()
    first.learn_one(rows[0])
    assert set(first.transform_one(rows[0])) == {"driftmap0", "driftmap1"}


@pytest.mark.parametrize("embedding", ["stress", "lmds"])
@pytest.mark.parametrize("size", [1e-138, 1e-60, 1.0, 1e60, 1e138])
def test_points_far_away_are_placed_or_refused_by_name(embedding, size):
    X = walk() * size
    mapper, plain = (DriftMap(n_landmarks=16, embedding=embedding).fit(points) for points in (X, walk()))
    stresses = [quality.stress(walk(), Y) for Y in (mapper.transform(X) / size, plain.transform(walk()))]
    assert stresses[0] == pytest.approx(stresses[1], rel=1e-6)
    for far in (1e3, 1e60, 1e138):
        if far * size < 1e140:
            y = mapper.transform(np.full((1, 4), far * size)) / size
            # landmark MDS projects; stress keeps the distance
            assert np.linalg.norm(y) <= 2.1 * far
            assert np.linalg.norm(y) > (1.9 if embedding == "stress" else 1e-3) * far
    if size < 1:
        queries = np.vstack([X[:2], np.full((1, 4), 1e145 * size)])
        for ask in (mapper.transform, mapper.novelty):
            with pytest.raises(ValueError, match="row 2 lies more than 1e\\+140 times the size of the map away"):
                ask(queries)


@pytest.mark.parametrize("d", [1, 2, 100])
@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_the_largest_numbers_are_learnt_placed_and_saved(embedding, d, tmp_path):
    mapper = DriftMap(1, n_landmarks=20, embedding=embedding)
    mapper.fit(np.random.default_rng(0).standard_normal((300, d))).transform(np.zeros((1, d)))
    largest = np.full((1, d), 1e140)
    place = mapper.partial_fit(largest).transform(largest)
    with pytest.raises(ValueError, match=r"row 0, column 0 is 1.1e\+140, beyond 1e\+140: squares overflow"):
        mapper.partial_fit(1.1 * largest)
    mapper.save(tmp_path / "map")
    assert DriftMap.load(tmp_path / "map").transform(largest).tobytes() == place.tobytes()


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_points_too_near_to_each_other_are_refused_by_name(metric):
    mapper = DriftMap(n_landmarks=15, metric=metric).fit(1e-200 * walk())
    with pytest.raises(ValueError, match="all points lie within 1e-140 of each other"):
        mapper.transform(walk())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not DriftMap(n_landmarks=15).fit(np.full((9, 3), 1e-200)).transform(np.ones((1, 3))).any()  # one place
