"""Reports in Markdown; a cell without a number says "no", with a note under the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SIGMA = "\u03c3"
PROTOCOL = """\
Each method learns the first half of a stream in order of arrival (*fit*: until there is a map of these points), places
the second half without learning from it (*place*: batches of 1,000; *one*: the median of {singles} points, one at a
time), then learns the second half (*add*: until there is a map of all points, by the method in column *by*). Every
method and stream runs in a separate process with {threads}, at most {limit:g} s and {memory:g} GB; {jobs}. Times are
CPU times, so that other work on the machine does not count. Compiled code is warmed up before timing, on 300 other
points (and on 3,000 if Driftmap gets more than 10,000). *Memory* is the peak beyond imports, warm-up and the data.
*Driftmap, window* remembers the last {window:,} arrivals, twice the {recent:,} latest points by which maps are judged
under drift, with default settings otherwise.

*{sigma}* is the normalised stress of the final map, as it is and after the best global scaling; *{sigma} placed* is
that of the map whose second half was only placed (best scaling). Smaller is better. *Trustworthiness* is for
{neighbours} neighbours; larger is better. *Moved* is how far the points of the first half moved when the second was
added, relative to the diameter of their map, without alignment: median and largest. All measures are over all points
or, for streams longer than {all_pairs:,}, a random sample of {sample:,}."""

Cell = float | dict[str, Any]


def number(digits: int) -> Callable[[float], str]:
    """Return a function that formats numbers with this number of decimals."""
    return lambda value: f"{value:,.{digits}f}"


def significant(value: float) -> str:
    """Format small numbers with two significant digits, large ones as integers with commas."""
    if value >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def megabytes(value: float) -> str:
    """Format a number of megabytes as an integer."""
    return f"{value:,.0f}" if value >= 1 else "< 1"


COLUMNS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("fit, s", "fit_seconds", significant),
    ("place, points/s", "place_rate", significant),
    ("one, ms", "place_ms", significant),
    ("add, s", "add_seconds", significant),
    ("memory, MB", "memory_mb", megabytes),
    (f"{SIGMA} as is", "final_sigma", number(3)),
    (f"{SIGMA} scaled", "final_sigma_scaled", number(3)),
    (f"{SIGMA} placed", "placed_sigma_scaled", number(3)),
    ("trustworthiness", "final_trust", number(3)),
    ("moved, median", "moved_median", number(3)),
    ("moved, max", "moved_max", number(3)),
)


class Notes:
    """Reasons for missing numbers, numbered by first use."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def cell(self, value: Cell, show: Callable[[float], str]) -> str:
        """Return a number, or "no" with the number of the note."""
        if not isinstance(value, dict):
            return show(value)
        if value["no"] not in self.reasons:
            self.reasons.append(value["no"])
        return f"no [{self.reasons.index(value['no']) + 1}]"

    def lines(self) -> list[str]:
        """Return the notes, one line each."""
        return [f"[{i + 1}] {reason}" for i, reason in enumerate(self.reasons)]


def table(rows: list[dict[str, Any]]) -> str:
    """Return the table of a stream with its notes."""
    notes = Notes()
    head = ["method", "by", *(title for title, _, _ in COLUMNS)]
    lines = ["| " + " | ".join(head) + " |", "|---" * 2 + "|---:" * len(COLUMNS) + "|"]
    for row in rows:
        cells = [notes.cell(row[key], show) for _, key, show in COLUMNS]
        lines.append(f"| {row['label']} | {row['adds']} | " + " | ".join(cells) + " |")
    return "\n".join(lines + ([""] + ["  \n".join(notes.lines())] if notes.reasons else []))


def followed(rows: list[dict[str, Any]]) -> str:
    """Return a table of sigma of the latest points: at a few moments, and the mean over all."""
    longest = max(rows, key=lambda row: len(row["seen"]))["seen"]
    if not longest:
        return "No method followed the stream."
    shown = sorted({longest[i] for i in (0, len(longest) // 4, len(longest) // 2, 3 * len(longest) // 4, -1)})
    lines = ["| method | learns | " + " | ".join(f"{n:,}" for n in shown) + " | mean of all |"]
    lines.append("|---|---" + "|---:" * (len(shown) + 1) + "|")
    notes = Notes()
    for row in rows:
        sigma = dict(zip(row["seen"], row["sigma" if row["has_scale"] else "sigma_scaled"], strict=True))
        why = {"no": row["no"] or "not reached"}
        cells = [notes.cell(sigma.get(n, why), number(3)) for n in shown]
        mean = sum(sigma.values()) / len(sigma) if len(sigma) == len(longest) else why
        learns = "yes" if row["learns"] else "no"
        lines.append(f"| {row['label']} | {learns} | " + " | ".join([*cells, notes.cell(mean, number(3))]) + " |")
    return "\n".join(lines + ([""] + ["  \n".join(notes.lines())] if notes.reasons else []))


def setting(machine: dict[str, Any]) -> str:
    """Return a line with the machine and the versions."""
    versions = ", ".join(f"{package} {version}" for package, version in machine["versions"].items())
    cores = f"{machine['cores']} cores, {_threads(machine['threads'])}"
    return f"{machine['cpu']}, {cores}, {machine['system']}, Python {machine['python']}; {versions}."


def _threads(n: int) -> str:
    return "one thread" if n == 1 else f"{n} threads"


def markdown(results: dict[str, Any]) -> str:
    """Return the complete report."""
    settings = results["settings"]
    text = PROTOCOL.format(
        **settings
        | {
            "threads": _threads(results["machine"]["threads"]),
            "jobs": "one process at a time" if settings["jobs"] == 1 else f"{settings['jobs']} processes at a time",
            "sigma": SIGMA,
        }
    )
    parts = [f"`{settings['command']}`", setting(results["machine"]), text]
    for stream in results["streams"]:
        n, d = stream["shape"]
        parts += [f"## {stream['name']}: {n:,} points of {d} numbers", table(stream["rows"])]
    parts += [f"{name}: no data, {why}" for name, why in results["missing"].items()]
    if results["followed"]:
        parts += [
            "## Recent points under drift",
            f"{SIGMA} of the latest {settings['recent']:,} points of the drifting stream, by number of arrivals. A "
            "method that does not learn was fitted once, to the arrivals of the first column, and places the others. "
            "Driftmap, IncrementalPCA and river's projection are unscaled; others have the best scaling at each time.",
            followed(results["followed"]),
        ]
    return "\n\n".join(parts) + "\n"
