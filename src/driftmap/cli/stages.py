"""The passes of ``embed`` over a table: statistics, learning, mapping."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from driftmap.cli.checkpointing import Job
from driftmap.cli.errors import UserError
from driftmap.cli.files import writing
from driftmap.io.scaling import Moments, Scaling
from driftmap.io.tables import Chunk, Labels, Table, chunk_rows
from driftmap.map.landmark_count import LandmarkCount, count_landmarks, largest_map
from driftmap.map.novelty import Alert, Difference
from driftmap.map.observer import Observer, Update
from driftmap.utils import Array
from driftmap.utils.concurrency import in_parallel, n_threads
from driftmap.utils.errors import InputError

MOST_THREADS = 4
"""Threads that map: with more, writing takes longer than mapping."""


def find_scaling(table: Table, kind: str, job: Job) -> Scaling:
    """The scaling that ``--normalize`` asks for, from all rows; a constant column is only shifted."""
    moments = Moments(job.sums)
    for first, chunk in job.chunks("measuring", table, chunk_rows(table)):
        moments.update(chunk.features)
        job.sums = moments.state()
        job.notify(Update("measuring", first, chunk))
    return moments.scaling(kind)


def find_landmarks(table: Table, scaling: Scaling | None, job: Job) -> LandmarkCount:
    """How many landmarks are enough, by a pass over all rows; the map will have so many."""
    largest, first = largest_map(job.mapper), 0
    for chunk in table.chunks(chunk_rows(table)):
        if not len(chunk.features):
            continue
        with _located(table, first):
            largest.partial_fit(chunk.features if scaling is None else scaling(chunk.features))
        job.notify(Update("measuring", first, chunk))
        first += len(chunk.features)
    if not largest.fitted:
        raise UserError(f"{table.name} has no rows")
    found = count_landmarks(largest)
    job.mapper.n_landmarks = found.n_landmarks
    return found


def learn(table: Table, scaling: Scaling | None, job: Job) -> None:
    """Learn from all rows."""
    for first, chunk in job.chunks("learning", table, chunk_rows(table)):
        rows = chunk if scaling is None else chunk._replace(features=scaling(chunk.features))
        seen = first
        for piece in pieces(rows, first, job.observers):
            alerts: Sequence[Alert] = ()
            with _located(table, seen):
                if job.detector is None and job.spool is None:
                    job.mapper.partial_fit(piece.features)
                else:
                    scores = job.mapper.learn(piece.features, detector=job.detector)
                    alerts = scores.alerts
            if job.spool is not None:
                with writing():
                    job.spool.append(np.column_stack([scores.reach, scores.quantile]))
            shown = [_shown(alert, seen, table, piece.labels, scaling) for alert in alerts]
            job.notify(Update("learning", seen, piece, True, alerts=shown))
            seen += len(piece.features)


def pieces(rows: Chunk, first: int, observers: Sequence[Observer]) -> Iterator[Chunk]:
    """The rows in pieces that end where observers want to see the map; ``first`` rows have arrived before."""
    start, n = 0, len(rows.features)
    while start < n:
        periods = [observer.every for observer in observers if observer.every is not None]
        stop = min([n, *(start + every - (first + start) % every for every in periods)])
        yield rows if stop - start == n else rows.part(start, stop)
        start = stop


def _shown(alert: Alert, first: int, table: Table, labels: Labels, scaling: Scaling | None) -> Alert:
    """An alert in the names and units of the table, with the label of its row for a time; ``first`` rows are before."""
    shift, scale = (0.0, 1.0) if scaling is None else scaling
    shift, scale = np.broadcast_to(shift, len(table.columns)), np.broadcast_to(scale, len(table.columns))
    features = [
        Difference(table.columns[j], float(value * scale[j] + shift[j]), float(landmark * scale[j] + shift[j]))
        for j, value, landmark in alert.features
        if isinstance(j, int)
    ]
    return alert._replace(time=None if labels is None else labels[alert.row - first], features=tuple(features))


def place(table: Table, scaling: Scaling | None, job: Job) -> None:
    """Map all rows in the frame of the landmarks that learning ended with."""
    mapper = job.mapper

    def work(numbered: tuple[int, Chunk, Array | None]) -> Update:
        first, chunk, scores = numbered
        features = chunk.features if scaling is None else scaling(chunk.features)
        with _located(table, first):
            update = Update("mapping", first, chunk, coordinates=mapper.transform(features))
            if scores is None:
                return update
            residual = mapper.novelty(features).residual
            return update._replace(reach=scores[:, 0], quantile=scores[:, 1], residual=residual)

    _ = mapper.n_dimensions_  # the frame is made here, and not by several threads that need it
    chunks = (
        (first, chunk, None if job.spool is None else job.spool.read(first, len(chunk.features)))
        for first, chunk in job.chunks("mapping", table, chunk_rows(table))
    )
    # A run that can be interrupted counts a piece as done when it asks for the next, so it has one at a time.
    threads = min(MOST_THREADS, n_threads(-1)) if job.path is None else 1
    with contextlib.closing(in_parallel(work, chunks, threads)) as updates:
        for update in updates:
            job.notify(update)
    before, now = job.counts["learning"], job.counts["mapping"]
    if now != before:
        raise UserError(f"{table.name} changed while it was read: it had {before} rows, then {now}")


def place_online(table: Table, rows: int, job: Job, *, with_novelty: bool, together: bool = False) -> None:
    """Learn from each row and map it at once, in the frame of that moment.

    ``together``: rows that come at once are mapped in the frame after the last of them, which takes less time.
    """
    mapper = job.mapper
    for start, chunk in job.chunks("mapping", table, rows):
        first = start
        for piece in pieces(chunk, first, job.observers):
            n = len(piece.features)
            coordinates, frames, nearest = np.empty((n, mapper.n_components)), *np.empty((2, n), dtype=np.int64)
            reach, quantile, residual = np.empty((3, n))
            alerts: list[Alert] = []
            for i in range(0, n, n if together else 1):
                with _located(table, first + i):
                    part = slice(i, n if together else i + 1)
                    arrived = piece.features[part]
                    arrivals = mapper.update(arrived, detector=job.detector)
                    coordinates[part], frames[part] = arrivals.coordinates, arrivals.frame
                    nearest[part] = arrivals.nearest
                    reach[part], quantile[part] = arrivals.reach, arrivals.quantile
                    if with_novelty:
                        residual[part] = mapper.novelty(arrived).residual
                    alerts += [_shown(alert, first, table, piece.labels, None) for alert in arrivals.alerts]
            update = Update("mapping", first, piece, True, coordinates, frames, alerts=alerts, nearest=nearest)
            if with_novelty:
                update = update._replace(reach=reach, quantile=quantile, residual=residual)
            job.notify(update)
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
