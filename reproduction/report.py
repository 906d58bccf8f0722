"""The report: one self-contained HTML page with all results, readable on a phone as well."""

from __future__ import annotations

import base64
import platform
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import numpy as np

from driftmap import __version__
from reproduction import table1
from reproduction.fidelity import Fidelity, as_table, notes
from reproduction.figures import PaperFigure
from reproduction.scenarios import DATA_SETS, SCENARIOS
from reproduction.settings import Settings
from reproduction.statements import ONLINE_RULES, Comparison
from reproduction.table1 import CROSS, INDICES, NEAR, TICK, Cell

STYLE = """
:root { --ink: #1b1f24; --soft: #5b6470; --line: #d9dde3; --good: #1d7a3e; --bad: #b3261e; --fill: #f5f7f9; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; color: var(--ink); background: white;
       font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
p, li, figcaption { max-width: 46rem; }
nav a { margin-right: 1rem; }
a { color: #2563a8; }
code { background: var(--fill); padding: .1em .3em; border-radius: 3px; overflow-wrap: anywhere; }
.quick { background: var(--bad); color: white; padding: .5rem .75rem; border-radius: 4px; font-weight: 600; }
.scroll { overflow-x: auto; -webkit-overflow-scrolling: touch; border: 1px solid var(--line); border-radius: 4px; }
table { border-collapse: collapse; font-size: .875rem; width: 100%; }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { background: var(--fill); font-weight: 600; }
tr:last-child td { border-bottom: 0; }
tr.first td { border-top: 2px solid var(--soft); }
td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
td small { display: block; color: var(--soft); }
td.wide { min-width: 14rem; }
.stick { position: sticky; left: 0; background: white; white-space: nowrap; border-right: 1px solid var(--line); }
th.stick { background: var(--fill); }
.good { color: var(--good); font-weight: 700; }
.bad { color: var(--bad); font-weight: 700; }
.soft { color: var(--soft); }
figure { margin: 1.5rem 0; }
figure img { display: block; width: 100%; height: auto; }
figcaption { font-size: .9rem; color: var(--soft); margin-top: .5rem; }
figcaption b { color: var(--ink); }
@media (max-width: 40rem) {
  table.cards thead { display: none; }
  table.cards tr { display: block; padding: .5rem .6rem; border-bottom: 1px solid var(--line); }
  table.cards td { display: block; border: 0; padding: .1rem 0; position: static; }
  table.cards td:empty { display: none; }
  table.cards td:first-child { font-weight: 600; }
  table.cards td[data-label]:not(:empty)::before { content: attr(data-label) ": "; color: var(--soft); }
}
footer { margin-top: 3rem; font-size: .85rem; color: var(--soft); border-top: 1px solid var(--line); }
"""

MARKS = {TICK: "good", NEAR: "good", CROSS: "bad"}


def to_html(
    cells: Sequence[Cell],
    comparison: Comparison,
    fidelities: Sequence[Fidelity],
    drawn_figures: Iterable[PaperFigure],
    figures: Path,
    settings: Settings,
    seconds: float,
) -> str:
    """The report; pictures are read from the folder ``figures`` and embedded."""
    names = ", ".join(dict.fromkeys(DATA_SETS[cell.data] for cell in cells))
    banner = f'<p class="quick">{escape(settings.mode)}</p>' if settings.is_quick else ""
    pictures = "\n".join(_picture(drawn, figures) for drawn in drawn_figures)
    tests = f'<h2 id="hours">Are days alike at the same hour?</h2>{_tests(comparison)}' if comparison.hour_tests else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="{escape(settings.mode)}">
<title>Online landmark replacement, reproduced</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>Online landmark replacement, reproduced</h1>
{banner}
<p>The tables and figures of <i>Online landmark replacement for out-of-sample dimensionality reduction methods</i>
(C. Thongprayoon and N. Masuda), computed with Driftmap {escape(__version__)} and compared with the printed values.
Data sets: {escape(names)}. Mode: {escape(settings.mode)}.</p>
<nav><a href="#short">In short</a> <a href="#table1">Table 1</a> <a href="#stated">Statements</a>
<a href="#rule">The better rule</a> <a href="#embedding">Better embeddings</a> <a href="#figures">Figures</a></nav>
</header>
<main>
<h2 id="short">In short</h2>
{_in_short(cells, comparison)}
<h2 id="table1">Table 1: stress of landmark MDS</h2>
<p>{escape(table1.LEGEND)} Under each value: the printed one, and ours less the printed.</p>
{_table1(cells)}
<h2 id="stated">What the paper states outside Table 1</h2>
{_statements(comparison)}
<h2 id="rule">What a better rule changes</h2>
{_rules(comparison)}
<h2 id="embedding">Better embeddings from the same landmarks</h2>
{_fidelity(fidelities)}
{tests}
{_dislocations(comparison)}
<h2 id="figures">Figures</h2>
{pictures}
</main>
<footer><p>Made in {seconds:.0f} s by <code>driftmap reproduce</code>, Driftmap {escape(__version__)}, Python
{platform.python_version()}, NumPy {np.__version__}. Mode: {escape(settings.mode)}.</p></footer>
</body>
</html>
"""


def _rows(head: Sequence[str], rows: Iterable[str], kind: str = "plain") -> str:
    cells = "".join(f"<th{_stick(i)}>{escape(name)}</th>" for i, name in enumerate(head))
    body = "".join(rows)
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _stick(column: int) -> str:
    return ' class="stick"' if column == 0 else ""


def _mark(mark: str) -> str:
    return f'<span class="{MARKS.get(mark, "soft")}">{mark}</span>'


def _in_short(cells: Sequence[Cell], comparison: Comparison) -> str:
    agree = [row for row in comparison.statements if row.agrees]
    differ = [row for row in comparison.statements if row.agrees is False]
    lines = [escape(line) + "." for line in table1.agreement(cells)]
    lines.append(
        f"Of what the paper states outside Table 1, {len(agree)} statements agree"
        + (f" and {len(differ)} do not; the notes say why." if differ else ".")
    )
    return "<ul>" + "".join(f"<li>{line}</li>" for line in lines) + "</ul>"


def _table1(cells: Sequence[Cell]) -> str:
    width = len(SCENARIOS)
    rows = []
    for first in range(0, len(cells), width):
        own = cells[first : first + width]
        head = own[0]
        new = ' class="first"' if (head.k, head.measure) == (1, "sigma_L") else ""
        label = f"{DATA_SETS[head.data]}, k = {head.k}, {_symbol(head.measure)}"
        values = "".join(
            f'<td class="number">{escape(cell.text())} {_mark(cell.mark)}'
            f"<small>{escape(cell.comparison())}</small></td>"
            for cell in own
        )
        rows.append(f'<tr{new}><td class="stick">{label}</td>{values}</tr>')
    return _rows(["", *(scenario.title for scenario in SCENARIOS)], rows)


def _symbol(measure: str) -> str:
    return INDICES[measure].replace("_L", "<sub>L</sub>")


def _statements(comparison: Comparison) -> str:
    return _rows(
        ["", "what", "printed", "ours", "note"],
        (
            f'<tr><td class="stick">{DATA_SETS[row.data]}</td><td class="wide">{escape(row.what)}</td>'
            f'<td data-label="printed">{escape(row.printed)}</td><td data-label="ours">{escape(row.ours)} '
            f'{_mark(row.mark)}</td><td class="wide soft">{escape(row.note)}</td></tr>'
            for row in comparison.statements
        ),
        "cards",
    )


def _rules(comparison: Comparison) -> str:
    text = (
        "<p>Algorithm 2 asks REMOVE about one fixed pair of points, so the radius has to grow until one of the two is "
        "redundant. The tight rule drops the landmark that is cheapest to lose and sets the radius to the true "
        "covering radius. The covering radius is the largest distance of any point to its nearest landmark, so "
        "smaller is better; stress is for two dimensions.</p>"
    )
    return text + _rows(
        ["", "rule", "final radius", "covering radius", "stress", "replacements"],
        (
            f'<tr{" class=first" if row.rule == "published" else ""}><td class="stick">{DATA_SETS[row.data]}</td>'
            f'<td class="number">{escape(ONLINE_RULES[row.rule])}</td>'
            f'<td class="number">{row.final_radius:.3f}</td><td class="number">{row.covering_radius:.3f}</td>'
            f'<td class="number">{row.sigma:.3f}</td><td class="number">{row.n_replacements}</td></tr>'
            for row in comparison.radii
        ),
    )


def _fidelity(rows: Sequence[Fidelity]) -> str:
    text = (
        "<p>Normalised stress &sigma; over all points; smaller is better. All but the methods on all points use the "
        "landmarks of one pass (tight rule) and place each point by its distances to these. "
        f"{escape('; '.join(notes(rows)))}.</p>"
    )
    heading, *body = as_table(rows)
    return text + _rows(
        heading,
        (
            f'<tr><td class="stick">{escape(line[0])}</td>'
            + "".join(f'<td class="number">{value}</td>' for value in line[1:])
            + "</tr>"
            for line in body
        ),
    )


def _tests(comparison: Comparison) -> str:
    titles = {scenario.key: scenario.title for scenario in SCENARIOS}
    text = (
        "<p>Distances between hourly mean positions on the map: pairs at the same hour of two days against pairs at "
        "different hours. Two-sided p-values of Student's t-test (equal variances, as in the paper) and of Welch's.</p>"
    )
    return text + _rows(
        ["", "hours", "pairs, same / different", "mean distance, same / different", "Student", "Welch"],
        (
            f'<tr><td class="stick">{escape(titles.get(test.scenario, test.scenario))}</td>'
            f'<td class="number">{test.hours[0]} to {test.hours[1]}</td>'
            f'<td class="number">{test.n_same} / {test.n_different}</td>'
            f'<td class="number">{test.mean_same:.2f} / {test.mean_different:.2f}</td>'
            f'<td class="number">{test.p_student:.2e}</td><td class="number">{test.p_welch:.2e}</td></tr>'
            for test in comparison.hour_tests
        ),
    )


def _dislocations(comparison: Comparison) -> str:
    shown = [row for row in comparison.dislocations if row.rule == "published"]
    if not shown:
        return ""
    rows = _rows(
        ["arrival", "left", "came", "distance left to came", "measured", "bound", "measured / bound"],
        (
            f'<tr><td class="stick">{row.arrival}</td><td class="number">{row.left}</td>'
            f'<td class="number">{row.came}</td><td class="number">{row.epsilon:.3f}</td>'
            f'<td class="number">{row.measured:.4f}</td><td class="number">{row.bound:.2f}</td>'
            f'<td class="number">{row.ratio:.5f}</td></tr>'
            for row in shown
        ),
    )
    return (
        '<h2 id="dislocation">Dislocation against its bound</h2>'
        "<p>How far each replacement on the S-curve moved the map (k = 2), against the theorem of section 5: the point "
        "that moved farthest in proportion to its bound, once the two frames are matched by the best rotation. The "
        "other rules are in dislocation.csv.</p>"
        f"<details><summary>{len(shown)} replacements of the rule as published</summary>{rows}</details>"
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
