"""The S-curve in space and its maps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reproduction.figures.base import (
    PANELS,
    PRINTED_SCENARIOS,
    RULE_TITLES,
    PaperFigure,
    draw_landmarks,
    panels,
    scale_alike,
)
from reproduction.scenarios import DataSetResults, aligned_maps


def s_curve_figures(results: DataSetResults) -> Iterator[PaperFigure]:
    """The paper's two figures of the S-curve, and what the other rules change."""
    yield _in_space(results)
    yield _maps(
        results,
        PRINTED_SCENARIOS,
        "fig3-s-curve-maps",
        "Figure 3: maps of the S-curve",
        "Two-dimensional embedding of the S-curve by landmark MDS with the landmarks of Figure 2 (diamonds).",
    )
    yield _maps(
        results,
        ("paper", "tight"),
        "extra1-s-curve-rules",
        "Not in the paper: the S-curve with other rules",
        "The same map with the landmarks of Algorithm 2 as printed and of the tight rule, which spreads them evenly.",
    )


def _in_space(results: DataSetResults) -> PaperFigure:
    points = results.stream.points
    titles = [f"({panel}) {RULE_TITLES[key]}" for panel, key in zip(PANELS, PRINTED_SCENARIOS, strict=True)]
    figure, row = panels(titles, height=4.4, projection="3d", computed_zorder=False)
    for axes, key in zip(row, PRINTED_SCENARIOS, strict=True):
        axes.scatter(*points.T, c=np.arange(len(points)), cmap="viridis", s=7, alpha=0.8, depthshade=False)
        draw_landmarks(axes, points[results.landmarks[key][0].indices], size=20)
        axes.view_init(elev=14, azim=-68)
        axes.set_box_aspect((2, 2, 3.2), zoom=0.97)
        axes.set(xlabel="x", ylabel="y", zlabel="z", xticks=(-1, 0, 1), yticks=(0, 1, 2))
    return PaperFigure(
        "fig2-s-curve",
        "Figure 2: the S-curve with landmarks",
        f"The S-curve, {len(points):,} points in order of arrival from dark to light, and the final landmarks "
        f"(diamonds), m = {results.stream.m}. The random landmarks are those of the first run.",
        figure,
    )


def _maps(results: DataSetResults, keys: tuple[str, ...], name: str, title: str, caption: str) -> PaperFigure:
    sets = {key: results.landmarks[key][0].indices for key in dict.fromkeys(("published", *keys))}
    maps = aligned_maps(results.stream, sets)
    figure, row = panels([f"({panel}) {RULE_TITLES[key]}" for panel, key in zip(PANELS, keys, strict=False)])
    for axes, key in zip(row, keys, strict=True):
        axes.scatter(*maps[key].T, c=np.arange(len(maps[key])), cmap="viridis", s=9, alpha=0.8, linewidths=0)
        draw_landmarks(axes, maps[key][sets[key]], size=20)
        scale_alike(axes)
    return PaperFigure(name, title, caption, figure)
