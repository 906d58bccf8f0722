"""The figure that illustrates dominating sets."""

from __future__ import annotations

from reproduction.example_graph import DOMINATING, EDGES, NOT_DOMINATING, ONLY_BY_3, POSITIONS
from reproduction.figures.base import BLUE, PAPER_GREY, PAPER_INK, RED, PaperFigure, new_figure


def dominating_set() -> PaperFigure:
    """The graph of 12 nodes with a dominating set and one that is not."""
    figure = new_figure(6.6, 3.0)
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_aspect("equal")
    for r, s in EDGES:
        axes.plot(*zip(POSITIONS[r], POSITIONS[s], strict=True), color=PAPER_GREY, linewidth=1.4, zorder=1)
    for node, (x, y) in POSITIONS.items():
        face = BLUE if node in DOMINATING else RED if node in NOT_DOMINATING else "white"
        axes.scatter([x], [y], s=430, color=face, edgecolors=PAPER_INK, linewidths=1.2, zorder=2)
        axes.text(
            x, y, f"$v_{{{node}}}$", ha="center", va="center", color=PAPER_INK if face == "white" else "white", zorder=3
        )
    for node in ONLY_BY_3:
        axes.scatter(*POSITIONS[node], s=760, facecolors="none", edgecolors=BLUE, linestyles="dotted", linewidths=1.4)
    axes.margins(0.08, 0.18)
    return PaperFigure(
        "fig1-dominating-set",
        "Figure 1: dominating sets",
        "A graph of 12 nodes that has all the properties of the paper's. Blue: the dominating set {v3, v6, v10}. Red: "
        "{v4, v7, v11}, which leaves v1, v9 and v12 uncovered. Dotted rings: OnlyBy(v3) = {v1, v2, v3, v4}; v5 is not "
        "in it, since v6 covers it too. The caption does not fix every edge; a test checks what it does fix.",
        figure,
    )
