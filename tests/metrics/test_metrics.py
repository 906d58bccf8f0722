"""The table of metrics: each property that it states holds, and would fail for a metric that has it not."""

import inspect
from dataclasses import fields

import numpy as np
import pytest

import naive
from driftmap import DriftMap, InputError, OnlineLandmarks, _core
from driftmap.landmarks.params import LandmarkParams
from driftmap.map.novelty import NoveltyDetector
from driftmap.map.params import MapParams
from driftmap.metrics import METRICS, find_metric, make_store
from driftmap.metrics.table import ALIASES

RNG = np.random.default_rng(0)
TRUTH_VALUES = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
"""Metrics of rows of truth values, of which only the names are promised."""
OF_ROWS = sorted(set(METRICS) - {*TRUTH_VALUES, "precomputed"})


def rows(name, n=40, d=5):
    X = RNG.random((n, d)) + 0.1
    return np.round(3 * X) if name == "hamming" else X


def distances(name, X, scale=None):
    """Distances between rows; parameters fit columns that were multiplied by ``scale``."""
    scale = np.ones(X.shape[1]) if scale is None else scale
    params = {"V": scale**2, "VI": np.diag(scale**-2.0)}
    parameter = METRICS[name].parameter
    metric = find_metric(name, {parameter: params[parameter]} if parameter else None, X)
    points = metric.check(X, None)
    return metric.between(points, points)


def test_the_table_has_every_metric_of_the_core_and_of_the_oracle():
    assert {name for name, metric in METRICS.items() if metric.compiled} == set(_core.METRICS) == set(naive.METRICS)
    for name in _core.METRICS:
        assert find_metric(name, None).native


@pytest.mark.parametrize("name", OF_ROWS)
def test_the_triangle_inequality_holds_where_the_table_says_so(name):
    D = distances(name, np.concatenate([rows(name), np.eye(5) + 1e-3]))
    excess = (D[:, None, :] - D[:, :, None] - D[None, :, :]).max() / D.max()
    if METRICS[name].triangle:
        assert excess <= 1e-12
    elif METRICS[name].compiled:
        assert excess > 1e-3, "a metric that obeys it can have bounded memory"
    params = {METRICS[name].parameter: np.eye(5)} if METRICS[name].parameter else None
    assert make_store(name, params).metric.triangle == METRICS[name].triangle


@pytest.mark.parametrize("name", sorted({*OF_ROWS} - {"minkowski"}))
def test_the_scale_of_a_column_matters_unless_the_table_says_otherwise(name):
    X, scale = rows(name), np.array([1000.0, 1, 1, 1, 1])
    same = np.allclose(distances(name, X), distances(name, X * scale, scale), atol=1e-9)
    assert same == METRICS[name].scale_free


@pytest.mark.parametrize("name", sorted({*OF_ROWS} - {"nan_euclidean"}))
def test_a_constant_column_matters_where_the_table_says_so(name):
    X = rows(name)
    wider = np.column_stack([X, np.full(len(X), 2.0)])
    same = np.allclose(distances(name, X), distances(name, wider), atol=1e-9)
    assert same != METRICS[name].counts_constants


@pytest.mark.parametrize("name", sorted(_core.METRICS))
def test_rows_for_which_a_metric_is_not_defined_are_refused_in_its_words(name):
    X = np.zeros((3, 4))
    if METRICS[name].undefined:
        with pytest.raises(InputError, match="row 0") as caught:
            OnlineLandmarks(2, metric=name).fit(X)
        assert METRICS[name].undefined in str(caught.value)
    else:
        assert OnlineLandmarks(2, metric=name).fit(X).radius_ >= 0


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_aliases(alias):
    assert find_metric(alias, None).name == ALIASES[alias]


@pytest.mark.parametrize("name", [name for name, metric in METRICS.items() if metric.parameter])
def test_a_parameter_that_would_be_estimated_from_each_batch_is_asked_for(name):
    with pytest.raises(InputError, match=f"needs metric_params={{'{METRICS[name].parameter}'"):
        OnlineLandmarks(2, metric=name).fit(np.eye(3))


# --- parameters are stated once; scikit-learn has estimators spell them out ---


@pytest.mark.parametrize(("kind", "params"), [(DriftMap, MapParams), (OnlineLandmarks, LandmarkParams)])
def test_estimators_have_the_parameters_and_defaults_of_their_engines(kind, params):
    given = {name: value.default for name, value in inspect.signature(kind).parameters.items()}
    for field in fields(params):
        if (kind, field.name) != (OnlineLandmarks, "n_landmarks"):  # has no default there
            assert given.pop(field.name) == field.default
    assert set(given) <= {"n_landmarks", "initial_radius"}


def test_alerts_of_sparse_rows_name_no_features():
    from scipy.sparse import csr_array

    X = np.random.default_rng(0).random((600, 4))
    X[500] = 40.0
    alerts = DriftMap(n_landmarks=5).update(csr_array(X), detector=NoveltyDetector(3)).alerts
    assert [(alert.row, alert.features) for alert in alerts] == [(500, ())]
