"""The parameters of an estimator."""

from __future__ import annotations

import inspect
from typing import Any


def params_of(estimator: object) -> dict[str, Any]:
    """What ``__init__`` takes, which it only stores: as ``get_params(deep=False)`` of scikit-learn gives it.

    >>> class Circle:
    ...     def __init__(self, radius=1.0, *, centre=(0.0, 0.0)):
    ...         self.radius, self.centre = radius, centre
    >>> params_of(Circle(2.0))
    {'centre': (0.0, 0.0), 'radius': 2.0}
    """
    return {name: getattr(estimator, name) for name in sorted(inspect.signature(type(estimator)).parameters)}
