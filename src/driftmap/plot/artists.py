"""Subclasses of matplotlib's classes; imported when the first figure is made."""

from __future__ import annotations

import io
import re

from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

NOTEBOOK_DPI = 110


class MapFigure(Figure):
    """A figure that a notebook displays without pyplot."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=NOTEBOOK_DPI, bbox_inches="tight", pad_inches=0.12)
        return file.getvalue()


class PlainNumbers(ScalarFormatter):
    """Formats ticks with thousands separators from 10,000, and without an offset, which would overlap other labels."""

    def __init__(self, power: int | None = None) -> None:
        super().__init__(useOffset=False)
        # The axis label states the power of ten.
        self.set_scientific(power is not None)
        self.set_powerlimits((power or 0, power or 0))

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of a tick."""
        whole, point, rest = super().__call__(x, pos).partition(".")
        if sum(map(str.isdigit, whole)) > 4:
            whole = re.sub(r"(?<=\d)(?=(\d{3})+$)", ",", whole)
        return whole + point + rest

    def get_offset(self) -> str:
        """Return no offset: the axis label states the power of ten."""
        return ""
