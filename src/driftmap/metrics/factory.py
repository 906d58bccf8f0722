"""Factory: the metric for a name or a function, and the store for its points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from driftmap.metrics.base import Metric
from driftmap.metrics.callables import ObjectFunction, RowFunction
from driftmap.metrics.masked import MaskedEuclidean
from driftmap.metrics.native import NativeMetric
from driftmap.metrics.precomputed import DistanceStore, Precomputed
from driftmap.metrics.scipy_metrics import ScipyMetric
from driftmap.metrics.sparse import SparseMetric
from driftmap.metrics.stores import CoreStore, PointStore, SourceStore, Store
from driftmap.metrics.table import ALIASES, METRICS
from driftmap.utils.data_frames import is_frame
from driftmap.utils.errors import InputError
from driftmap.utils.validation import is_sparse

MetricLike = str | Callable[[Any, Any], float]
"""What a parameter ``metric`` may be."""

SPECIAL_CASES = {1.0: "cityblock", 2.0: "euclidean", np.inf: "chebyshev"}
"""Minkowski metrics that have a name."""


def find_metric(metric: MetricLike, metric_params: dict[str, Any] | None, X: Any = None) -> Metric:
    """Return the metric for points such as X; a callable measures rows if X is a numeric matrix, else objects."""
    params = dict(metric_params or {})
    if callable(metric):
        return RowFunction(metric, params) if _is_matrix(X) else ObjectFunction(metric, params)
    if not isinstance(metric, str):
        raise InputError(f"must be a name or a callable, got {metric!r}", parameter="metric")
    if metric == "precomputed":
        return Precomputed()
    name = ALIASES.get(metric, metric)
    if is_sparse(X):
        if params:
            raise InputError(f"={params} is for dense rows, and X is sparse", parameter="metric_params")
        return SparseMetric(name)
    if name == "minkowski" and set(params) <= {"p"}:
        p = params.get("p", 2)
        if p in SPECIAL_CASES:
            return NativeMetric(SPECIAL_CASES[p])
        if isinstance(p, int | float) and p > 0:
            return NativeMetric(name, float(p))
    elif name in METRICS and not params:
        if METRICS[name].compiled:
            return NativeMetric(name)
        if name == MaskedEuclidean.name:
            return MaskedEuclidean()
    return ScipyMetric(name, params)


def make_store(metric: MetricLike, metric_params: dict[str, Any] | None, X: Any = None) -> Store:
    """Return an empty store for the points of a stream of the core, which stores those that it measures itself."""
    found = find_metric(metric, metric_params, X)
    return CoreStore(found) if found.native else source_store(found)


def stored(X: Any, metric: MetricLike, metric_params: dict[str, Any] | None = None) -> SourceStore:
    """Return a store of the points of X, without a stream."""
    store = source_store(find_metric(metric, metric_params, X))
    rows = store.check(X)
    store.metric.check_spread(rows)
    store.extend(rows)
    return store


def source_store(metric: Metric) -> SourceStore:
    """Return an empty store that holds all points itself."""
    return DistanceStore(metric) if metric.form == "distances" else PointStore(metric)


def _is_matrix(X: Any) -> bool:
    """Whether X is a table of numbers: a data frame, a numeric matrix, or rows of numbers of one length."""
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype.kind in "biuf"
    if is_frame(X):
        return True
    if hasattr(X, "__array__") or hasattr(X, "__dlpack__"):
        X = np.asarray(X) if hasattr(X, "__array__") else np.from_dlpack(X)
        return X.ndim == 2 and X.dtype.kind in "biuf"
    if not isinstance(X, list | tuple) or not all(isinstance(row, list | tuple | np.ndarray) for row in X):
        return False  # other objects may look like sequences, for example graphs
    try:
        array = np.asarray(X)
    except ValueError:
        return False
    return array.ndim == 2 and array.dtype.kind in "biuf"
