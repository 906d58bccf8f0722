"""The final reports of a run: rows left out, what was done, how to continue, a summary as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from driftmap.cli.errors import OPTION_ADVICE, counted, note, warn
from driftmap.map import StreamMap
from driftmap.map.frames import LEAST_SIZE
from driftmap.pipeline.operator import Operator
from driftmap.tables.rejected import RejectedLines
from driftmap.tables.steps import RowsLeftOut, described
from driftmap.tables.table import Table


def report_left_out(
    left_out: Sequence[RowsLeftOut], rejected: RejectedLines, name: str, used: int, *, only_most: bool = False
) -> None:
    """Report rows that were left out, as a warning if they are most rows; ``only_most``: otherwise print nothing."""
    lost = sum(one.n_rows for one in left_out) + rejected.count
    is_most = lost > used
    if not lost or (only_most and not is_most):
        return
    bad = [counted(rejected.count, "bad line")] if rejected.count else []
    reasons = ", ".join([*filter(None, [described(left_out)]), *bad])
    message = f"{name}: {lost:,} of {used + lost:,} rows left out: {reasons}"
    if not is_most:
        note(message)
    else:
        warn(f"{message}; {OPTION_ADVICE['lacking']}" if any(one.lacking for one in left_out) else message)


def alerted(operator: Operator) -> str:
    """Return the numbers of alerts and drifts in words; empty if none was asked for."""
    detector, monitor, said = operator.detector, operator.monitor, list[str]()
    if detector is not None:
        said.append(f"{counted(detector.n_alerts, 'alert')} ({counted(detector.n_novel, 'novel row')})")
    if monitor is not None:
        said.append(counted(monitor.n_drifts, "drift"))
    return ", ".join(said)


def report_missing_dimensions(mapper: StreamMap) -> None:
    """Warn if the map has fewer dimensions than requested."""
    if mapper.n_dimensions_ < mapper.n_components:
        warn(
            f"the landmarks span {mapper.n_dimensions_} of {mapper.n_components} dimensions; "
            "the missing coordinates are 0"
        )


def followed(rejected: RejectedLines, left_out: Sequence[RowsLeftOut], operator: Operator) -> str:
    """Return a report of what was done while a source was followed."""
    mapper = operator.mapper
    lines = counted(rejected.count, "bad line")
    if said := described(left_out):
        lines = f"{said} left out, {lines}"
    if not mapper.fitted:
        return f"stopped before the first row, {lines}"
    alerts = f", {said}" if (said := alerted(operator)) else ""
    radius = f"radius {mapper.radius_:.4g}" if mapper.radius_ > LEAST_SIZE else "no radius yet"
    replacements = counted(mapper.n_replacements_, "replacement")
    return f"stopped after {counted(mapper.n_samples_seen_, 'row')}, {lines}, {radius}, {replacements}{alerts}"


def done(
    operator: Operator,
    table: Table,
    rejected: RejectedLines,
    left_out: Sequence[RowsLeftOut],
    written: Sequence[str],
) -> str:
    """Return one line on a successful run: what was mapped, how true the map is, and where it was written."""
    from driftmap.map.truth import sampled_stress

    mapper = operator.mapper
    sigma, lost = sampled_stress(mapper), sum(one.n_rows for one in left_out) + rejected.count
    parts = [counted(mapper.n_samples_seen_, "row"), counted(len(operator.columns), "column")]
    parts += [counted(len(mapper.landmark_indices_), "landmark")]
    parts += [] if sigma is None else [f"sigma {sigma:.3g}"]
    unused = [counted(len(table.left_out), "column")] * bool(table.left_out) + [counted(lost, "row")] * bool(lost)
    sentences = [f"{table.name}: mapped {', '.join(parts)}"]
    sentences += [f"left out {' and '.join(unused)}"] * bool(unused)
    sentences += [f"wrote {', '.join(written)}"] * bool(written)
    return "; ".join(sentences)


def summary(
    operator: Operator,
    table: Table,
    rejected: RejectedLines,
    left_out: Sequence[RowsLeftOut],
    how: Mapping[str, Any],
    files: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the summary that ``--json`` prints."""
    from driftmap.quality import landmark_stress  # slow to import

    mapper, detector = operator.mapper, operator.detector
    return {
        "input": table.name,
        "rows": mapper.n_samples_seen_,
        "bad_lines": rejected.count,
        "rows_left_out": {one.reason: one.n_rows for one in left_out},
        "missing_in": {name: n for one in left_out for name, n in one.lacking.items()},
        "columns": list(operator.columns),
        **table.about,
        "left_out": {column.name: column.reason for column in table.left_out},
        "components": mapper.n_components,
        "dimensions": mapper.n_dimensions_,
        "landmarks": len(mapper.landmark_indices_),
        "rule": mapper.rule,
        "embedding": mapper.embedding,
        "metric": mapper.metric,
        **how,
        "radius": mapper.radius_,
        "covering_radius": mapper.covering_radius_,
        "resolution": mapper.resolution_,
        "coverage_bound": mapper.coverage_bound_ if mapper.obeys_triangle else None,
        "radius_lower_bound": mapper.radius_lower_bound_ if mapper.obeys_triangle else None,
        "replacements": mapper.n_replacements_,
        "landmark_stress": landmark_stress(mapper),
        **({} if detector is None else {"n_alerts": detector.n_alerts, "n_novel": detector.n_novel}),
        **({} if operator.monitor is None else {"n_drifts": operator.monitor.n_drifts}),
        **files,
    }
