"""Draws maps: figures with matplotlib and HTML files; :mod:`driftmap.plot.animation` makes animations."""

from driftmap.plot.figures import (
    comparison_figure,
    map_figure,
    require_matplotlib,
    save_figure,
)
from driftmap.plot.interactive import html
from driftmap.utils.validation import ANIMATION_FORMATS, FIGURE_FORMATS

__all__ = [
    "ANIMATION_FORMATS",
    "FIGURE_FORMATS",
    "comparison_figure",
    "html",
    "map_figure",
    "require_matplotlib",
    "save_figure",
]
