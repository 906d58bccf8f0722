"""A map is laid on an older one, by the stored points of both."""

import warnings

import numpy as np
import pytest

from driftmap import DriftMap, FrozenMap, InputError, quality
from driftmap.embedding import EMBEDDINGS
from driftmap.embedding.factory import KEEPING_DISTANCES

SHAPE = np.array([3.0, 2.9, 0.5])


def days(n=2, rows=300, seed=0):
    """Rows of several days from one distribution without symmetries."""
    rng = np.random.default_rng(seed)
    return [np.square(rng.random((rows, 3))) * SHAPE for _ in range(n)]


def test_it_is_weighted_procrustes():
    """With all points stored and everything in reach, against a literal computation by scipy."""
    from scipy.linalg import orthogonal_procrustes

    first, second = days()
    old, new = (DriftMap(n_landmarks=30).fit(rows) for rows in (first, second))
    rows = np.vstack([second, first])
    before, target = new.transform(rows), old.transform(rows)
    residual = new.register(old)
    A, B = before - before.mean(axis=0), target - target.mean(axis=0)
    expected = A @ orthogonal_procrustes(A, B)[0] + target.mean(axis=0)
    after = new.transform(rows)
    np.testing.assert_allclose(after, expected, atol=1e-9)
    assert residual == pytest.approx(quality.displacement(target, after))
    assert residual.median < 0.02
    assert np.array_equal(old.transform(rows), target)  # the reference stays as it is
    change = new.frames_[-1]
    assert (new.frame_, change.frame, change.reason, change.arrival) == (2, 2, "registered", 299)
    assert change.stress == change.candidate_stress > 0
    assert change.displacement.median > 20 * residual.median  # it was turned far


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_every_embedding_is_laid_on_the_older_map(embedding, tmp_path):
    first, second = days(rows=200)
    old, new = (DriftMap(n_landmarks=30, embedding=embedding).fit(rows) for rows in (first, second))
    new.register(old, scale=embedding not in KEEPING_DISTANCES)
    turned, landmarks = new.transform(first), new.landmark_embedding_
    again = new.register(old)
    if embedding not in KEEPING_DISTANCES:
        sizes = [np.linalg.norm(Y - Y.mean(axis=0)) for Y in (turned, old.transform(first))]
        assert sizes[0] == pytest.approx(sizes[1], rel=0.3)
    np.testing.assert_allclose(new.transform(first), turned, atol=1e-9)  # it lay there already
    np.testing.assert_allclose(new.landmark_embedding_, landmarks, atol=1e-9)
    assert new.frames_[-1].displacement.max < 1e-9
    assert 0 <= again.median <= again.max
    new.save(tmp_path / "map")
    new.freeze().save(tmp_path / "frozen")
    for copy in (DriftMap.load(tmp_path / "map"), FrozenMap.load(tmp_path / "frozen")):
        assert np.array_equal(copy.transform(first), new.transform(first))
        assert np.array_equal(copy.landmark_embedding_, new.landmark_embedding_)


@pytest.mark.parametrize("embedding", ["stress", "tsne"])
def test_later_frames_and_merged_maps_stay_where_it_was_laid(embedding):
    first, second, third = days(3)
    old, new = (DriftMap(n_landmarks=30, embedding=embedding, frame_tolerance=0).fit(day) for day in (first, second))
    before = new.transform(second)
    new.register(old, scale=embedding == "tsne")
    laid = new.transform(second)
    later = DriftMap(n_landmarks=30, embedding=embedding, frame_tolerance=0).fit(third)
    for mapper in (new.merge(later), new.partial_fit(1.05 * third)):
        moved = quality.displacement(laid, mapper.transform(second)).median
        assert mapper.frame_ == 3
        assert moved < 0.25 * quality.displacement(laid, before).median


def test_registration_that_is_resumed_goes_on_alike(tmp_path):
    first, second, third = days(3)
    new = DriftMap(n_landmarks=30, embedding="tsne").fit(second)
    new.register(DriftMap(n_landmarks=30, embedding="tsne").fit(first), scale=True)
    new.save(tmp_path / "map")
    copy = DriftMap.load(tmp_path / "map")
    for mapper in (new, copy):
        mapper.partial_fit(2 * third)
    assert np.array_equal(new.transform(third), copy.transform(third))
    assert new.frame_ == copy.frame_ == 3


def test_references_of_every_kind(tmp_path):
    first, second = days()
    old = DriftMap(n_landmarks=30).fit(first)
    residuals = []
    for reference in (old, old._fitted_engine(), old.freeze()):
        new = DriftMap(n_landmarks=30).fit(second)
        residuals.append(new.register(reference).median)
    assert residuals[0] == residuals[1]
    assert residuals[2] == pytest.approx(residuals[0], rel=0.5)  # by its anchors only
    assert old.frame_ == 1


def test_only_common_territory_counts():
    """The older map has no place for points far from its landmarks."""
    first, second = days()
    old, new = DriftMap(n_landmarks=30).fit(first), DriftMap(n_landmarks=30).fit(second)
    both = DriftMap(n_landmarks=30).fit(np.vstack([second, second[:20] + [0, 0, 3]]))
    assert old._engine.side().represents(np.vstack([second, second[:20] + [0, 0, 3]])).tolist() == [True] * 300 + 20 * [
        False
    ]
    places = []
    for mapper in (new, both):
        mapper.register(old)
        places.append(mapper.transform(second))
    assert quality.displacement(*places).median < 0.05


def test_points_of_other_kinds():
    words = [format(i * 37 % 256, "08b") for i in range(120)]

    def hamming(a, b):
        return float(sum(x != y for x, y in zip(a, b, strict=True)))

    old, new = (DriftMap(n_landmarks=20, metric=hamming).fit(part) for part in (words[:80], words[40:]))
    assert new.register(old).median < 0.5


@pytest.mark.parametrize(
    ("params", "rows", "message"),
    [
        ({"n_components": 1}, np.eye(5, 3), "reference has 1 components, but this map has 2"),
        ({}, np.random.default_rng(0).random((30, 4)), "reference has 4 features, but this map has 3"),
        ({"metric": "cityblock"}, np.random.default_rng(0).random((30, 3)), "metric='cityblock', but this map by"),
        (
            {"metric": "minkowski", "metric_params": {"p": 3}},
            np.random.default_rng(0).random((30, 3)),
            "metric='minkowski', but",
        ),
        ({"metric": "precomputed"}, np.random.default_rng(0).random((30, 3)), "features|precomputed"),
        ({}, np.random.default_rng(0).random((30, 3)) + 100, "0 points in common, and 3 are needed"),
        ({}, np.random.default_rng(0).random((30, 1)) * [1, 2, 0.5], "do not extend in 2 dimensions"),
        ({}, np.zeros((5, 3)), "do not extend"),
    ],
)
def test_references_that_cannot_be(params, rows, message):
    mapper = DriftMap(n_landmarks=20).fit(days()[0])
    number = mapper.frame_
    if params.get("metric") == "precomputed":
        rows = np.linalg.norm(rows[:, None] - rows, axis=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = DriftMap(**{"n_landmarks": 10, **params}).fit(rows)
        with pytest.raises(InputError, match=message) as refused:
            mapper.register(reference)
    assert "\n" not in str(refused.value)
    assert mapper.frame_ == number


def test_other_misuse():
    X = days()[0]
    mapper = DriftMap(n_landmarks=20).fit(X)
    with pytest.raises(InputError, match="reference must be a map, got ndarray"):
        mapper.register(X)
    with pytest.raises(InputError, match="scale is for embeddings that do not keep distances"):
        mapper.register(mapper, scale=True)
    with pytest.raises(ValueError, match="no points yet"):
        mapper.register(DriftMap())
    with pytest.raises(ValueError, match="no points yet"):
        DriftMap().register(mapper)
    with pytest.raises(InputError, match="has the columns"):
        pandas = pytest.importorskip("pandas")
        frames = [pandas.DataFrame(X, columns=list(names)) for names in ("abc", "abd")]
        DriftMap(n_landmarks=20).fit(frames[0]).register(DriftMap(n_landmarks=20).fit(frames[1]))
    assert mapper.register(mapper).max < 1e-9
