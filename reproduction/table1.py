"""Table 1 compared with the printed one, as records and as JSON, Markdown and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from reproduction.printed_values import PRINTED, PrintedCell
from reproduction.scenarios import DATA_SETS, DIMENSIONS, SCENARIOS, DataSetResults, Scenario, Stress

SIGMA = "\N{GREEK SMALL LETTER SIGMA}"
INDICES = {"sigma_L": f"{SIGMA}_L", "sigma": SIGMA}
"""The two stresses of Table 1: over the landmarks, and over all points."""

TICK, NEAR, CROSS, LOWER, HIGHER = "✓", "≈", "✗", "↓", "↑"
LEGEND = (
    f"{TICK} rounds to the printed value. {NEAR} does not, but lies within two printed standard deviations. "
    f"{CROSS} neither. All three online columns are compared with the printed column Online, which the first of them "
    "reproduces; Algorithm 2 as printed and the tight rule, Driftmap's default, choose other landmarks: "
    f"{LOWER} is a lower stress than the printed one, {HIGHER} a higher."
)

_OWN_RULES = {scenario.key for scenario in SCENARIOS if scenario.is_ours}


class Cell(NamedTuple):
    """One value of the table."""

    data: str
    m: int
    k: int
    measure: str
    """"sigma_L" or "sigma"."""
    scenario: str
    value: float
    """The stress; of a random scenario, the mean over its runs."""
    sd: float | None
    """Standard deviation over the runs."""
    n_runs: int
    printed: PrintedCell

    @property
    def difference(self) -> float | None:
        """Ours less the printed value; None where that is "<0.01"."""
        return None if self.printed.value is None else self.value - self.printed.value

    @property
    def agrees(self) -> bool:
        """Whether the value rounds to the printed one."""
        return self.printed.agrees(self.value)

    @property
    def mark(self) -> str:
        """See LEGEND."""
        if self.agrees:
            return TICK
        if self.scenario in _OWN_RULES:
            return LOWER if self.value < (self.printed.value or 0.0) else HIGHER
        return NEAR if self.printed.within_two_sd(self.value) else CROSS

    def text(self) -> str:
        """The value, with its standard deviation if it is a mean."""
        return f"{self.value:.3f}" + ("" if self.sd is None else f" ± {self.sd:.3f}")

    def comparison(self) -> str:
        """The printed value and the difference."""
        difference = "" if self.difference is None else f", {self.difference:+.3f}"
        return f"{self.printed}{difference}"

    def record(self) -> dict[str, str | int | float | bool | None]:
        """All fields under plain names, for JSON and CSV."""
        return {
            "data": self.data,
            "m": self.m,
            "k": self.k,
            "index": self.measure,
            "scenario": self.scenario,
            "value": self.value,
            "sd": self.sd,
            "runs": self.n_runs,
            "printed": str(self.printed),
            "printed_value": self.printed.value,
            "printed_sd": self.printed.sd,
            "difference": self.difference,
            "rounds_to_printed": self.agrees,
            "within_two_printed_sd": self.printed.within_two_sd(self.value),
        }


def table_cells(all_results: Iterable[DataSetResults]) -> list[Cell]:
    """Table 1 in the printed order, row by row."""
    return [
        _cell(results, k, index, scenario)
        for results in all_results
        for k in DIMENSIONS
        for index in INDICES
        for scenario in SCENARIOS
    ]


def _cell(results: DataSetResults, k: int, index: str, scenario: Scenario) -> Cell:
    printed = getattr(PRINTED[results.stream.key], scenario.printed_as).cell(index, k)
    values = np.array([_value(stress, index, k) for stress in results.stresses[scenario.key]])
    spread = float(values.std(ddof=1)) if scenario.is_random and len(values) > 1 else None
    return Cell(
        results.stream.key, results.stream.m, k, index, scenario.key, float(values.mean()), spread, len(values), printed
    )


def _value(stress: Stress, index: str, k: int) -> float:
    return float(getattr(stress, index)[k - 1])


def agreement(cells: Iterable[Cell]) -> list[str]:
    """One line per scenario: how many cells agree with the printed ones."""
    lines = []
    rows = list(cells)
    for scenario in SCENARIOS:
        own = [cell for cell in rows if cell.scenario == scenario.key]
        line = f"{scenario.title}: {sum(cell.agrees for cell in own)} of {len(own)} values round to the printed one"
        if scenario.is_random:
            line += f", {sum(cell.mark == NEAR for cell in own)} more lie within two printed standard deviations"
        if scenario.is_ours:
            line += f", {sum(cell.mark == LOWER for cell in own)} are lower, "
            line += f"{sum(cell.mark == HIGHER for cell in own)} higher"
        lines.append(line)
    return lines


def to_json(cells: Iterable[Cell], mode: str) -> str:
    """The cells as a JSON object that says how they were computed."""
    return json.dumps(
        {"mode": mode, "legend": LEGEND, "cells": [cell.record() for cell in cells]}, indent=1, ensure_ascii=False
    )


def to_csv(cells: Iterable[Cell], mode: str) -> str:
    """The cells as CSV, one per line; the mode is the last column of each."""
    return rows_to_csv([cell.record() for cell in cells], mode)


def rows_to_csv(rows: list[dict[str, str | int | float | bool | None]], mode: str) -> str:
    """Records with the same fields as CSV, with the mode as the last column."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [*rows[0], "mode"], lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row, "mode": mode} for row in rows)
    return text.getvalue()


def to_markdown(cells: Iterable[Cell], mode: str) -> str:
    """The table in the paper's layout; each cell is ours, then in brackets the printed value and the difference."""
    rows = list(cells)
    width = len(SCENARIOS)
    lines = [
        "# Table 1: goodness of landmark MDS, ours and the printed values",
        "",
        f"Mode: {mode}.",
        "",
        "Each cell: ours (printed, difference) mark. " + LEGEND,
        "",
        "| data | m | k | index | " + " | ".join(scenario.title for scenario in SCENARIOS) + " |",
        "|---|---|---|---|" + "---|" * width,
    ]
    for first in range(0, len(rows), width):
        own = rows[first : first + width]
        head = own[0]
        texts = " | ".join(f"{cell.text()} ({cell.comparison()}) {cell.mark}" for cell in own)
        lines.append(f"| {DATA_SETS[head.data]} | {head.m} | {head.k} | {INDICES[head.measure]} | {texts} |")
    lines += ["", *(f"- {line}." for line in agreement(rows))]
    return "\n".join(lines) + "\n"
