"""Columns of values (numbers, dates or groups) encoded as numbers, by which a browser colours points."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.utils import Array

MOST_NAMES = 20_000
"""Most distinct texts stored: the most frequent ones; others are missing values."""
MOST_LIVE_NAMES = 1000
"""Most distinct texts stored for a stream; later ones are missing values."""


class Column(NamedTuple):
    """A named column with a number for each row."""

    name: str
    kind: str
    """"number", "date" or "category"."""
    values: Array
    """Numbers, seconds since ``base``, or indices into ``names``. NaN is missing."""
    base: float = 0.0
    names: tuple[str, ...] = ()
    diverging: bool = False
    """Whether 0 is the middle of the colours."""

    def described(self) -> dict[str, Any]:
        """Return the description for the header of a message."""
        found = {"name": self.name, "kind": self.kind, "base": self.base, "names": self.names}
        return found | ({"diverging": True} if self.diverging else {})


def column_of(name: str, values: Any) -> Column:
    """Return the column of an array or list of numbers, dates (of any type) or text.

    >>> column_of("kind", ["b", "a", "b"])
    Column(name='kind', kind='category', values=array([0., 1., 0.]), base=0.0, names=('b', 'a'), diverging=False)
    >>> column_of("day", np.array(["2026-01-01", "2026-01-02"], "datetime64[D]"))
    Column(name='day', kind='date', values=array([    0., 86400.]), base=1767225600.0, names=(), diverging=False)
    """
    array = np.asarray(values)
    if array.dtype == object and len(array) and isinstance(array[0], datetime.date):
        array = array.astype("datetime64[us]")
    if array.dtype.kind == "M":
        return dates(name, array)
    if array.dtype.kind in "iuf":
        return Column(name, "number", array.astype(np.float64))
    return groups(name, [str(value) for value in array.tolist()])


def dates(name: str, moments: NDArray[Any]) -> Column:
    """Return a column of dates, relative to the earliest one so that single precision resolves seconds."""
    seconds = np.where(np.isnat(moments), np.nan, moments.astype("datetime64[us]").astype(np.float64) / 1e6)
    base = float(np.nanmin(seconds)) if np.isfinite(seconds).any() else 0.0
    return Column(name, "date", seconds - base, base)


def groups(name: str, texts: Sequence[str]) -> Column:
    """Return a column of text. Groups are numbered by decreasing frequency."""
    different, places, counts = np.unique(np.array(texts, dtype=str), return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order))
    values = rank[places]
    names = tuple(different[order[:MOST_NAMES]].tolist())
    return Column(name, "category", np.where(values < len(names), values, np.nan), names=names)


class GrowingColumn:
    """A column of a stream, whose kind is inferred from the first value that is not empty.

    >>> column = GrowingColumn("kind")
    >>> column.add(["b", "a", "b"]), column.names
    (array([0., 1., 0.]), ['b', 'a'])
    """

    def __init__(self, name: str, kind: str | None = None) -> None:
        self.name, self.kind, self.base = name, kind, 0.0
        self.names: list[str] = []
        self._places: dict[str, int] = {}

    def described(self) -> dict[str, Any]:
        """Return the description for the header of a message."""
        return {"name": self.name, "kind": self.kind or "number", "base": self.base, "names": self.names}

    def add(self, values: Any) -> Array:
        """Encode further values as numbers; values that do not fit the kind become NaN."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
            self.kind = self.kind or "number"
            return values.astype(np.float64)
        if isinstance(values, np.ndarray) and values.dtype.kind == "M":
            values = np.datetime_as_string(values).tolist()
        texts = [str(value).strip() for value in values]
        if self.kind is None and (first := next(filter(None, texts), None)) is not None:
            seconds = _seconds(first)
            self.kind = "number" if np.isfinite(_number(first)) else "date" if np.isfinite(seconds) else "category"
            self.base = seconds if self.kind == "date" else 0.0
        if self.kind == "date":
            return np.array([_seconds(text) - self.base for text in texts])
        return np.array([_number(text) if self.kind == "number" else self._place(text) for text in texts])

    def _place(self, text: str) -> float:
        if text not in self._places:
            if len(self._places) >= MOST_LIVE_NAMES:
                return np.nan
            self._places[text] = len(self.names)
            self.names.append(text)
        return float(self._places[text])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _seconds(text: str) -> float:
    """Return the seconds since 1970; a date without a time zone is taken as UTC."""
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return np.nan
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)).timestamp()
