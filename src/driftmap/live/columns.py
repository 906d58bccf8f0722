"""Columns of what is shown: numbers, dates or groups, as numbers that a browser can colour by."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.utils import Array

COLOURED_GROUPS = 10
"""Groups that have a colour of their own."""
MOST_NAMES = 20_000
"""Different texts that are stored; of more, only the most frequent ones."""


class Column(NamedTuple):
    """A column: what it is called, and a number for each row."""

    name: str
    kind: str
    """"number", "date" or "category"."""
    values: Array
    """Numbers; seconds since ``base``; or the places of texts in ``names``. NaN is missing."""
    base: float = 0.0
    names: tuple[str, ...] = ()

    def described(self) -> dict[str, Any]:
        """As the header of a message has it."""
        return {"name": self.name, "kind": self.kind, "base": self.base, "names": self.names}


def column_of(name: str, values: Any) -> Column:
    """The column of an array or a list: numbers, dates (of any kind) or text.

    >>> column_of("kind", ["b", "a", "b"])
    Column(name='kind', kind='category', values=array([1., 0., 1.]), base=0.0, names=('a', 'b'))
    >>> column_of("day", np.array(["2026-01-01", "2026-01-02"], "datetime64[D]"))
    Column(name='day', kind='date', values=array([    0., 86400.]), base=1767225600.0, names=())
    """
    array = np.asarray(values)
    if array.dtype == object and len(array) and isinstance(array[0], datetime.date):
        array = array.astype("datetime64[us]")
    if array.dtype.kind == "M":
        return dates(name, array)
    if array.dtype.kind in "iufb":
        return Column(name, "number", array.astype(np.float64))
    return groups(name, [str(value) for value in array.tolist()])


def dates(name: str, moments: NDArray[Any]) -> Column:
    """A column of dates; they are relative to the first one, so that single precision tells seconds apart."""
    seconds = np.where(np.isnat(moments), np.nan, moments.astype("datetime64[us]").astype(np.float64) / 1e6)
    base = float(np.nanmin(seconds)) if np.isfinite(seconds).any() else 0.0
    return Column(name, "date", seconds - base, base)


def groups(name: str, texts: Sequence[str]) -> Column:
    """A column of text; if there are more groups than colours, the most frequent ones come first."""
    different, places, counts = np.unique(np.array(texts, dtype=str), return_inverse=True, return_counts=True)
    if len(different) <= COLOURED_GROUPS:
        return Column(name, "category", places.astype(np.float64), names=tuple(different.tolist()))
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order))
    values = rank[places]
    names = tuple(different[order[:MOST_NAMES]].tolist())
    return Column(name, "category", np.where(values < len(names), values, np.nan), names=names)
