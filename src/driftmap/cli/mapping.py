"""Mapping a table by passes over all of its rows: measure, count landmarks, learn, place."""

from __future__ import annotations

from collections.abc import Callable

from driftmap.cli.errors import UserError, note
from driftmap.cli.groups import Mapping, Normalizing
from driftmap.cli.registering import OlderMap
from driftmap.cli.session import Session
from driftmap.embedding import LandmarkStress
from driftmap.map import StreamMap
from driftmap.map.landmark_count import LANDMARK_COUNTS, count_landmarks, largest_map
from driftmap.map.novelty import NoveltyDetector
from driftmap.pipeline.operator import Operator
from driftmap.pipeline.passes import Counting, Learning, Measuring, Placing
from driftmap.tables.cache import CachedRows
from driftmap.tables.steps import Step
from driftmap.tables.table import Table, chunk_rows
from driftmap.utils.concurrency import n_threads

MOST_THREADS = 4
"""Most threads that place rows: with more, writing takes longer than placing."""


def new_map(options: Mapping) -> StreamMap:
    """Return a map with these options, or raise an error that names the first invalid one."""
    stress = LandmarkStress(options.components, steadiness=options.steadiness) if options.steadiness else None
    mapper = StreamMap(
        options.components,
        n_landmarks=LANDMARK_COUNTS[0] if options.landmarks == "auto" else int(options.landmarks),
        rule=options.rule,
        embedding=stress or options.embedding,
        n_anchors=options.anchors,
        frame_tolerance=options.frame_tolerance,
        metric=options.metric,
        slack=options.slack,
        memory=options.memory,
        window=options.window,
        half_life=options.half_life,
    )
    (largest_map(mapper) if options.landmarks == "auto" else mapper).validate()
    return mapper


def two_passes(
    current: Session,
    table: Table,
    mapper: StreamMap,
    options: tuple[Mapping, Normalizing],
    steps: Callable[[], list[Step]],
    detector: NoveltyDetector | None,
    scores: CachedRows | None,
    older: OlderMap | None = None,
) -> Operator:
    """Learn all rows, then place each on the finished map; first measure them, and count landmarks, if asked for.

    ``older``: align the map with this one, whose rows were scaled alike.
    """
    mapping, normalizing = options
    learning, placing = Learning(mapper, steps(), detector), Placing(mapper, steps(), detector)
    learning.scores = placing.scores = scores
    learning.isolation = scores is not None and scores.width > 2
    rows = chunk_rows(len(learning.steps.columns(table.columns)))
    if older is not None:
        learning.older, learning.scaling = older.map, older.scaling
    elif normalizing.normalize != "none":
        measuring = Measuring(mapper, steps(), normalizing.normalize)
        current.passes(table, measuring, rows)
        learning.scaling = measuring.scaling
    if mapping.landmarks == "auto":
        counting = Counting(largest_map(mapper), steps(), scaling=learning.scaling)
        current.passes(table, counting, rows)
        found = count_landmarks(counting.mapper)
        mapper.n_landmarks = found.n_landmarks
        note(str(found))
    current.passes(table, learning, rows)
    if older is not None and learning.residual is not None:
        median, most = learning.residual
        away = f"{median:.2g} of its diameter from their places there (median), {most:.2g} at most"
        note(f"laid on {older.path}: rows lie {away}")
    placing.mapper, placing.detector, placing.scaling = learning.mapper, learning.detector, learning.scaling
    _ = placing.mapper.n_dimensions_ if placing.mapper.fitted else None  # makes the frame here, once
    current.passes(table, placing, rows, threads=1 if current.saver else min(MOST_THREADS, n_threads(-1)))
    learnt = learning.n_rows if current.saver is None else current.saver.state.rows["learning"]
    if placing.n_rows != learnt:
        raise UserError(f"{table.name} changed while it was read: it had {learnt} rows, then {placing.n_rows}")
    return placing
