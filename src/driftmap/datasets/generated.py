"""Generated streams."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from sklearn.datasets import make_s_curve

from driftmap.utils import Array


@overload
def s_curve_stream(
    n: int = ..., random_state: int | None = ..., *, return_parameter: Literal[False] = ...
) -> Array: ...
@overload
def s_curve_stream(
    n: int = ..., random_state: int | None = ..., *, return_parameter: Literal[True]
) -> tuple[Array, Array]: ...
def s_curve_stream(
    n: int = 1000, random_state: int | None = 1, *, return_parameter: bool = False
) -> Array | tuple[Array, Array]:
    """Return points of scikit-learn's S-curve without noise, of shape (n, 3), ordered by the curve's parameter.

    The defaults give the paper's stream. With `return_parameter`, also return the parameter, ascending.

    >>> points, parameter = s_curve_stream(5, return_parameter=True)
    >>> points.shape, bool(np.all(np.diff(parameter) >= 0))
    ((5, 3), True)
    """
    points, parameter = make_s_curve(n, noise=0.0, random_state=random_state)
    order = np.argsort(parameter, kind="stable")
    return (points[order], parameter[order]) if return_parameter else points[order]
