"""Factory of spaces: the space for a metric and its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from driftmap import _core
from driftmap.metrics.base import Space
from driftmap.metrics.callables import ObjectFunction, RowFunction
from driftmap.metrics.masked import MASKED, MaskedSpace
from driftmap.metrics.native import NativeSpace
from driftmap.metrics.precomputed import PrecomputedSpace
from driftmap.metrics.scipy_metrics import ScipySpace
from driftmap.metrics.sparse import SparseSpace
from driftmap.utils.data_frames import is_frame
from driftmap.utils.errors import InputError
from driftmap.utils.validation import is_sparse

Metric = str | Callable[[Any, Any], float]

ALIASES = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock"}
SPECIAL_CASES = {1.0: "cityblock", 2.0: "euclidean", np.inf: "chebyshev"}
"""Minkowski metrics that have a name."""


def make_space(metric: Metric, metric_params: dict[str, Any] | None, X: Any) -> Space:
    """The space for a metric; a callable measures rows if X is a numeric matrix, else arbitrary objects."""
    params = dict(metric_params or {})
    if callable(metric):
        return RowFunction(metric, params) if _is_matrix(X) else ObjectFunction(metric, params)
    if not isinstance(metric, str):
        raise InputError(f"must be a name or a callable, got {metric!r}", parameter="metric")
    if metric == "precomputed":
        return PrecomputedSpace()
    name = ALIASES.get(metric, metric)
    if is_sparse(X):
        if params:
            raise InputError(f"={params} is for dense rows, and X is sparse", parameter="metric_params")
        return SparseSpace(name)
    if name == "minkowski" and set(params) <= {"p"}:
        p = params.get("p", 2)
        if p in SPECIAL_CASES:
            return NativeSpace(SPECIAL_CASES[p])
        if isinstance(p, int | float) and p > 0:
            return NativeSpace(name, float(p))
    elif name == MASKED and not params:
        return MaskedSpace()
    elif name in _core.METRICS and not params:
        return NativeSpace(name)
    return ScipySpace(name, params)


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
