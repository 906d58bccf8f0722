"""What ``embed`` does with a table: statistics, learning, mapping; each is one pass over the rows."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from driftmap.cli.checkpointing import Job
from driftmap.cli.errors import UserError
from driftmap.io.tables import Chunk, Table, chunk_rows
from driftmap.map import Novelty
from driftmap.map.observer import Update, pieces
from driftmap.utils import Array
from driftmap.utils.concurrency import in_parallel, n_cores
from driftmap.utils.errors import InputError

MOST_THREADS = 4
"""Threads that map: with more, writing takes longer than mapping."""


class Scaling(NamedTuple):
    """Rows are mapped as (row - shift) / scale."""

    shift: Array
    scale: Array

    def __call__(self, features: Array) -> Array:
        """The rows as the map sees them."""
        return np.asarray((features - self.shift) / self.scale)


def find_scaling(table: Table, kind: str, job: Job) -> Scaling | None:
    """The scaling that ``--normalize`` asks for, from all rows; a constant column is only shifted."""
    if kind == "none":
        return None
    for first, chunk in job.chunks("measuring", table, chunk_rows(table)):
        rows = chunk.features
        sums = job.sums or _no_sums(rows[0])
        base = sums["base"]
        # Deviations from one of the rows lose no digits to a large mean, and running sums, unlike NumPy's sum,
        # do not depend on where a chunk ends.
        job.sums = {
            "low": np.minimum(sums["low"], rows.min(axis=0)),
            "high": np.maximum(sums["high"], rows.max(axis=0)),
            "base": base,
            "total": _running_sum(sums["total"], rows - base),
            "squares": _running_sum(sums["squares"], (rows - base) ** 2),
        }
        job.notify(Update("measuring", first, chunk))
    n = job.counts["measuring"]
    job.next_stage("learning")
    low, high, base, total, squares = job.sums.values()
    if kind == "minmax":
        return Scaling(low, np.where(high > low, high - low, 1.0))
    deviation = np.sqrt(np.maximum(squares / n - (total / n) ** 2, 0.0))
    return Scaling(base + total / n, np.where((high > low) & (deviation > 0), deviation, 1.0))


def _no_sums(base: Array) -> dict[str, Array]:
    zeros = np.zeros(len(base))
    return {"low": zeros + np.inf, "high": zeros - np.inf, "base": base, "total": zeros, "squares": zeros}


def _running_sum(start: Array, rows: Array) -> Array:
    return np.asarray(np.add.accumulate(np.vstack([start, rows]), axis=0)[-1])


def learn(table: Table, scaling: Scaling | None, job: Job) -> None:
    """Learn from all rows."""
    for first, chunk in job.chunks("learning", table, chunk_rows(table)):
        rows = chunk if scaling is None else chunk._replace(features=scaling(chunk.features))
        seen = first
        for piece in pieces(rows, first, job.observers):
            with _located(table, seen):
                job.mapper.partial_fit(piece.features)
            job.notify(Update("learning", seen, piece, is_learnt=True))
            seen += len(piece.features)
    job.next_stage("mapping")


def place(table: Table, scaling: Scaling | None, job: Job, *, with_novelty: bool) -> None:
    """Map all rows in the frame of the landmarks that learning ended with."""
    mapper = job.mapper

    def work(numbered: tuple[int, Chunk]) -> Update:
        first, chunk = numbered
        features = chunk.features if scaling is None else scaling(chunk.features)
        with _located(table, first):
            novelty = mapper.novelty(features) if with_novelty else None
            return Update("mapping", first, chunk, coordinates=mapper.transform(features), novelty=novelty)

    with _without_dimension_warning():
        _ = mapper.frame_  # made here, and not by several threads that need it
        chunks = job.chunks("mapping", table, chunk_rows(table))
        # A run that can be interrupted counts a piece as done when it asks for the next, so it has one at a time.
        threads = min(MOST_THREADS, n_cores()) if job.path is None else 1
        with contextlib.closing(in_parallel(work, chunks, threads)) as updates:
            for update in updates:
                job.notify(update)
    if job.counts["mapping"] != mapper.n_samples_seen_:
        raise UserError(
            f"{table.name} changed while it was read: it had {mapper.n_samples_seen_} rows, "
            f"then {job.counts['mapping']}"
        )


def place_online(table: Table, rows: int, job: Job, *, with_novelty: bool) -> None:
    """Learn from each row and map it at once, in the frame of that moment."""
    mapper = job.mapper
    for start, chunk in job.chunks("mapping", table, rows):
        first = start
        for piece in pieces(chunk, first, job.observers):
            n = len(piece.features)
            coordinates, frames = np.empty((n, mapper.n_components)), np.empty(n, dtype=np.int64)
            novelty = Novelty(np.empty(n), np.empty(n)) if with_novelty else None
            with _located(table, first), _without_dimension_warning():
                for i in range(n):
                    row = piece.features[i : i + 1]
                    mapper.partial_fit(row)
                    coordinates[i] = mapper.transform(row)[0]
                    frames[i] = mapper.frame_
                    if novelty is not None:
                        (novelty.reach[i],), (novelty.residual[i],) = mapper.novelty(row)
            job.notify(Update("mapping", first, piece, True, coordinates, frames, novelty))
            first += n


@contextlib.contextmanager
def _located(table: Table, first: int) -> Iterator[None]:
    """An error in one of some rows names its place in the table; ``first`` rows are before them."""
    try:
        yield
    except InputError as error:
        if error.row is not None:
            error.source, error.row = table.name, first + error.row + 1
            error.column = table.columns[error.column] if isinstance(error.column, int) else error.column
        raise


@contextlib.contextmanager
def _without_dimension_warning() -> Iterator[None]:
    """The first rows of any stream span too few dimensions; the command says so only if all rows do."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the landmarks so far span", UserWarning)
        yield
