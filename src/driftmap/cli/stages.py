"""What ``embed`` does with a table: statistics, learning, mapping; each is one pass over the rows."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.cli.checkpointing import Job
from driftmap.cli.errors import UserError, refused_by_library
from driftmap.cli.progress import Progress
from driftmap.io.tables import Chunk, Table, chunk_rows
from driftmap.map import Novelty, StreamMap
from driftmap.utils import Array
from driftmap.utils.concurrency import in_parallel, n_cores

Labels = list[str] | Array | None
MOST_THREADS = 4
"""Threads that map: with more, writing takes longer than mapping."""

Feed = Callable[[Array], Any]


class Scaling(NamedTuple):
    """Rows are mapped as (row - shift) / scale."""

    shift: Array
    scale: Array

    def __call__(self, features: Array) -> Array:
        """The rows as the map sees them."""
        return np.asarray((features - self.shift) / self.scale)


class Mapped(NamedTuple):
    """Some rows and where they are."""

    first: int
    """Arrival number of the first of them."""
    chunk: Chunk
    coordinates: Array
    frames: NDArray[np.int64] | None = None
    """For each row, the number of the frame in which it was placed: one more at each change of the landmarks."""
    novelty: Novelty | None = None
    """How well the map represents each row, where that is wanted; in the frame in which the row was placed."""


def find_scaling(table: Table, kind: str, job: Job) -> Scaling | None:
    """The scaling that ``--normalize`` asks for, from all rows; a constant column is only shifted."""
    if kind == "none":
        return None
    with Progress("measuring", done=job.rows_before("measuring")) as progress:
        for chunk in job.chunks("measuring", table, chunk_rows(table)):
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
            progress.update(len(rows), chunk.fraction)
    n = job.counts["measuring"]
    _check_any(n, table)
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


def learn(table: Table, mapper: StreamMap, scaling: Scaling | None, feed: Feed | None, job: Job) -> int:
    """Learn from all rows and return their number; ``feed`` hands them to the mapper in its own way."""
    with Progress("learning", done=job.rows_before("learning")) as progress:
        for chunk in job.chunks("learning", table, chunk_rows(table)):
            with refused_by_library():
                (feed or mapper.partial_fit)(chunk.features if scaling is None else scaling(chunk.features))
            progress.update(len(chunk.features), chunk.fraction, f"radius {mapper.radius_:.4g}")
    n = job.counts["learning"]
    _check_any(n, table)
    job.next_stage("mapping")
    return n


def place(
    table: Table, mapper: StreamMap, scaling: Scaling | None, n: int, job: Job, *, with_novelty: bool = False
) -> Iterator[Mapped]:
    """Map all rows in the frame of the landmarks that learning ended with."""

    def work(chunk: Chunk) -> tuple[Chunk, Array, Novelty | None]:
        features = chunk.features if scaling is None else scaling(chunk.features)
        return chunk, mapper.transform(features), mapper.novelty(features) if with_novelty else None

    first = job.rows_before("mapping")
    with refused_by_library(), _dimensions_told_later():
        _ = mapper.frame_  # made here, and not by several threads that need it
    with Progress("mapping", done=first) as progress:
        chunks = job.chunks("mapping", table, chunk_rows(table))
        # A run that can be interrupted counts a piece as done when it asks for the next, so it has one at a time.
        placed = in_parallel(work, chunks, min(MOST_THREADS, n_cores()) if job.path is None else 1)
        with contextlib.closing(placed):
            while True:
                with refused_by_library(), _dimensions_told_later():
                    one = next(placed, None)
                if one is None:
                    break
                chunk, coordinates, novelty = one
                progress.update(len(coordinates), chunk.fraction)
                yield Mapped(first, chunk, coordinates, novelty=novelty)
                first += len(coordinates)
    if first != n:
        raise UserError(f"{table.name} changed while it was read: it had {n} rows, then {first}")


def place_online(
    table: Table, mapper: StreamMap, rows: int, feed: Feed | None, job: Job, *, with_novelty: bool = False
) -> Iterator[Mapped]:
    """Learn from each row and map it at once, in the frame of that moment; ``feed`` as in :func:`learn`."""
    first = job.rows_before("mapping")
    with Progress("mapping", done=first) as progress:
        for chunk in job.chunks("mapping", table, rows):
            n = len(chunk.features)
            coordinates, frames = np.empty((n, mapper.n_components)), np.empty(n, dtype=np.int64)
            novelty = Novelty(np.empty(n), np.empty(n)) if with_novelty else None
            with refused_by_library(), _dimensions_told_later():
                for i in range(n):
                    row = chunk.features[i : i + 1]
                    (feed or mapper.partial_fit)(row)
                    coordinates[i] = mapper.transform(row)[0]
                    frames[i] = mapper.frame_
                    if novelty is not None:
                        (novelty.reach[i],), (novelty.residual[i],) = mapper.novelty(row)
            progress.update(n, chunk.fraction, f"radius {mapper.radius_:.4g}")
            yield Mapped(first, chunk, coordinates, frames, novelty)
            first += n
    _check_any(first, table)


def _check_any(n: int, table: Table) -> None:
    if n == 0:
        raise UserError(f"{table.name} has no rows")


@contextlib.contextmanager
def _dimensions_told_later() -> Iterator[None]:
    """The first rows of any stream span too few dimensions; the command says so only if all rows do."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the landmarks so far span", UserWarning)
        yield
