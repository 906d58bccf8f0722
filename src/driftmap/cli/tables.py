"""Tables in pieces: every format gives the same chunks of numbers, so a file may be larger than memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from driftmap.cli.badlines import BadLines
from driftmap.cli.errors import UserError
from driftmap.cli.sources import Source, open_source

Array = NDArray[np.float64]

CHUNK_ROWS = 2**14
CHUNK_CELLS = 2**19
"""Rows and cells read at a time, at most."""
PARQUET = (".parquet", ".pq")
SMALL = 2**20
"""Files of fewer bytes are read as quickly without any preparation."""
LARGEST = 1e150
"""Beyond this, squared distances overflow."""


class Chunk(NamedTuple):
    """Some rows of a table."""

    features: Array
    labels: list[str] | Array | None
    fraction: float | None
    """How much of the table is read with this chunk; None where its size is not known."""


class Position(NamedTuple):
    """A place in a table between two rows, from which it can be read on."""

    rows: int
    """The rows before it."""
    lines: int = 0
    """The lines of text before it."""
    offset: int | None = None
    """What leads there without reading all that is before it."""


class Wanted(NamedTuple):
    """The columns the user asked for (None: all but the label), and what is to become of bad lines of text."""

    columns: list[str] | None = None
    label: str | None = None
    header: str = "auto"
    bad: BadLines = BadLines()


class Table(Protocol):
    """Rows of numbers, read in chunks as often as needed (a stream: once)."""

    name: str
    columns: tuple[str, ...]
    """Names of the features."""
    label: str | None
    """Name of the label, if there is one."""

    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """All rows from the first, or from a place where an earlier reading was, ``rows`` at a time."""

    def position(self) -> Position:
        """The place after the last chunk that was given out."""

    def close(self) -> None:
        """Let go of the file."""


def chunk_rows(table: Table) -> int:
    """How many rows of a table to read at a time."""
    return max(1, min(CHUNK_ROWS, CHUNK_CELLS // len(table.columns)))


@contextlib.contextmanager
def open_table(
    file: str, wanted: Wanted, *, once: bool, follow: bool = False, spool: Path | None = None
) -> Iterator[Table]:
    """The table in a file or, for ``-``, on standard input; ``once``: it will be read only once.

    ``follow``: it is still growing; a reading never ends, unless standard input does. ``spool``: a folder where the
    numbers of a large file may be kept, so that it is parsed only once, from now on.
    """
    with open_source(file, once=once, follow=follow) as source:
        table = _reader(source)(source, wanted)
        if spool is not None and not once and source.kind != ".npy" and (source.size or 0) >= SMALL:
            from driftmap.cli.spool import Spool

            # To read Parquet again takes less time than to write down what was read.
            table = reader = Spool(table, None if source.kind in PARQUET else spool)
            reader.begin(chunk_rows(table))
        with contextlib.closing(table):
            yield table


def _reader(source: Source) -> Callable[[Source, Wanted], Table]:
    from driftmap.cli import formats

    kind = source.kind
    if source.stream is not None or source.path is None or source.path != Path(source.name):
        return formats.detected_table
    if kind in (".csv", ".tsv", ".tab", ".txt", ".csv.gz", ".tsv.gz", ".tab.gz", ".txt.gz"):
        return formats.SeparatedTable
    if kind in (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"):
        return formats.JSONTable
    if kind == ".npy":
        from driftmap.cli.arrays import NumpyTable

        return NumpyTable
    if kind in PARQUET:
        from driftmap.cli.parquet import ParquetTable

        return ParquetTable
    raise UserError(
        f"{source.name} has no known suffix: .csv, .tsv or .jsonl (each also with .gz), .parquet or .npy; "
        "other text can come through standard input, as -"
    )


def select(names: Sequence[str], wanted: Wanted, place: str) -> tuple[list[int], int | None]:
    """Positions of the features and of the label, or an error that names the unknown column."""
    label = None if wanted.label is None else _position(wanted.label, names, place)
    if wanted.columns is None:
        chosen = [i for i in range(len(names)) if i != label]
        unnamed = next((i for i in chosen if not names[i]), None)
        if unnamed is not None:
            raise UserError(
                f"{place}: column {unnamed + 1} has no name and may hold row numbers; choose the columns with --columns"
            )
    else:
        chosen = [_position(name, names, place) for name in wanted.columns]
        twice = next((names[i] for i in chosen if chosen.count(i) > 1), None)
        if twice is not None:
            raise UserError(f"--columns lists {twice!r} twice")
    if not chosen:
        raise UserError(f"{place}: no column is left for the features")
    return chosen, label


def _position(name: str, names: Sequence[str], place: str) -> int:
    found = [i for i, other in enumerate(names) if other == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError(f"{place} has {len(found)} columns named {name!r}")
    import difflib  # for those who made a mistake

    close = difflib.get_close_matches(name, names, n=1)
    listed = ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")
    hint = f"did you mean {close[0]!r}?" if close else f"it has: {listed}"
    raise UserError(f"{place} has no column {name!r}; {hint}")


def numbered(n: int) -> list[str]:
    """Names of columns that have none: their numbers from 1."""
    return [str(i) for i in range(1, n + 1)]


def usable(features: Array) -> bool:
    """Whether all numbers can be used; in this form NaN fails too."""
    return features.size == 0 or bool(features.min() >= -LARGEST and features.max() <= LARGEST)


def check_finite(features: Array, columns: Sequence[str], place: Callable[[int], str]) -> Array:
    """The features, or an error that names the first cell that is no usable number; ``place`` names a row."""
    if usable(features):
        return features
    row, column = (int(i) for i in np.argwhere(~(np.abs(features) <= LARGEST))[0])
    raise UserError(unusable(f"{place(row)}, column {columns[column]!r}", float(features[row, column])))


def unusable(cell: str, value: float) -> str:
    """What to say of a cell whose number cannot be used."""
    if np.isnan(value):
        return f"{cell} is NaN; fill or drop such rows first"
    if np.isinf(value):
        return f"{cell} is infinite; drop such rows first"
    return f"{cell} is {value:g}, so large that its square overflows; rescale the data first"
