"""Curves for all data sets: computation time, stress against m, growth of the radius, dislocation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reproduction.curves import LITERAL, SPECTRA, SweepPoint, Timing
from reproduction.dislocation import Dislocation
from reproduction.figures.base import (
    BLUE,
    COLOURS,
    PANEL_OF,
    PAPER_GREY,
    RULE_TITLES,
    Axes,
    PaperFigure,
    heading,
    new_figure,
    panels,
)
from reproduction.scenarios import DATA_SETS, DataSetResults

CURVE_RULES = ("published", "paper", "tight")
CURVE_LABELS = {**RULE_TITLES, LITERAL: "Algorithm 2 with explicit edges"}


def computation_time(timings: Sequence[Timing]) -> PaperFigure:
    """The paper's figure of computation time."""
    keys = [key for key in DATA_SETS if any(timing.data == key for timing in timings)]
    figure, row = panels([f"({PANEL_OF[key]}) {DATA_SETS[key]}" for key in keys], height=4.2)
    for axes, key in zip(row, keys, strict=True):
        of_rule = {
            rule: {timing.n: timing.seconds for timing in timings if (timing.data, timing.rule) == (key, rule)}
            for rule in (*CURVE_RULES, LITERAL, SPECTRA)
        }
        for rule in (*CURVE_RULES, LITERAL):
            n, seconds = list(of_rule[rule]), list(of_rule[rule].values())
            axes.loglog(n, seconds, color=COLOURS[rule], marker="o", markersize=3, label=CURVE_LABELS[rule])
        if spectra := of_rule[SPECTRA]:
            total = [seconds + of_rule["published"][n] for n, seconds in spectra.items()]
            label = "online, as published, with the Laplacian spectra"
            axes.loglog(list(spectra), total, color=BLUE, marker="o", markersize=3, linestyle="dashed", label=label)
        _guides(axes, of_rule[LITERAL])
        axes.set(xlabel="n")
    row[0].set_ylabel("seconds")
    handles, labels = row[-1].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=4 if len(keys) > 1 else 2, fontsize=8, frameon=False
    )
    return PaperFigure(
        "fig8-computation-time",
        "Figure 8: computation time",
        "Seconds to choose the landmarks of the first n points and to place these n points, k = 2, on the machine that "
        "made this report. The grey lines are guides, proportional to n^2 and n^3. The literal algorithm keeps all "
        "edges and a sorted list of pairs and is stopped early. For the hospital the dashed line is the total "
        "with the spectra of the networks, which any rule needs once.",
        figure,
    )


def _guides(axes: Axes, literal: dict[int, float]) -> None:
    """Lines of slope 2 and 3 through the literal algorithm's last point."""
    n = np.array([min(literal), max(literal)], dtype=float)
    for power, style in ((2, "dotted"), (3, "dashdot")):
        seconds = literal[max(literal)] * (n / n[-1]) ** power
        axes.loglog(n, seconds, color=PAPER_GREY, linewidth=1.0, linestyle=style, label=f"proportional to $n^{power}$")


def stress_against_m(points: Sequence[SweepPoint]) -> PaperFigure:
    """The supplement's figure of stress against the number of landmarks."""
    keys = [key for key in DATA_SETS if any(point.data == key for point in points)]
    figure, row = panels([f"({PANEL_OF[key]}) {DATA_SETS[key]}" for key in keys], height=4.0)
    for axes, key in zip(row, keys, strict=True):
        for rule in ("published", "tight"):
            own = [point for point in points if (point.data, point.rule) == (key, rule)]
            m = [point.m for point in own]
            marker = "o" if len(own) < 20 else ""
            look: dict[str, Any] = {"color": COLOURS[rule], "marker": marker, "markersize": 3, "linewidth": 1.2}
            axes.plot(m, [point.sigma for point in own], label=rf"$\sigma$, {RULE_TITLES[rule]}", **look)
            axes.plot(
                m,
                [point.sigma_L for point in own],
                label=rf"$\sigma_L$, {RULE_TITLES[rule]}",
                linestyle="dashed",
                **look,
            )
        axes.axhline(0.15, color=PAPER_GREY, linewidth=0.9, linestyle="dotted", label="guideline 0.15")
        axes.set(xlabel="m", ylim=(0, None))
    row[0].set_ylabel("stress, k = 2")
    handles, labels = row[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=5 if len(keys) > 1 else 2, fontsize=8, frameon=False
    )
    return PaperFigure(
        "figS1-stress-against-m",
        "Figure S1: stress against the number of landmarks",
        "Blue: the online rule as published; orange: the tight rule. Solid: all points; dashed: landmarks only. The "
        "dotted line is the guideline 0.15.",
        figure,
    )


def radius_growth(all_results: Sequence[DataSetResults]) -> PaperFigure:
    """The supplement's figure of the growth of rho."""
    figure, row = panels(
        [f"({PANEL_OF[results.stream.key]}) {results.stream.title}" for results in all_results], height=3.9
    )
    for axes, results in zip(row, all_results, strict=True):
        n, m = len(results.stream.points), results.stream.m
        for rule in CURVE_RULES:
            landmarks = results.landmarks[rule][0]
            arrivals = np.concatenate([[m], landmarks.radius_arrivals + 1, [n]])
            radii = np.concatenate([[0.0], landmarks.radii, landmarks.radii[-1:]])
            axes.plot(
                arrivals, radii, drawstyle="steps-post", color=COLOURS[rule], linewidth=1.3, label=RULE_TITLES[rule]
            )
        axes.set(xlabel="data points so far", ylim=(0, None))
        if results.stream.key == "hospital":
            axes.set_xscale("log")  # as in the paper: the first two leaps come early
    row[0].set_ylabel(r"radius $\rho$")
    handles, labels = row[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return PaperFigure(
        "figS2-radius",
        "Figure S2: growth of the radius",
        "The radius over the stream: as published (blue; what the paper shows), with Algorithm 2 as printed (green), "
        "and with the tight rule (orange), which may also shrink it.",
        figure,
    )


def dislocation(rows: Sequence[Dislocation]) -> PaperFigure:
    """Measured movement against the bound of section 5."""
    figure = new_figure(5.4, 4.2)
    axes: Axes = figure.add_subplot()
    heading(axes, "S-curve, k = 2")
    for rule in CURVE_RULES:
        own = [row for row in rows if row.rule == rule]
        axes.scatter(
            [row.bound for row in own], [row.measured for row in own], s=14, color=COLOURS[rule], alpha=0.6,
            linewidths=0, label=f"{RULE_TITLES[rule]} ({len(own)})",
        )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="bound", ylabel="measured")
    ends = np.array([min(row.bound for row in rows), max(row.bound for row in rows)])
    axes.plot(ends, ends, color=PAPER_GREY, linewidth=1.0)
    middle = float(np.sqrt(ends[0] * ends[1]))
    axes.annotate(
        "measured = bound", (middle, middle), (6, -10), textcoords="offset points", fontsize=8, color=PAPER_GREY
    )
    axes.legend(loc="center left", fontsize=8, frameon=False, bbox_to_anchor=(0, 0.85))
    return PaperFigure(
        "extra4-dislocation",
        "Theorem of section 5: dislocation at each replacement on the S-curve",
        "For every replacement the point that moved farthest in proportion to its bound. The theorem is of first order "
        "in the distance from the old to the new landmark, which is not small here; the bound holds all the same.",
        figure,
    )
