"""Shared by all figures: colours, panels, saving. The only file of this package that imports matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from driftmap.plot import require_matplotlib
from driftmap.storage.atomic import replacing
from driftmap.utils import Array
from driftmap.web.palette import GROUP_COLORS
from reproduction.settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Axes = Any
"""A panel; matplotlib's types know neither three-dimensional panels nor dates as coordinates."""

PAPER_INK, PAPER_GREY, RULER_COLOR = "#1b1f24", "#6b7280", "#d4d8de"
BLUE, RED, ORANGE, GREEN = "#2563a8", "#c0392b", "#d9822b", "#3a8f5c"
COLOURS = {"published": BLUE, "paper": GREEN, "tight": ORANGE, "literal": RED, "spectra": PAPER_GREY}
SEQUENCE = (
    "#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#f2d21b",
)  # fmt: skip
"""Ten colours in order, for the ten years of the prices."""
DAYS = tuple(GROUP_COLORS[i] for i in (0, 5, 2, 3, 8))
"""One colour for each weekday, on which white text can be read."""

PANELS = ("a", "b", "c")
PANEL_OF = {"s-curve": "a", "spy": "b", "hospital": "c"}
"""The panel of each data set in figures that show all three."""
PRINTED_SCENARIOS = ("initial", "published", "random")
"""What the paper shows side by side."""
RULE_TITLES = {
    "initial": "initial landmarks",
    "published": "online, as published",
    "random": "random landmarks",
    "paper": "online, Algorithm 2",
    "tight": "online, tight rule",
}


class PaperFigure(NamedTuple):
    """A figure with its name, heading and caption."""

    name: str
    """Name of the file, without suffix."""
    title: str
    caption: str
    figure: Figure


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches, without a window system."""
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def panels(titles: list[str], height: float = 3.9, **kwargs: Any) -> tuple[Figure, list[Axes]]:
    """Return a row of panels with headings, 11 inches wide for three; ``kwargs`` go to matplotlib's add_subplot."""
    figure = new_figure(11.0 * min(len(titles), 3) / 3, height)
    axes = []
    for i, title in enumerate(titles, start=1):
        panel = figure.add_subplot(1, len(titles), i, **kwargs)
        heading(panel, title)
        axes.append(panel)
    return figure, axes


def scale_alike(axes: Axes) -> None:
    """Give both axes of a map one scale, since its distances stand for distances of the data, and name them."""
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x1", fontsize=8, color=PAPER_INK)
    axes.set_ylabel("x2", fontsize=8, color=PAPER_INK)


def heading(axes: Axes, title: str) -> None:
    """Set the heading of a panel and the style that all panels share."""
    axes.set_title(title, fontsize=10, loc="left", color=PAPER_INK)
    axes.tick_params(labelsize=8, colors=PAPER_INK)
    if axes.name != "3d":
        axes.spines[["top", "right"]].set_visible(False)


def draw_landmarks(axes: Axes, positions: Array, size: float) -> None:
    """Black diamonds, as in the paper, with a white rim."""
    shading = {"depthshade": False} if axes.name == "3d" else {}
    axes.scatter(
        *positions.T, marker="D", s=size, color="black", edgecolors="white", linewidths=0.6, zorder=5, **shading
    )


def save(drawn: PaperFigure, folder: Path, settings: Settings) -> list[Path]:
    """Write a figure as PNG and SVG; picture and metadata of a quick run say so."""
    from matplotlib import rc_context

    figure = drawn.figure
    if settings.is_quick:
        engine: Any = figure.get_layout_engine()
        strip = 0.2 / figure.get_figheight()  # inches at the top
        engine.set(rect=(0, 0, 1, 1 - strip))
        figure.text(0.995, 1 - strip / 4, settings.mode, ha="right", va="top", fontsize=7, color=RED)
    # Equal runs give equal files: no date, no random identifiers.
    with rc_context({"svg.hashsalt": drawn.name}):
        png, svg = folder / f"{drawn.name}.png", folder / f"{drawn.name}.svg"
        about = {"Title": drawn.title, "Description": settings.mode}
        with replacing(png) as file:
            figure.savefig(file, format="png", dpi=150, metadata={**about, "Software": None})
        with replacing(svg) as file:
            figure.savefig(file, format="svg", metadata={**about, "Date": None})
    return [png, svg]
