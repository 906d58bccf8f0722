"""The hospital's hours, the times of its landmarks, and sixteen hours of its trajectory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from driftmap.utils import Array
from reproduction.figures.base import (
    DAYS,
    PANELS,
    PAPER_INK,
    PRINTED_SCENARIOS,
    RULE_TITLES,
    RULER_COLOR,
    Axes,
    PaperFigure,
    heading,
    new_figure,
    panels,
    scale_alike,
)
from reproduction.hospital import DAYTIME, WEEKDAYS, clock, hourly_means
from reproduction.scenarios import DataSetResults, aligned_maps

HOURS = (*((0, hour) for hour in range(13, 20)), *((1, hour) for hour in range(6, 15)))
"""The sixteen hours of the supplement: Monday 1 PM to 8 PM, Tuesday 6 AM to 3 PM."""


def hospital_figures(results: DataSetResults) -> Iterator[PaperFigure]:
    """The paper's three figures of the hospital, and what the other rules change."""
    sets = {key: results.landmarks[key][0].indices for key in (*PRINTED_SCENARIOS, "paper", "tight")}
    maps = aligned_maps(results.stream, sets)
    yield _hours(
        results,
        maps,
        PRINTED_SCENARIOS,
        "fig6-hospital-hours",
        "Figure 6: hourly averages of the hospital's network",
        "Mean position in each hour from 6 AM to 8 PM, joined in order of time; the number is the hour (14: from 2 PM "
        f"to 3 PM). m = {results.stream.m}, decay 0.01 per second. The random landmarks are those of the first run.",
    )
    yield _landmark_times(results)
    yield _hours(
        results,
        maps,
        ("paper", "tight"),
        "extra3-hospital-rules",
        "Not in the paper: the hospital with other rules",
        "Hourly averages as in Figure 6, with the landmarks of Algorithm 2 as printed and of the tight rule.",
    )
    yield _trajectories(results, maps["published"])


def _hours(
    results: DataSetResults, maps: dict[str, Array], keys: tuple[str, ...], name: str, title: str, caption: str
) -> PaperFigure:
    figure, row = panels(
        [f"({panel}) {RULE_TITLES[key]}" for panel, key in zip(PANELS, keys, strict=False)], height=4.4
    )
    when = clock(results.stream)
    for axes, key in zip(row, keys, strict=True):
        means = hourly_means(maps[key], when, DAYTIME)
        for day, (colour, label) in enumerate(zip(DAYS, WEEKDAYS, strict=True)):
            own = means.day == day
            axes.plot(*means.positions[own].T, color=colour, linewidth=0.8, alpha=0.55, zorder=1)
            axes.scatter(*means.positions[own].T, s=62, color=colour, linewidths=0, zorder=2, label=label)
            for hour, (x, y) in zip(means.hour[own], means.positions[own], strict=True):
                axes.text(x, y, str(hour), fontsize=5, ha="center", va="center", color="white", zorder=3)
        scale_alike(axes)
    handles, labels = row[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    return PaperFigure(name, title, caption, figure)


def _landmark_times(results: DataSetResults) -> PaperFigure:
    when = clock(results.stream)
    figure, row = panels(
        [f"({panel}) {RULE_TITLES[key]}" for panel, key in zip(PANELS, PRINTED_SCENARIOS, strict=True)], height=2.6
    )
    for axes, key in zip(row, PRINTED_SCENARIOS, strict=True):
        indices = results.landmarks[key][0].indices
        for day in range(len(WEEKDAYS)):
            axes.axhline(day, color=RULER_COLOR, linewidth=0.8, zorder=0)
        axes.scatter(when.hour[indices], when.day[indices], marker="D", s=30, color=PAPER_INK, alpha=0.65, linewidths=0)
        axes.set(xlim=(0, 24), ylim=(len(WEEKDAYS) - 0.5, -0.5), xticks=range(0, 25, 4), xlabel="hour of the day")
        axes.set_yticks(range(len(WEEKDAYS)), WEEKDAYS if key == PRINTED_SCENARIOS[0] else [""] * len(WEEKDAYS))
    return PaperFigure(
        "fig7-hospital-landmark-times",
        "Figure 7: times of the hospital's landmarks",
        f"Each diamond is one of the {results.stream.m} final landmarks; 0 and 24 are midnight. As published, all but "
        "two of the online landmarks are from Monday between 1 PM and 2 PM, so their diamonds overlap.",
        figure,
    )


def _trajectories(results: DataSetResults, positions: Array) -> PaperFigure:
    when = clock(results.stream)
    shown = (when.day < 2) & when.within(DAYTIME)
    low, high = positions[shown].min(axis=0), positions[shown].max(axis=0)
    margin = 0.06 * (high - low)
    figure = new_figure(10.0, 1.0 + 4 * (0.35 + 2.2 * float(np.divide(*(high - low)[::-1]))))
    first: Axes = None
    for i, (day, hour) in enumerate(HOURS, start=1):
        axes: Axes = figure.add_subplot(4, 4, i, sharex=first, sharey=first)
        first = first or axes
        chosen = positions[(when.day == day) & (when.full_hour == hour)]
        heading(axes, f"{WEEKDAYS[day]} {_twelve(hour)} to {_twelve(hour + 1)}")
        axes.title.set_fontsize(8)
        axes.plot(*chosen.T, color=DAYS[day], linewidth=0.7, marker="o", markersize=1.6, markeredgewidth=0)
        axes.tick_params(labelbottom=i > 12, labelleft=i % 4 == 1)
        axes.set_aspect("equal")
    if first is not None:
        first.set(xlim=(low[0] - margin[0], high[0] + margin[0]), ylim=(low[1] - margin[1], high[1] + margin[1]))
    figure.supxlabel("x1", fontsize=8, color=PAPER_INK)
    figure.supylabel("x2", fontsize=8, color=PAPER_INK)
    return PaperFigure(
        "figS3-hospital-trajectories",
        "Figure S3: sixteen hours of the hospital's trajectory",
        "Position at each contact time on the map with the online landmarks as published, one hour per panel. The "
        "hours of the jumps of the radius (Monday 2 PM, Tuesday 10 AM) enter new parts of the map. "
        + _extremes(results, positions),
        figure,
    )


def _extremes(results: DataSetResults, positions: Array) -> str:
    """The supplement's observation about Tuesday 10 AM, in numbers."""
    when = clock(results.stream)
    before = (when.day == 0) | ((when.day == 1) & (when.hour < 10))
    within = (when.day == 1) & (when.full_hour == 10)
    x, y = positions.T
    return (
        f"Until Tuesday 10 AM the map stays right of x = {np.floor(x[before].min() * 10) / 10:.1f} and below y = "
        f"{np.ceil(y[before].max() * 10) / 10:.1f}; the hour from then on reaches x = {x[within].min():.1f} and y = "
        f"{y[within].max():.1f} (the paper: confined to x > -25 and y < 6, except in that hour)."
    )


def _twelve(hour: int) -> str:
    return f"{(hour - 1) % 12 + 1} {'AM' if hour < 12 else 'PM'}"
