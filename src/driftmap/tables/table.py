"""Tables in chunks: every format gives the same chunks of numbers, so a file may be larger than memory."""

from __future__ import annotations

import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.utils import Array
from driftmap.utils.columns import LeftOut, describe, some, suggestion
from driftmap.utils.errors import InputError
from driftmap.utils.validation import first_unusable, problem_of, usable

Labels = list[str] | Array | None

CHUNK_ROWS = 2**14
CHUNK_CELLS = 2**19
"""Rows and cells of a chunk, at most."""


class Chunk(NamedTuple):
    """Some rows of a table."""

    features: Array
    labels: Labels = None
    fraction: float | None = None
    """How much of the table is read with this chunk; None where its size is not known."""

    def part(self, first: int, last: int) -> Chunk:
        """The rows from ``first`` up to, but not including, ``last``."""
        labels = None if self.labels is None else self.labels[first:last]
        return Chunk(self.features[first:last], labels, self.fraction)


class Position(NamedTuple):
    """A place in a table between two rows, from which reading can go on."""

    rows: int
    """Rows before it."""
    lines: int = 0
    """Lines of text before it."""
    offset: Any = 0
    """Bytes of (decompressed) text before it; if the table is followed, a position of its source at or before it."""
    dropped: int = 0
    """Rows before it that were not given out."""
    ahead: int = 0
    """Lines between the position of the source and this place."""


@dataclass(eq=False)
class RejectedLines:
    """Lines of text that are no rows of numbers. The first is an error; with ``skip`` each is reported and counted.

    ``report`` takes one message; ``settled`` lines up to the line ``last`` are not counted again by another pass.
    """

    skip: bool = False
    report: Callable[[str | InputError], Any] = lambda message: None
    settled: int = 0
    last: int = 0
    _recent: set[int] = field(default_factory=set)

    @property
    def count(self) -> int:
        """All of them so far."""
        return self.settled + len(self._recent)

    def reject(self, error: InputError) -> None:
        """Count and report a line, or raise the error."""
        if not self.skip:
            raise error
        line = error.line or 0
        if line > self.last and line not in self._recent:
            self._recent.add(line)
            self.report(f"skipped: {error.in_words(error.parameter, {})}")  # what to do about it is decided

    def settle(self, line: int) -> None:
        """All lines up to this one have been read."""
        if line > self.last:
            self.settled, self.last = self.settled + len(self._recent), line
            self._recent.clear()

    def restart(self) -> None:
        """Lines are numbered from 1 again, since the input was replaced."""
        self.settled, self.last = self.count, 0
        self._recent.clear()


class Wanted(NamedTuple):
    """The columns the user asked for (None: all of numbers but the label), and what happens to bad lines of text."""

    columns: list[str] | None = None
    label: str | None = None
    header: str = "auto"
    rejected: RejectedLines = RejectedLines()
    exclude: Sequence[str] = ()
    missing: bool = False
    """Whether numbers may be missing; they are NaN then."""
    decimal: str = "."
    thousands: str = ""
    """How numbers are written in CSV."""

    @property
    def asked(self) -> list[str]:
        """All columns that the user names."""
        return [*([] if self.label is None else [self.label]), *(self.columns or ()), *self.exclude]


class Table(ABC):
    """Rows of numbers, read in chunks as often as needed (a stream: once)."""

    name: str
    columns: tuple[str, ...]
    """Names of the features."""
    label: str | None
    """Name of the label, if there is one."""
    left_out: tuple[LeftOut, ...]
    """The columns that could not be features, where none were asked for."""
    about: Mapping[str, Any] = MappingProxyType({})
    """Further facts about the input, for a summary."""
    color: tuple[NDArray[Any], str] | None = None
    """What colours figures instead of the label, a value for each row, and its name."""
    labels_are_times = False
    is_live = False
    """Whether rows may be worth waiting for one by one."""
    waits = False
    """Whether the source holds back rows until earlier ones are done, so that an idle run has to save them."""

    @abstractmethod
    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """All rows from the first, or from a position of an earlier pass, ``rows`` at a time; a chunk may be empty."""

    @abstractmethod
    def position(self) -> Position:
        """The place after the last chunk that was given out."""

    def done(self, position: Position) -> None:  # noqa: B027
        """All rows up to a position are learnt and, if there is a checkpoint, in it."""

    def tail(self) -> tuple[int, int, str] | None:
        """Where the last bytes before the present position begin and end, and their digest, if the table may grow."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Close the file."""


def chunk_rows(n_columns: int) -> int:
    """How many rows of so many columns to read at a time."""
    return max(1, min(CHUNK_ROWS, CHUNK_CELLS // n_columns))


class Selection(NamedTuple):
    """Which columns are used."""

    places: list[int]
    """Positions of the features."""
    label: int | None
    left_out: tuple[LeftOut, ...] = ()


def select(names: Sequence[str], wanted: Wanted, source: str, kinds: Sequence[str] = ()) -> Selection:
    """The columns to use; ``kinds`` says what each holds if these are not numbers, where that is known.

    An error names every column that is unknown or asked for in vain.
    """
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
    """The columns whose numbers decide whether they are features: none where the user lists the features."""
    return [] if wanted.columns is not None else [i for i in _positions(names, wanted, source)[1] if names[i]]


def without_numbers(columns: Sequence[int], read: Callable[[list[int]], Iterator[Array]]) -> list[int]:
    """Those of some columns that are NaN in every row; ``read`` gives the rows of columns, block by block.

    The first block is read of all columns, the others only of those that have no number there.
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
    """Where the label and the columns are that may be features."""
    for name in wanted.asked:
        if names.count(name) > 1:
            raise InputError(f"has {names.count(name)} columns named {name!r}", source=source)
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
    """What to say of names that no column has."""
    found = [suggestion(name, names) for name in unknown]
    said = ", ".join(f"{name!r}{hint}" for name, hint in zip(unknown, found, strict=True))
    return f"has no column {said}" + ("" if all(found) else f"; it has: {some(names)}")


def numbered(n: int) -> list[str]:
    """Names of columns that have none: their numbers from 1."""
    return [str(i) for i in range(1, n + 1)]


def vector_names(name: str, width: int | None) -> list[str]:
    """The names of the columns into which a column of lists falls; of one of numbers, its own.

    >>> vector_names("embedding", 3), vector_names("price", None)
    (['embedding_1', 'embedding_2', 'embedding_3'], ['price'])
    """
    return [name] if width is None else [f"{name}_{i}" for i in numbered(width)]


def kind_of(numbers: bool, texts: Sequence[str]) -> str:
    """What a column holds, given whether a look at it found numbers, and what else it found; "" for numbers.

    >>> kind_of(False, ["2020-01-01", "2020-01-02"]), kind_of(False, ["x"]), kind_of(False, []), kind_of(True, ["x"])
    ('dates', 'text', 'empty', '')
    """
    if numbers:
        return ""
    if not texts:
        return "empty"
    return "dates" if all(map(_is_date, texts)) else "text"


def _is_date(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return True


def check_usable(features: Array, columns: Sequence[str], source: str, first: int, *, missing: bool) -> None:
    """Raise an error that names the first cell that is no usable number; ``first`` rows are before these."""
    if not usable(features, missing=missing):
        row, column, _ = first_unusable(features, missing=missing)
        raise unusable(float(features[row, column]), source=source, row=first + row + 1, column=columns[column])


def unusable(value: float, **where: Any) -> InputError:
    """The error for a number of a file that cannot be used."""
    if math.isnan(value):
        return InputError("is NaN", advice="missing", **where)
    if math.isinf(value) and "row" not in where:
        return InputError(f"is {value}", advice="line", **where)
    return InputError(problem_of(value), **where)
