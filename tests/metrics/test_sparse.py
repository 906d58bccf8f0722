"""Sparse rows: the landmarks of the dense rows, to the digits, and no dense matrix on the way."""

import numpy as np
import pytest
import scipy.sparse

from driftmap import DriftMap, OnlineLandmarks
from driftmap.metrics.sparse import squared_distances

rng = np.random.default_rng(0)
DENSE = np.where(rng.random((300, 40)) < 0.2, rng.standard_normal((300, 40)), 0.0)
DENSE[:, 0] = np.linspace(1, 5, 300)  # no row is zero
FORMATS = ["csr_matrix", "csr_array", "csc_array", "coo_array", "lil_array", "dok_array", "bsr_array"]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "l2"])
@pytest.mark.parametrize("kind", FORMATS)
def test_sparse_rows_give_the_map_of_the_dense_ones(kind, metric):
    X = getattr(scipy.sparse, kind)(DENSE)
    params = {"n_landmarks": 15, "metric": metric, "embedding": "lmds"}
    sparse, dense = DriftMap(**params).fit(X), DriftMap(**params).fit(DENSE)
    assert sparse.landmark_indices_.tolist() == dense.landmark_indices_.tolist()
    np.testing.assert_allclose(sparse.radius_, dense.radius_, rtol=1e-9)
    np.testing.assert_array_equal(sparse.landmarks_.toarray(), DENSE[dense.landmark_indices_])
    np.testing.assert_allclose(sparse.transform(X.tocsr()[:9]), dense.transform(DENSE[:9]), atol=1e-6)
    np.testing.assert_allclose(sparse.transform(DENSE[:9]), sparse.transform(X.tocsr()[:9]), atol=1e-12)


def test_batches_and_checkpoints_change_nothing(tmp_path):
    X = scipy.sparse.csr_array(DENSE)
    whole, parts = DriftMap(n_landmarks=15).fit(X), DriftMap(n_landmarks=15)
    for first in range(0, 300, 70):
        parts.partial_fit(X[first : first + 70]).save(tmp_path / "map.ckpt")
        parts = DriftMap.load(tmp_path / "map.ckpt")
    assert parts.radius_ == whole.radius_
    assert parts.landmark_mass_.tolist() == whole.landmark_mass_.tolist()
    assert parts.transform(X).tobytes() == whole.transform(X).tobytes()
    assert parts.coverage_bound_ == whole.coverage_bound_


def test_a_wide_matrix_is_never_made_dense():
    width = 10**7  # 300 dense rows would need 24 GB
    X = scipy.sparse.random_array((300, width), density=1e-6, rng=1, format="csr")
    mapper = OnlineLandmarks(10).fit(X)
    assert mapper.landmarks_.shape == (10, width)
    assert mapper.radius_ == mapper.covering_radius_ > 0


def test_a_pair_has_one_distance_in_every_block_and_close_rows_keep_their_digits():
    near = DENSE[:20] + 1e-9 * rng.standard_normal((20, 40))
    X, Y = scipy.sparse.csr_array(DENSE[:20]), scipy.sparse.csr_array(near)
    whole = squared_distances(X, Y)
    assert np.array_equal(whole, squared_distances(Y, X).T)
    assert whole[3, 7] == squared_distances(X[3:4], Y[7:8])[0, 0]
    np.testing.assert_allclose(np.diag(whole), ((DENSE[:20] - near) ** 2).sum(axis=1), rtol=1e-6)
    assert np.array_equal(np.diag(squared_distances(X, X)), np.zeros(20))


def bad(row, column, value):
    X = DENSE.copy()
    X[row, column] = value
    return scipy.sparse.csr_array(X)


@pytest.mark.parametrize(
    ("X", "params", "message"),
    [
        (bad(2, 5, np.nan), {}, "row 2, column 5 is NaN"),
        (bad(2, 5, np.inf), {}, "row 2, column 5 is inf"),
        (scipy.sparse.csr_array(DENSE * 1j), {}, "Complex data"),
        (scipy.sparse.csr_array((0, 3)), {}, "0 sample"),
        (scipy.sparse.csr_array((4, 3)), {"metric": "cosine"}, "row 0 is zero and has no direction"),
        (scipy.sparse.csr_array(DENSE), {"metric": "cityblock"}, "metric='cityblock' is for dense rows"),
        (scipy.sparse.csr_array(DENSE), {"metric_params": {"p": 2}}, "metric_params={'p': 2} is for dense rows"),
    ],
)
def test_mistakes_name_their_place(X, params, message):
    with pytest.raises(ValueError, match=message):
        OnlineLandmarks(5, **params).partial_fit(X)


def test_later_rows_have_the_width_of_the_first():
    landmarks = OnlineLandmarks(5).partial_fit(scipy.sparse.csr_array(DENSE))
    with pytest.raises(ValueError, match="has 3 features, but the points seen so far have 40"):
        landmarks.partial_fit(scipy.sparse.csr_array(np.ones((2, 3))))


def test_scikit_learn_knows_that_sparse_rows_are_taken():
    assert DriftMap().__sklearn_tags__().input_tags.sparse
