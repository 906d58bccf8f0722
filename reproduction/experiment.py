"""The whole reproduction: runs the experiments, draws the figures, writes the files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from driftmap.datasets.recorded import HOSPITAL_FILE, HOSPITAL_URL, STOCKS_FILE
from driftmap.storage.atomic import replacing
from driftmap.utils import PathLike
from driftmap.utils.errors import InputError, MissingDependencyError
from reproduction import fidelity, report, statements, table1
from reproduction.curves import SweepPoint, Timing, stress_against_m, time_against_n
from reproduction.figures import PaperFigure, all_figures, new_figure, save
from reproduction.scenarios import DATA_SETS, DataSetResults, Stream, load_stream, run_scenarios
from reproduction.settings import FULL, Settings

StepProgress = Callable[[str, float], None]
"""Called with the name of the current step and the fraction of it that is done."""

HOW_TO_GET = {
    "spy": f'put {STOCKS_FILE} in a folder and name it with --data or DRIFTMAP_DATA, or pip install "driftmap[stocks]" '
    "to download the prices from Yahoo Finance",
    "hospital": f"put {HOSPITAL_FILE} (from {HOSPITAL_URL}) in a folder and name it with --data or DRIFTMAP_DATA, or "
    'pip install "driftmap[data]" to download it',
}


class MissingDataError(InputError):
    """A recorded data set is missing or damaged; the message is one line that says how to get it."""


class Reproduction(NamedTuple):
    """All results, and the files written."""

    settings: Settings
    all_results: list[DataSetResults]
    cells: list[table1.Cell]
    comparison: statements.Comparison
    timings: list[Timing]
    sweep: list[SweepPoint]
    fidelities: list[fidelity.Fidelity]
    figures: list[PaperFigure]
    files: list[Path]
    seconds: float


def load_streams(names: Sequence[str], data: PathLike | None = None) -> list[Stream]:
    """Load data sets by name."""
    streams = []
    for name in names:
        try:
            streams.append(load_stream(name, data))
        except (OSError, ImportError, ValueError) as error:
            reason = error.problem if isinstance(error, MissingDependencyError) else " ".join(str(error).split())
            raise MissingDataError(
                f"no usable {DATA_SETS[name]} data ({reason}); {HOW_TO_GET[name]}. "
                "`python -m reproduction s-curve` needs no data"
            ) from error
    return streams


def reproduce(
    names: Sequence[str],
    folder: PathLike,
    *,
    settings: Settings = FULL,
    data: PathLike | None = None,
    progress: StepProgress = lambda what, fraction: None,
) -> Reproduction:
    """Reproduce the paper for the named data sets and write everything into ``folder``.

    Parameters
    ----------
    names : sequence of {"s-curve", "spy", "hospital"}
    folder : path
        Created if missing; files of an earlier run are replaced.
    settings : Settings
        FULL, or QUICK with fewer repetitions.
    data : path, optional
        Folder of the recorded data sets; see :mod:`driftmap.datasets`.
    progress : callable
        Called with the name of the current step and the fraction of it that is done.
    """
    start = time.monotonic()
    new_figure(1, 1)  # fails without matplotlib, before any long computation
    progress("loading data", 0.0)
    streams = load_streams(names, data)
    out = Path(folder)
    (out / "figures").mkdir(parents=True, exist_ok=True)

    all_results, timings, sweep = [], [], []
    for stream in streams:
        step = f"{stream.title}: Table 1, {settings.n_runs} runs of each random scenario"
        progress(step, 0.0)
        all_results.append(run_scenarios(stream, settings.n_runs, partial(progress, step)))
        step = f"{stream.title}: stress against m"
        sweep.extend(stress_against_m(stream, settings, partial(progress, step)))
        progress(f"{stream.title}: computation time against n", 0.0)
        timings.extend(time_against_n(stream, settings))
    progress("statements outside Table 1", 0.0)
    comparison = statements.compare(all_results)
    cells = table1.table_cells(all_results)
    fidelities = fidelity.fidelity(all_results, settings, partial(progress, "stress of other embeddings"))

    files = _write_tables(out, settings, cells, comparison, timings, sweep)
    files.append(write(out / "fidelity.md", fidelity.to_markdown(fidelities, settings.mode)))
    files.append(write(out / "fidelity.csv", _csv(fidelities, settings.mode)))
    figures = []
    for drawn in all_figures(all_results, timings, sweep, comparison.dislocations):
        progress("figures", 0.0)
        files += save(drawn, out / "figures", settings)
        figures.append(drawn)
    progress("report", 0.0)
    result = Reproduction(
        settings,
        all_results,
        cells,
        comparison,
        timings,
        sweep,
        fidelities,
        figures,
        files,
        seconds=time.monotonic() - start,
    )
    files.append(
        write(
            out / "report.html",
            report.to_html(cells, comparison, fidelities, figures, out / "figures", settings, result.seconds),
        )
    )
    return result


def _write_tables(
    out: Path,
    settings: Settings,
    cells: list[table1.Cell],
    comparison: statements.Comparison,
    timings: list[Timing],
    sweep: list[SweepPoint],
) -> list[Path]:
    mode = settings.mode
    texts = {
        "table1.json": table1.to_json(cells, mode),
        "table1.md": table1.to_markdown(cells, mode),
        "table1.csv": table1.to_csv(cells, mode),
        "statements.json": statements.to_json(comparison, mode),
        "statements.md": statements.to_markdown(comparison, mode),
        "computation_time.csv": _csv(timings, mode),
        "stress_against_m.csv": _csv(sweep, mode),
    }
    if comparison.dislocations:
        rows = [{**row._asdict(), "ratio": row.ratio} for row in comparison.dislocations]
        texts["dislocation.csv"] = table1.rows_to_csv(rows, mode)
    return [write(out / name, text) for name, text in texts.items()]


def _csv(rows: Sequence[Any], mode: str) -> str:
    return table1.rows_to_csv([row._asdict() for row in rows], mode)


def write(path: Path, text: str) -> Path:
    """Write a text file atomically and return its path."""
    with replacing(path) as file:
        file.write(text.encode())
    return path


def summary(result: Reproduction) -> list[str]:
    """Return the results in a few lines for a terminal."""
    lines = [f"Mode: {result.settings.mode}."]
    if result.comparison.dislocations:
        lines += ["", "S-curve, as published: movement of the map at each replacement (other rules: dislocation.csv)"]
        lines += ["  arrival  left  came  epsilon  measured   bound   ratio"]
        lines += [
            f"  {row.arrival:7d} {row.left:5d} {row.came:5d} {row.epsilon:8.3f} {row.measured:9.4f} {row.bound:7.2f} "
            f"{row.ratio:7.4f}"
            for row in result.comparison.dislocations
            if row.rule == "published"
        ]
    lines += ["", "Table 1:"]
    lines += [f"  {line}" for line in table1.agreement(result.cells)]
    lines += ["", "Stress of maps from the landmarks of one pass (all columns: fidelity.md):"]
    heading, *body = fidelity.as_table(result.fidelities)
    widths = [max(map(len, column)) for column in zip(heading, *body, strict=True)]
    lines += ["  " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in (heading, *body)]
    lines += ["", "Stated in the paper outside Table 1 (printed | ours):"]
    lines += [
        f"  {row.mark or ' '} {DATA_SETS[row.data]}, {row.what}: {row.printed or 'nothing'} | {row.ours}"
        for row in result.comparison.statements
    ]
    lines += ["", "Radius at the end, and the largest distance of a point to its nearest landmark:"]
    lines += [
        f"  {DATA_SETS[row.data]}, {statements.ONLINE_RULES[row.rule].removeprefix('Online, ')}: "
        f"{row.final_radius:.3f}, {row.covering_radius:.3f}"
        for row in result.comparison.radii
    ]
    return lines
