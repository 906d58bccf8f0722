"""transform: the short way for plain matrices, and rows that are placed without distances to the landmarks."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from driftmap import DriftMap
from driftmap.embedding import LandmarkMDS, LandmarkStress
from streams import make

EMBEDDINGS = ("stress", "weighted-lmds", "lmds")


def walk(n=300, d=4):
    return make("walk", n, d, seed=0)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_row_i_of_a_batch_equals_row_i_alone(k, embedding, metric):
    X = walk()
    mapper = DriftMap(k, n_landmarks=30, embedding=embedding, metric=metric)
    for part in np.split(X, 5):
        mapper.partial_fit(part).transform(part)  # frames that are turned and shifted
    alone = np.concatenate([mapper.transform(x[None]) for x in X])
    assert mapper.transform(X).tobytes() == alone.tobytes()


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_the_same_numbers_in_another_form_go_to_the_same_place(embedding):
    X = walk().astype(np.float32).astype(np.float64)
    mapper = DriftMap(n_landmarks=20, embedding=embedding).fit(X)
    expected = mapper.transform(X).tobytes()
    wide = np.zeros((300, 8))
    wide[:, ::2] = X
    for form in (X.tolist(), X.astype(np.float32), np.asfortranarray(X), wide[:, ::2], pd.DataFrame(X)):
        assert mapper.transform(form).tobytes() == expected


@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_plain_matrices_are_refused_as_others_are(embedding, dtype):
    X = walk()
    mapper = DriftMap(n_landmarks=20, embedding=embedding).fit(X)
    for value, message in ((np.nan, "row 3, column 1 is NaN"), (-np.inf, "row 3, column 1 is -inf")):
        bad = X[:9].astype(dtype)
        bad[3, 1] = value
        for method in (mapper.transform, mapper.novelty):
            with pytest.raises(ValueError, match=message):
                method(bad)
    with pytest.raises(ValueError, match="3 features"):
        mapper.transform(X[:, :3].astype(dtype))
    with pytest.raises(ValueError, match=r"0 sample"):
        mapper.transform(X[:0].astype(dtype))
    with pytest.raises(ValueError, match="2D array"):
        mapper.transform(X[0].astype(dtype))


def test_numbers_may_be_large_but_not_too_large():
    X = walk() * 1e120
    mapper = DriftMap(n_landmarks=20, embedding="lmds").fit(X)
    assert_allclose(mapper.transform(X), 1e120 * DriftMap(n_landmarks=20, embedding="lmds").fit_transform(walk()))
    with pytest.raises(ValueError, match="row 1, column 2 is 1e\\+200: its square overflows"):
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
    assert_allclose(
        watched.transform(X), DriftMap(n_landmarks=20, embedding=name, n_anchors=None).fit_transform(X), atol=1e-6
    )
    assert (300, 20) in asked


def test_threads_do_not_get_into_each_others_way():
    X = walk(4000)
    mapper = DriftMap(n_landmarks=20).fit(X)
    expected = [part.tobytes() for part in np.split(mapper.transform(X), 8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            assert [out.tobytes() for out in pool.map(mapper.transform, np.split(X, 8))] == expected


def test_threads_change_no_coordinate():
    X = np.random.default_rng(0).standard_normal((10_000, 4))
    for params in ({}, {"embedding": "lmds"}, {"metric": "manhattan"}):
        mapper = DriftMap(n_landmarks=10, **params).fit(X[:500])
        alone = mapper.transform(X)
        for n_jobs in (2, -1):
            np.testing.assert_array_equal(mapper.set_params(n_jobs=n_jobs).transform(X), alone)


def test_single_precision_is_mapped_as_its_values():
    X = np.random.default_rng(0).standard_normal((10_000, 4)).astype(np.float32)
    single, double = DriftMap(n_landmarks=10).fit(X), DriftMap(n_landmarks=10).fit(X.astype(np.float64))
    np.testing.assert_array_equal(single.landmark_indices_, double.landmark_indices_)
    np.testing.assert_array_equal(single.transform(X), double.transform(X.astype(np.float64)))
