"""Compares two tables on one map that is learnt from both: where their rows lie, and whether they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from driftmap.landmarks.row_sample import SIZE
from driftmap.map.changes import FeatureShift, moments_of, named_shifts, shares_of, shifts_between
from driftmap.map.stream_map import StreamMap
from driftmap.metrics import Store
from driftmap.metrics.sparse import SparseRows
from driftmap.utils import Array, Ids
from driftmap.utils.errors import InputError

MOST_COMPARED = 5000
"""Larger tables are represented by a uniform random sample of this many rows."""
FEWEST_COMPARED = 20
N_WINDOWS = 9999
LEAST_P_VALUE = 1 / (N_WINDOWS + 1)
"""Permutations of the test, and the least p-value that they can give."""
ROWS_PER_LANDMARK = 10
"""With fewer rows in both tables together, the map has fewer landmarks."""


class Rows(NamedTuple):
    """Checked rows of one table."""

    points: Any
    numbers: Ids
    """Their numbers in the table."""
    n_given: float
    """Rows of the table; of a map, the weight of the rows it remembers."""


class CellChange(NamedTuple):
    """A Voronoi cell of the map, and how often rows lie in it."""

    table: Literal["reference", "now"]
    """The table that its landmark comes from."""
    row: int
    """Number of the landmark in this table."""
    before: float
    """Share of the reference's rows that are in the cell."""
    now: float
    log_ratio: float
    """Binary logarithm of the ratio of the shares, with half a row added to each count: 1 is twice as frequent."""
    position: tuple[float, ...]
    """Place of the landmark on the map."""


class Compared(NamedTuple):
    """Two tables on one map."""

    mapper: StreamMap
    coordinates: Array
    """Positions of the compared rows, the reference first."""
    n_before: int
    """Compared rows of the reference."""
    cells: list[CellChange]
    """Those that changed most come first."""
    cell: Ids
    """For each compared row, the place of its cell in ``cells``."""
    features: list[FeatureShift]
    p_value: float


def sampled(points: Any, seed: int) -> Rows:
    """Return at most 5,000 of the rows, in their order, chosen at random."""
    n = n_rows(points)
    kept = np.sort(np.random.default_rng([3, seed]).permutation(n)[:MOST_COMPARED])
    return Rows(taken(points, kept), kept, n)


def remembered(mapper: StreamMap, seed: int) -> Rows:
    """Return at most 5,000 rows of those that a map remembers, as often as their weights say.

    A map that has merged rows has points that stand for several, which are no sample of them. It also keeps a uniform
    sample of 1,024 rows (:mod:`driftmap.landmarks.row_sample`), which is returned instead.

    Raises
    ------
    InputError
        If the map has merged rows and keeps no such sample.
    """
    engine, rng = mapper._landmark_engine(), np.random.default_rng([3, seed])
    if mapper.resolution_ > 0:
        sample = engine.sampled_rows(SIZE)
        if sample is None:
            raise InputError(
                "has merged rows within its resolution, and what is left is no sample of them: give the rows "
                "themselves, or a map with memory=None"
            )
        return Rows(engine.stored_points(sample), sample, float(engine.n_samples_seen_))
    ids, weights = engine.stored_indices_, engine.stored_masses()
    copies = np.floor(weights + rng.random(len(weights))).astype(np.int64)  # a share of a row is one now and then
    ends = np.cumsum(copies)
    kept = np.sort(rng.choice(int(ends[-1]), min(int(ends[-1]), MOST_COMPARED), replace=False, shuffle=False))
    which = ids[np.searchsorted(ends, kept, side="right")]
    return Rows(engine.stored_points(which), which, float(weights.sum()))


def compared(
    store: Store, before: Rows, now: Rows, params: Mapping[str, Any], names: Sequence[str], seed: int
) -> Compared:
    """Learn a map from the rows of both tables in random order, and compare their distances to its landmarks.

    The landmarks do not depend on which table a row is from, so the permutation test is exact.
    """
    from driftmap.map.two_sample import Sample, permutation_p_value  # scipy is slow to import

    n, n_before = len(before.numbers) + len(now.numbers), len(before.numbers)
    rows, order = joined([before.points, now.points]), np.random.default_rng([4, seed]).permutation(n)
    mapper = StreamMap(**params)
    mapper.n_landmarks = min(mapper.n_landmarks, max(n // ROWS_PER_LANDMARK, mapper.n_components + 1))
    mapper.feature_names = tuple(names)
    mapper.partial_fit(taken(rows, order))
    engine = mapper._landmark_engine()
    distances = engine.distances(rows)
    p_value = permutation_p_value(Sample.of(distances[:n_before], distances[n_before:]), N_WINDOWS, seed)
    counts = np.array([n_before, n - n_before])[:, None] * [
        shares_of(part) for part in (distances[:n_before], distances[n_before:])
    ]
    owners = order[engine.landmark_indices_]
    numbers = np.concatenate([before.numbers, now.numbers])[owners].tolist()
    tables: list[Literal["reference", "now"]] = ["now" if one else "reference" for one in (owners >= n_before).tolist()]
    shares, ratios = counts / counts.sum(axis=1, keepdims=True), log_ratios(counts)
    places = map(tuple, mapper.landmark_embedding_.tolist())
    cells = [CellChange(*one) for one in zip(tables, numbers, *shares.tolist(), ratios.tolist(), places, strict=True)]
    by_change = np.argsort(-deviances(counts), kind="stable")
    rank = np.argsort(by_change)
    shifts = np.empty((3, 0))
    if store.metric.form == "rows":
        shifts = shifts_between(moments_of(rows[:n_before]), moments_of(rows[n_before:]))
    return Compared(
        mapper,
        mapper.transform(rows),
        n_before,
        [cells[i] for i in by_change.tolist()],
        rank[distances.argmin(axis=1)],
        named_shifts(shifts, names),
        p_value,
    )


def log_ratios(counts: Array) -> Array:
    """Return binary logarithms of ratios of shares, now to before, with half a row added to each count.

    >>> log_ratios(np.array([[10.0, 30.0, 0.0], [40.0, 0.0, 0.0]])).round(1).tolist()
    [1.9, -5.9, 0.0]
    """
    before, now = (counts + 0.5) / (counts.sum(axis=1, keepdims=True) + 1)
    return np.asarray(np.log2(now / before))


def deviances(counts: Array) -> Array:
    """Return what each cell contributes to G, the deviance between the two rows of counts.

    >>> deviances(np.array([[10.0, 30.0, 0.0], [40.0, 0.0, 0.0]])).round(1).tolist()
    [19.3, 41.6, 0.0]
    """
    expected = counts.sum(axis=0) * counts.sum(axis=1, keepdims=True) / counts.sum()
    logs = np.log(np.where(counts > 0, counts, 1.0) / np.where(counts > 0, expected, 1.0))
    return np.asarray(2 * (counts * logs - counts + expected).sum(axis=0))


# --- rows of an array, of a sparse matrix, or of a list ---


def n_rows(points: Any) -> int:
    """Return the number of points."""
    return int(points.shape[0]) if hasattr(points, "shape") else len(points)


def taken(points: Any, rows: Ids) -> Any:
    """Return some points."""
    points = points.matrix if isinstance(points, SparseRows) else points
    return points[rows] if hasattr(points, "shape") else [points[row] for row in rows.tolist()]


def joined(parts: Sequence[Any]) -> Any:
    """Return the points of all parts."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if hasattr(parts[0], "tocsr"):
        from scipy import sparse

        return sparse.vstack(parts, format="csr")
    return [point for part in parts for point in part]


def check_comparable(before: Rows, now: Rows, names: tuple[str, str]) -> None:
    """Raise an error that names the table with too few rows."""
    for rows, name in zip((before, now), names, strict=True):
        if len(rows.numbers) < FEWEST_COMPARED:
            problem = f"has {len(rows.numbers)} rows; a comparison needs at least {FEWEST_COMPARED}"
            raise InputError(problem, source=name)
