"""The report: one self-contained HTML page with all results, readable on a phone as well."""

from __future__ import annotations

import base64
import platform
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from string import Template

import numpy as np

from driftmap import __version__
from reproduction import table1
from reproduction.fidelity import Fidelity, as_table, notes
from reproduction.figures import PaperFigure
from reproduction.scenarios import DATA_SETS, SCENARIOS
from reproduction.settings import Settings
from reproduction.statements import ONLINE_RULES, Comparison
from reproduction.table1 import CROSS, HIGHER, INDICES, LOWER, NEAR, TICK, Cell

PAGE = Template(Path(__file__).with_name("report.html").read_text(encoding="utf-8"))
MARKS = {TICK: "good", NEAR: "good", CROSS: "bad", LOWER: "soft", HIGHER: "soft"}
"""The CSS class of each mark."""


def to_html(
    cells: Sequence[Cell],
    comparison: Comparison,
    fidelities: Sequence[Fidelity],
    drawn_figures: Iterable[PaperFigure],
    figures: Path,
    settings: Settings,
    seconds: float,
) -> str:
    """Return the report; pictures are read from the folder ``figures`` and embedded."""
    mode = escape(settings.mode)
    heading, *methods = as_table(fidelities)
    return PAGE.substitute(
        mode=mode,
        banner=f'<p class="quick">{mode}</p>' if settings.is_quick else "",
        version=escape(__version__),
        data_sets=escape(", ".join(dict.fromkeys(DATA_SETS[cell.data] for cell in cells))),
        short=_in_short(cells, comparison),
        legend=_marked(table1.LEGEND),
        table1=_table1(cells),
        statements=_statements(comparison),
        rules=_rules(comparison),
        fidelity_notes="\n".join(f"<li>{escape(note)}</li>" for note in notes(fidelities)),
        fidelity=_table(heading, methods),
        hours=_hours(comparison),
        dislocations=_dislocations(comparison),
        pictures="\n".join(_picture(drawn, figures) for drawn in drawn_figures),
        seconds=f"{seconds:.0f}",
        python=platform.python_version(),
        numpy=np.__version__,
    )


def _marked(text: str) -> str:
    """Return text as HTML, with coloured marks, an index L, and what follows a line break in small letters."""
    html = escape(text).replace("_L", "<sub>L</sub>")
    html = re.sub("|".join(MARKS), lambda found: f'<span class="{MARKS[found[0]]}">{found[0]}</span>', html)
    line, _, below = html.partition("\n")
    return f"{line}<small>{below}</small>" if below else line


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Return an HTML table; a line separates rows where the first word of the first cell changes in a grouped one."""
    lines, group = [], ""
    for row in rows:
        new = row[0].split(",")[0] if kind else ""
        cells = (f'<td data-label="{escape(name)}">{_marked(text)}</td>' for name, text in zip(head, row, strict=True))
        lines.append(f"<tr{' class=first' if new != group else ''}>{''.join(cells)}</tr>")
        group = new
    titles = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "\n".join(lines)
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{titles}</tr></thead><tbody>\n{body}\n'
        "</tbody></table></div>"
    )


def _in_short(cells: Sequence[Cell], comparison: Comparison) -> str:
    agree = sum(row.agrees is True for row in comparison.statements)
    differ = sum(row.agrees is False for row in comparison.statements)
    stated = f"Of what the paper states outside Table 1, {agree} statements agree"
    stated += f" and {differ} do not; the notes say why" if differ else ""
    lines = [*table1.agreement(cells), stated]
    return "".join(f"<li>{escape(line)}.</li>" for line in lines)


def _table1(cells: Sequence[Cell]) -> str:
    width = len(SCENARIOS)
    rows = []
    for first in range(0, len(cells), width):
        head = cells[first]
        label = f"{DATA_SETS[head.data]}, k = {head.k}, {INDICES[head.measure]}"
        own = (f"{cell.text()} {cell.mark}\n{cell.comparison()}" for cell in cells[first : first + width])
        rows.append([label, *own])
    return _table(["", *(scenario.title for scenario in SCENARIOS)], rows, "grouped")


def _statements(comparison: Comparison) -> str:
    rows = (
        (DATA_SETS[row.data], row.what, row.printed, f"{row.ours} {row.mark}", row.note)
        for row in comparison.statements
    )
    return _table(["", "what", "printed", "ours", "note"], rows, "cards")


def _rules(comparison: Comparison) -> str:
    rows = (
        (
            DATA_SETS[row.data],
            ONLINE_RULES[row.rule],
            f"{row.final_radius:.3f}",
            f"{row.covering_radius:.3f}",
            f"{row.sigma:.3f}",
            str(row.n_replacements),
        )
        for row in comparison.radii
    )
    return _table(["", "rule", "final radius", "covering radius", "stress", "replacements"], rows, "grouped")


def _hours(comparison: Comparison) -> str:
    if not comparison.hour_tests:
        return ""
    titles = {scenario.key: scenario.title for scenario in SCENARIOS}
    rows = [
        (
            titles.get(test.scenario, test.scenario),
            means,
            f"{test.hours[0]} to {test.hours[1]}",
            f"{test.n_same} / {test.n_different}",
            f"{test.mean_same:.2f} / {test.mean_different:.2f}",
            f"{test.p_student:.2e}",
            f"{test.p_welch:.2e}",
        )
        for means, tests in (
            ("times of contact", comparison.hour_tests),
            ("continuous time", comparison.continuous_hour_tests),
        )
        for test in tests
    ]
    head = ["", "means over", "hours", "pairs, same / different", "mean distance, same / different", "Student", "Welch"]
    return (
        '<h2 id="hours">Are days alike at the same hour?</h2>'
        "<p>Distances between hourly mean positions on the map: pairs at the same hour of two days against pairs at "
        "different hours. Two-sided p-values of Student's t-test (equal variances, as in the paper) and of Welch's. "
        f"Means are over the times of contact or over continuous time.</p>{_table(head, rows)}"
    )


def _dislocations(comparison: Comparison) -> str:
    rows = [
        (
            str(row.arrival),
            str(row.left),
            str(row.came),
            f"{row.epsilon:.3f}",
            f"{row.measured:.4f}",
            f"{row.bound:.2f}",
            f"{row.ratio:.5f}",
        )
        for row in comparison.dislocations
        if row.rule == "published"
    ]
    if not rows:
        return ""
    head = ["arrival", "left", "came", "distance left to came", "measured", "bound", "measured / bound"]
    return (
        '<h2 id="dislocation">Dislocation against its bound</h2>'
        "<p>How far each replacement on the S-curve moved the map (k = 2), against the theorem of section 5: the point "
        "that moved farthest in proportion to its bound, once the two frames are matched by the best rotation. The "
        "other rules are in dislocation.csv.</p>"
        f"<details><summary>{len(rows)} replacements of the rule as published</summary>{_table(head, rows)}</details>"
    )


def _picture(drawn: PaperFigure, figures: Path) -> str:
    data = base64.b64encode((figures / f"{drawn.name}.png").read_bytes()).decode()
    # At most as wide as the page, and never so small that text is illegible: a phone scrolls.
    inches = drawn.figure.get_figwidth()
    size = f"max-width: {6.5 * inches:.0f}rem; min-width: {3.1 * inches:.0f}rem"
    return (
        f'<figure id="{drawn.name}"><div class="scroll"><img alt="{escape(drawn.title)}" style="{size}" '
        f'src="data:image/png;base64,{data}"></div>'
        f"<figcaption><b>{escape(drawn.title)}.</b> {escape(drawn.caption)}</figcaption></figure>"
    )
