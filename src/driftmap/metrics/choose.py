"""The space that fits a metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from driftmap.metrics.objects import ObjectSpace, RowSpace
from driftmap.metrics.points import EuclideanSpace, NamedSpace
from driftmap.metrics.precomputed import PrecomputedSpace
from driftmap.metrics.space import Space

Metric = str | Callable[[Any, Any], float]

ALIASES = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock"}


def make_space(metric: Metric, metric_params: dict[str, Any] | None, X: Any) -> Space:
    """The space for a metric; a callable measures rows if X is a numeric matrix, else arbitrary objects."""
    params = dict(metric_params or {})
    if callable(metric):
        return RowSpace(metric, params) if _is_matrix(X) else ObjectSpace(metric, params)
    if not isinstance(metric, str):
        raise TypeError(f"metric must be a name or a callable, got {metric!r}")
    name = ALIASES.get(metric, metric)
    if name == "precomputed":
        return PrecomputedSpace()
    if name == "euclidean" and not params:
        return EuclideanSpace()
    return NamedSpace(name, params)


def _is_matrix(X: Any) -> bool:
    """Whether X is a table of numbers: a data frame, a numeric matrix, or rows of numbers of one length."""
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype.kind in "biuf"
    if hasattr(X, "columns"):  # data frames
        return True
    if not isinstance(X, list | tuple) or not all(isinstance(row, list | tuple | np.ndarray) for row in X):
        return False  # other objects may look like sequences, for example graphs
    try:
        array = np.asarray(X)
    except ValueError:
        return False
    return array.ndim == 2 and array.dtype.kind in "biuf"
