"""Rows that were left out: a count in the summary, and a line at the end, a warning if they are most rows."""

from __future__ import annotations

from typing import Any

from driftmap.cli.checkpointing import Job
from driftmap.cli.errors import OPTION_ADVICE, counted, note, warn
from driftmap.io.preprocessing import PreparedTable, described
from driftmap.io.steps import RowsLeftOut


def rows_left_out(job: Job) -> list[RowsLeftOut]:
    """The rows that missing numbers or the delay have left out so far."""
    return job.table.rows_left_out() if isinstance(job.table, PreparedTable) else []


def summary_of_rows(job: Job) -> dict[str, Any]:
    """Rows that are left out, by reason; and by column, in how many of them a number is missing."""
    left_out = rows_left_out(job)
    lacking = {name: n for one in left_out for name, n in one.lacking.items()}
    return {
        "bad_lines": job.rejected.count,
        "rows_left_out": {one.reason: one.n_rows for one in left_out},
        "missing_in": lacking,
    }


def report_rows(job: Job, *, in_final_line: bool = False) -> None:
    """Say how many rows were left out, if any were; ``in_final_line``: that is said, so only warn if they are most."""
    left_out, used = rows_left_out(job), job.mapper.n_samples_seen_ if job.mapper.fitted else 0
    lost = sum(one.n_rows for one in left_out) + job.rejected.count
    is_most = lost > used
    if not lost or (in_final_line and not is_most):
        return
    bad = [counted(job.rejected.count, "bad line")] if job.rejected.count else []
    reasons = ", ".join([*filter(None, [described(left_out)]), *bad])
    source = "" if job.table is None else f"{job.table.name}: "
    message = f"{source}{lost:,} of {used + lost:,} rows left out: {reasons}"
    if not is_most:
        note(message)
    else:
        warn(f"{message}; {OPTION_ADVICE['lacking']}" if any(one.lacking for one in left_out) else message)
