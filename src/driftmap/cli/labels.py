"""Labels as colours: numbers, dates or names."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_color(labels: Sequence[str]) -> NDArray[Any]:
    """The labels as numbers or dates if all of them (but the empty ones) are, else as they are.

    >>> as_color(["1", "2.5", ""])
    array([1. , 2.5, nan])
    >>> as_color(["2013-01-02", "2013-01-03T12:00"]).astype("datetime64[h]")
    array(['2013-01-02T00', '2013-01-03T12'], dtype='datetime64[h]')
    >>> as_color(["cat", "2"]).tolist()
    ['cat', '2']
    """
    given = [label.strip() for label in labels]
    if any(given):
        for read in (_number, _date):
            try:
                return np.array([read(label) for label in given])
            except ValueError:
                continue
    return np.array(given, dtype=str)


def _number(label: str) -> float:
    return float(label) if label else np.nan


def _date(label: str) -> np.datetime64:
    if not label:
        return np.datetime64("NaT", "us")
    moment = datetime.datetime.fromisoformat(label)
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(moment, "us")
