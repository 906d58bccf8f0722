"""Rows with missing numbers under the masked Euclidean distance."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import nan_euclidean_distances

from driftmap import DriftMap, OnlineLandmarks
from driftmap.metrics.masked import masked_euclidean

rng = np.random.default_rng(0)
X = np.cumsum(rng.standard_normal((200, 5)), axis=0)
GAPS = np.where(rng.random(X.shape) < 0.2, np.nan, X)
GAPS[np.isnan(GAPS).sum(axis=1) > 2] = X[np.isnan(GAPS).sum(axis=1) > 2]  # any two rows have a column in common


def test_distances_are_those_of_scikit_learn_and_do_not_depend_on_the_block():
    whole = masked_euclidean(GAPS, GAPS[:50])
    np.testing.assert_allclose(whole, nan_euclidean_distances(GAPS, GAPS[:50]), atol=1e-6)
    assert masked_euclidean(GAPS[7:9], GAPS[3:4]).tobytes() == np.ascontiguousarray(whole[7:9, 3:4]).tobytes()
    assert np.array_equal(masked_euclidean(GAPS[:50], GAPS), whole.T)


def test_a_map_of_rows_with_gaps(tmp_path):
    mapper = DriftMap(n_landmarks=12, metric="nan_euclidean").fit(GAPS)
    batches = DriftMap(n_landmarks=12, metric="nan_euclidean")
    for batch in np.array_split(GAPS, 7):
        batches.partial_fit(batch)
    assert batches.radius_ == mapper.radius_
    assert batches.landmark_indices_.tolist() == mapper.landmark_indices_.tolist()
    assert batches.transform(GAPS).tobytes() == mapper.transform(GAPS).tobytes()
    batches.save(tmp_path / "map.ckpt")
    assert DriftMap.load(tmp_path / "map.ckpt").transform(GAPS[:20]).tobytes() == mapper.transform(GAPS[:20]).tobytes()
    plain = DriftMap(n_landmarks=12).fit(X)
    np.testing.assert_allclose(DriftMap(n_landmarks=12, metric="nan_euclidean").fit(X).radius_, plain.radius_)


def test_there_are_no_bounds_and_it_is_said():
    landmarks = OnlineLandmarks(5, metric="nan_euclidean").fit(GAPS)
    with pytest.raises(ValueError, match="the triangle inequality, which coverage_bound_ needs"):
        _ = landmarks.coverage_bound_
    with pytest.raises(ValueError, match="triangle inequality"):
        OnlineLandmarks(5, metric="nan_euclidean", memory=100).fit(GAPS)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([np.nan] * 5, "row 1 has no number at all"),
        ([1, 2, np.inf, 4, 5], "row 1, column 2 is inf"),
        (
            [np.nan, 1, np.nan, np.nan, np.nan],
            "arrival 1 and arrival 0 is nan: they have no column",
        ),
    ],
)
def test_rows_that_cannot_be_measured_are_named_and_change_nothing(row, message):
    landmarks = OnlineLandmarks(5, metric="nan_euclidean")
    with pytest.raises(ValueError, match=message):
        landmarks.partial_fit([[1, np.nan, 3, 4, 5], row])
    landmarks.partial_fit(GAPS)
    assert landmarks.n_samples_seen_ == len(GAPS)


def test_other_metrics_say_what_to_do():
    with pytest.raises(ValueError, match=r'is NaN; .*SimpleImputer.*metric="nan_euclidean"'):
        DriftMap().fit(GAPS)
