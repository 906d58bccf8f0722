"""Which columns of a table are its features: those the user names, or else those that hold numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from driftmap.tables.cells import USUAL, Marks
from driftmap.tables.rejected import RejectedLines
from driftmap.utils import Array
from driftmap.utils.columns import LeftOut, describe, short, some, suggestion
from driftmap.utils.errors import InputError

MOST_COLUMNS = 1_000_000
"""Most columns of a table; each takes some 100 bytes before a row is read."""


def check_columns(n: int, source: str, most: int = MOST_COLUMNS) -> None:
    """Raise an error if a table has too many columns."""
    if n > most:
        raise InputError(f"has {n:,} columns; at most {most:,} can be read", source=source)


class Wanted(NamedTuple):
    """The columns that the user asks for (None: all columns of numbers except the label), and how to read them."""

    columns: list[str] | None = None
    label: str | None = None
    header: str = "auto"
    rejected: RejectedLines = RejectedLines()
    exclude: Sequence[str] = ()
    missing: bool = False
    """Whether numbers may be missing; they become NaN."""
    decimal: str = "."
    thousands: str = ""
    """How numbers are written in CSV."""
    delimiter: str | None = None
    """The delimiter of CSV; a space stands for any run of blanks. None: found in the first lines."""
    format: str | None = None
    """Key of the input format. None: determined by the suffix or, for a stream, by the first bytes."""
    marks: Marks = USUAL
    """Marks of missing numbers."""

    @property
    def asked(self) -> list[str]:
        """All columns that the user names."""
        return [*([] if self.label is None else [self.label]), *(self.columns or ()), *self.exclude]


class Selection(NamedTuple):
    """The selected columns."""

    places: list[int]
    """Positions of the features."""
    label: int | None
    left_out: tuple[LeftOut, ...] = ()


def select(names: Sequence[str], wanted: Wanted, source: str, kinds: Sequence[str] = ()) -> Selection:
    """Select the columns; ``kinds`` has the content of each column that is known not to hold numbers.

    An error names every column that is unknown or cannot be a feature.
    """
    check_columns(len(names), source)
    label, chosen = _positions(names, wanted, source)
    holds = dict(enumerate(kinds))
    if wanted.columns is not None:
        unfit = [LeftOut(names[i], holds[i]) for i in chosen if holds.get(i)]
        if unfit:
            raise InputError(f": not numbers: {describe(unfit)}", source=source)
        if not chosen:
            raise InputError("leaves none of the columns", parameter="exclude")
        return Selection(chosen, label)
    left_out = []
    for i in chosen:
        if not names[i]:
            left_out.append(LeftOut(f"column {i + 1}", "it has no name and may hold row numbers"))
        elif holds.get(i):
            left_out.append(LeftOut(names[i], holds[i]))
    places = [i for i in chosen if names[i] and not holds.get(i)]
    if not places:
        why = f"; left out: {describe(left_out)}" if left_out else ""
        raise InputError(f": no column is left for the features{why}", source=source)
    return Selection(places, label, tuple(left_out))


def candidates(names: Sequence[str], wanted: Wanted, source: str) -> list[int]:
    """Return the columns whose content decides whether they are features; none if the user lists the features."""
    return [] if wanted.columns is not None else [i for i in _positions(names, wanted, source)[1] if names[i]]


def without_numbers(columns: Sequence[int], read: Callable[[list[int]], Iterator[Array]]) -> list[int]:
    """Return those of some columns that are NaN in every row; ``read`` yields the rows of columns, block by block.

    Only the first block is read with all columns; later blocks with those that have had no number yet.
    """
    empty = list(columns)
    first = next(read(empty), None) if empty else None
    if first is None:
        return []
    empty = [empty[i] for i in np.flatnonzero(np.isnan(first).all(axis=0)).tolist()]
    is_bare = np.ones(len(empty), dtype=bool)
    for block in read(empty) if empty else ():
        is_bare &= np.isnan(block).all(axis=0)
        if not is_bare.any():
            break
    return [empty[i] for i in np.flatnonzero(is_bare).tolist()]


def _positions(names: Sequence[str], wanted: Wanted, source: str) -> tuple[int | None, list[int]]:
    """Return the positions of the label and of the columns that may be features."""
    for name in wanted.asked:
        if names.count(name) > 1:
            raise InputError(f"has {names.count(name)} columns named {short(name)!r}", source=source)
    unknown = list(dict.fromkeys(name for name in wanted.asked if name not in names))
    if unknown:
        raise InputError(_unknown(unknown, names), source=source)
    place = {name: i for i, name in enumerate(names)}
    label = None if wanted.label is None else place[wanted.label]
    excluded = {place[name] for name in wanted.exclude}
    if wanted.columns is None:
        return label, [i for i in range(len(names)) if i != label and i not in excluded]
    twice = next((name for name in wanted.columns if wanted.columns.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"lists {twice!r} twice", parameter="columns")
    return label, [place[name] for name in wanted.columns if place[name] not in excluded]


def _unknown(unknown: Sequence[str], names: Sequence[str]) -> str:
    """Return the error text for names that no column has."""
    found = [suggestion(name, names) for name in unknown]
    said = ", ".join(f"{short(name)!r}{hint}" for name, hint in zip(unknown, found, strict=True))
    return f"has no column {said}" + ("" if all(found) else f"; it has: {some(names)}")


def numbered(n: int) -> list[str]:
    """Return names for columns without names: their numbers from 1."""
    return [str(i) for i in range(1, n + 1)]


def vector_names(name: str, width: int | None) -> list[str]:
    """Return the names of the columns of a list; for a column of numbers, its own name.

    >>> vector_names("embedding", 3), vector_names("price", None)
    (['embedding_1', 'embedding_2', 'embedding_3'], ['price'])
    """
    return [name] if width is None else [f"{name}_{i}" for i in numbered(width)]
