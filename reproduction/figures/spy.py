"""Maps of the stock prices, and the years of the landmarks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reproduction.figures.base import (
    PANELS,
    PAPER_GREY,
    RULE_TITLES,
    SEQUENCE,
    Axes,
    PaperFigure,
    draw_landmarks,
    heading,
    new_figure,
    panels,
    scale_alike,
)
from reproduction.scenarios import DataSetResults, aligned_maps
from reproduction.spy import fraction_by_year, stocks_of, years


def spy_figures(results: DataSetResults) -> Iterator[PaperFigure]:
    """The paper's two figures of the prices, and what the other rules change."""
    yield _maps(
        results,
        ("initial", "published", "random"),
        "fig4-spy-maps",
        "Figure 4: maps of ten stocks of SPY",
        f"Each point is a day, coloured by its year; diamonds are the final landmarks, m = {results.stream.m}. The "
        "random landmarks are those of the first run.",
    )
    yield _fractions(results)
    yield _maps(
        results,
        ("paper", "tight"),
        "extra2-spy-rules",
        "Not in the paper: the stocks with other rules",
        "The same map with the landmarks of Algorithm 2 as printed and of the tight rule.",
    )


def _maps(results: DataSetResults, keys: tuple[str, ...], name: str, title: str, caption: str) -> PaperFigure:
    sets = {key: results.landmarks[key][0].indices for key in dict.fromkeys(("published", *keys))}
    maps = aligned_maps(results.stream, sets)
    year = years(results.stream)
    figure, row = panels(
        [f"({panel}) {RULE_TITLES[key]}" for panel, key in zip(PANELS, keys, strict=False)], height=4.1
    )
    for axes, key in zip(row, keys, strict=True):
        for colour, y in zip(SEQUENCE, np.unique(year), strict=False):
            axes.scatter(*maps[key][year == y].T, s=8, color=colour, linewidths=0, label=str(y))
        draw_landmarks(axes, maps[key][sets[key]], size=34)
        scale_alike(axes)
    handles, labels = row[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=10 if len(keys) > 2 else 5, fontsize=8, frameon=False,
        markerscale=2, handletextpad=0.1, columnspacing=1.2,
    )  # fmt: skip
    return PaperFigure(name, title, caption, figure)


def _fractions(results: DataSetResults) -> PaperFigure:
    names, fractions = fraction_by_year(results.stream, results.landmarks["published"][0])
    dates = stocks_of(results.stream).dates[results.stream.m :]
    # Days on which nothing changes would only make the file large.
    corners = np.flatnonzero(np.any(np.diff(fractions, axis=0) != 0, axis=1)) + 1
    shown = np.concatenate([[0], corners, [len(dates) - 1]])
    figure = new_figure(9.0, 3.6)
    axes: Axes = figure.add_subplot()
    heading(axes, "online, as published")
    axes.stackplot(dates[shown], fractions[shown].T, colors=SEQUENCE, labels=[str(name) for name in names], step="post")
    for year in names[1:]:
        axes.axvline(np.datetime64(f"{year}-01-01"), color=PAPER_GREY, linestyle="dashed", linewidth=0.8)
    axes.set(xlim=(dates[0], dates[-1]), ylim=(0, 1), ylabel="fraction of landmarks")
    # The stack grows upwards, so the list of years does too.
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(
        handles[::-1], labels[::-1], title="landmarks of", loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8,
        title_fontsize=8, frameon=False,
    )  # fmt: skip
    return PaperFigure(
        "fig5-spy-landmark-years",
        "Figure 5: years of the landmarks over time",
        f"Fraction of the {results.stream.m} landmarks that fall into each year, from day {results.stream.m + 1} "
        f"({dates[0]}) to day {len(results.stream.points):,} ({dates[-1]}); dashed lines separate the years.",
        figure,
    )
