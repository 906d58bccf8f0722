"""Figures of maps with matplotlib; :mod:`driftmap.plot.animation` makes animations."""

from driftmap.plot.figures import (
    ANIMATION_FORMATS,
    FIGURE_FORMATS,
    comparison_figure,
    map_figure,
    require_matplotlib,
    save_figure,
)

__all__ = [
    "ANIMATION_FORMATS",
    "FIGURE_FORMATS",
    "comparison_figure",
    "map_figure",
    "require_matplotlib",
    "save_figure",
]
