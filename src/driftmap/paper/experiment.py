"""The whole reproduction: run the experiments, draw the figures, write the files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from driftmap.datasets import HOSPITAL_FILE, HOSPITAL_URL, STOCKS_FILE, PathLike
from driftmap.paper import fidelity, findings, report, table
from driftmap.paper.curves import SweepPoint, Timing, stress_against_m, time_against_n
from driftmap.paper.effort import FULL, Effort
from driftmap.paper.figures import Plate, all_plates, new_figure, save
from driftmap.paper.scenarios import DATA_SETS, Measured, Stream, load, run_all

Tell = Callable[[str, float], None]
"""Told what is being done, and which fraction of it is done."""

HOW_TO_GET = {
    "spy": f'put {STOCKS_FILE} in a folder and name it with --data or DRIFTMAP_DATA, or pip install "driftmap[stocks]" '
    "to download the prices from Yahoo Finance",
    "hospital": f"put {HOSPITAL_FILE} (from {HOSPITAL_URL}) in a folder and name it with --data or DRIFTMAP_DATA, or "
    'pip install "driftmap[data]" to download it',
}


class MissingDataError(Exception):
    """A recorded data set is not there; the message is one line that says how to get it."""


class Reproduction(NamedTuple):
    """Everything that was found and written."""

    effort: Effort
    measured: list[Measured]
    cells: list[table.Cell]
    found: findings.Findings
    timings: list[Timing]
    sweep: list[SweepPoint]
    fidelities: list[fidelity.Fidelity]
    plates: list[Plate]
    files: list[Path]
    seconds: float


def load_streams(names: Sequence[str], data: PathLike | None = None) -> list[Stream]:
    """Load data sets by name, all of them before any long work begins."""
    streams = []
    for name in names:
        try:
            streams.append(load(name, data))
        except (OSError, ImportError, ValueError) as error:
            # The remedies follow below, in the words of the command line.
            reason = " ".join(str(error).split()).split(": pip install")[0].split(". ")[0]
            raise MissingDataError(
                f"no usable {DATA_SETS[name]} data ({reason}); {HOW_TO_GET[name]}. "
                "`driftmap reproduce s-curve` needs no data"
            ) from error
    return streams


def reproduce(
    names: Sequence[str],
    folder: PathLike,
    *,
    effort: Effort = FULL,
    data: PathLike | None = None,
    tell: Tell = lambda what, fraction: None,
) -> Reproduction:
    """Reproduce the paper for the named data sets and write everything into ``folder``.

    Parameters
    ----------
    names : sequence of {"s-curve", "spy", "hospital"}
    folder : path
        Made if it is not there; files of an earlier run are replaced.
    effort : Effort
        FULL, or QUICK with fewer repetitions.
    data : path, optional
        Folder of the recorded data sets; see :mod:`driftmap.datasets`.
    tell : callable
        Receives the present step and the fraction of it that is done.
    """
    start = time.monotonic()
    new_figure(1, 1)  # without matplotlib, say so before any long work begins
    tell("loading data", 0.0)
    streams = load_streams(names, data)
    out = Path(folder)
    (out / "figures").mkdir(parents=True, exist_ok=True)

    measured, timings, sweep = [], [], []
    for stream in streams:
        step = f"{stream.title}: Table 1, {effort.n_runs} runs of each random scenario"
        tell(step, 0.0)
        measured.append(run_all(stream, effort.n_runs, partial(tell, step)))
        step = f"{stream.title}: stress against m"
        sweep.extend(stress_against_m(stream, effort, partial(tell, step)))
        tell(f"{stream.title}: computation time against n", 0.0)
        timings.extend(time_against_n(stream, effort))
    tell("what the paper states outside Table 1", 0.0)
    found = findings.find(measured)
    cells = table.table_cells(measured)
    fidelities = fidelity.fidelity(measured, effort, partial(tell, "a truer map from the same landmarks"))

    files = _write_tables(out, effort, cells, found, timings, sweep)
    files.append(_write(out / "fidelity.md", fidelity.to_markdown(fidelities, effort.mode)))
    files.append(_write(out / "fidelity.csv", _csv(fidelities, effort.mode)))
    plates = []
    for plate in all_plates(measured, timings, sweep, found.dislocations):
        tell("figures", 0.0)
        files += save(plate, out / "figures", effort)
        plates.append(plate)
    tell("report", 0.0)
    result = Reproduction(
        effort, measured, cells, found, timings, sweep, fidelities, plates, files, seconds=time.monotonic() - start
    )
    files.append(
        _write(
            out / "report.html",
            report.to_html(cells, found, fidelities, plates, out / "figures", effort, result.seconds),
        )
    )
    return result


def _write_tables(
    out: Path,
    effort: Effort,
    cells: list[table.Cell],
    found: findings.Findings,
    timings: list[Timing],
    sweep: list[SweepPoint],
) -> list[Path]:
    mode = effort.mode
    texts = {
        "table1.json": table.to_json(cells, mode),
        "table1.md": table.to_markdown(cells, mode),
        "table1.csv": table.to_csv(cells, mode),
        "findings.json": findings.to_json(found, mode),
        "findings.md": findings.to_markdown(found, mode),
        "computation_time.csv": _csv(timings, mode),
        "stress_against_m.csv": _csv(sweep, mode),
    }
    if found.dislocations:
        rows = [{**row._asdict(), "ratio": row.ratio} for row in found.dislocations]
        texts["dislocation.csv"] = table.rows_to_csv(rows, mode)
    return [_write(out / name, text) for name, text in texts.items()]


def _csv(rows: Sequence[Any], mode: str) -> str:
    return table.rows_to_csv([row._asdict() for row in rows], mode)


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def summary(result: Reproduction) -> list[str]:
    """What came out, in a few lines for a terminal."""
    lines = [f"Mode: {result.effort.mode}."]
    if result.found.dislocations:
        lines += ["", "S-curve, as published: movement of the map at each replacement (other rules: dislocation.csv)"]
        lines += ["  arrival  left  came  epsilon  measured   bound   ratio"]
        lines += [
            f"  {row.arrival:7d} {row.left:5d} {row.came:5d} {row.epsilon:8.3f} {row.measured:9.4f} {row.bound:7.2f} "
            f"{row.ratio:7.4f}"
            for row in result.found.dislocations
            if row.rule == "published"
        ]
    lines += ["", "Table 1:"]
    lines += [f"  {line}" for line in table.agreement(result.cells)]
    lines += ["", "Stress of maps from the landmarks of one pass (all columns: fidelity.md):"]
    heading, *body = fidelity.as_table(result.fidelities)
    widths = [max(map(len, column)) for column in zip(heading, *body, strict=True)]
    lines += ["  " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in (heading, *body)]
    lines += ["", "Stated in the paper outside Table 1 (printed | ours):"]
    lines += [
        f"  {row.mark or ' '} {DATA_SETS[row.data]}, {row.what}: {row.printed or 'nothing'} | {row.ours}"
        for row in result.found.statements
    ]
    lines += ["", "Radius at the end, and the largest distance of a point to its nearest landmark:"]
    lines += [
        f"  {DATA_SETS[row.data]}, {findings.RULES[row.rule].removeprefix('Online, ')}: {row.final_radius:.3f}, "
        f"{row.covering_radius:.3f}"
        for row in result.found.radii
    ]
    return lines
