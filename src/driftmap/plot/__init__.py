"""Figures of maps with matplotlib, and maps as HTML files; :mod:`driftmap.plot.animation` makes animations."""

from driftmap.plot.figures import (
    ANIMATION_FORMATS,
    FIGURE_FORMATS,
    comparison_figure,
    map_figure,
    require_matplotlib,
    save_figure,
)
from driftmap.plot.interactive import html

__all__ = [
    "ANIMATION_FORMATS",
    "FIGURE_FORMATS",
    "comparison_figure",
    "html",
    "map_figure",
    "require_matplotlib",
    "save_figure",
]
