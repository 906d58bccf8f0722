"""Colours of groups: one rule for figures, HTML files, the live view and notebooks (there ``static/colours.js``).

The ten largest groups have a colour, the others share grey. A colour depends on the name of its group, and on those of
the other nine only where two hashes are equal: so it stays from run to run, whatever arrives first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftmap.utils import Array

GROUP_COLORS = (
    "#0072B2", "#E69F00", "#009E73", "#B62A90", "#56B4E9", "#D55E00", "#C752FF", "#9F86B1", "#5D6D42", "#F11159",
)  # fmt: skip
"""Five of Okabe and Ito's colours; the others are as distinct as possible from these and from grey for readers with
normal vision, protanopia and deuteranopia, and have enough contrast on white and on the dark page."""
OTHER_COLOR = "#9AA1A9"
"""Colour of groups beyond the ten largest."""
MISSING_COLOR = "#C9CDD2"
"""Colour of points without a value."""


def palette_slots(names: Sequence[str]) -> dict[str, int]:
    """Return the place in the palette of each of at most ten names: its hash, or the next free place.

    >>> palette_slots(["walk", "run"]) == palette_slots(["run", "walk"])
    True
    """
    slots: dict[str, int] = {}
    for name in sorted(names):
        slot = _hash(name) % len(GROUP_COLORS)
        while slot in slots.values():
            slot = (slot + 1) % len(GROUP_COLORS)
        slots[name] = slot
    return slots


def few_whole_numbers(values: Array) -> list[float] | None:
    """Return the values in order if they are few whole numbers, which are groups; otherwise None. NaN is missing.

    >>> few_whole_numbers(np.array([1.0, 0.0, np.nan, 1.0]))
    [0.0, 1.0]
    """
    different = np.unique(values[np.isfinite(values)])
    is_group = 0 < len(different) <= len(GROUP_COLORS) and bool((different == np.floor(different)).all())
    return different.tolist() if is_group else None


def _hash(name: str) -> int:
    """Return the 32-bit FNV-1a hash."""
    found = 0x811C9DC5
    for byte in name.encode("utf-8", "replace"):
        found = (found ^ byte) * 0x01000193 % 2**32
    return found
