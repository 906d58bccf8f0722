"""The figures of the paper and its supplement, in their panels, and a few more that show what other rules change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from driftmap.paper.curves import SweepPoint, Timing
from driftmap.paper.dislocation import Dislocation
from driftmap.paper.figures.base import Plate, new_figure, save
from driftmap.paper.figures.curves import computation_time, dislocation, radius_growth, stress_against_m
from driftmap.paper.figures.hospital import hospital_plates
from driftmap.paper.figures.illustration import dominating_set
from driftmap.paper.figures.s_curve import s_curve_plates
from driftmap.paper.figures.spy import spy_plates
from driftmap.paper.scenarios import Measured

__all__ = ["Plate", "all_plates", "new_figure", "save"]

_OF_DATA_SET = {"s-curve": s_curve_plates, "spy": spy_plates, "hospital": hospital_plates}


def all_plates(
    measured: Sequence[Measured],
    timings: Sequence[Timing],
    sweep: Sequence[SweepPoint],
    dislocations: Sequence[Dislocation],
) -> Iterator[Plate]:
    """Every figure that the given results allow, drawn one at a time."""
    yield dominating_set()
    for one in measured:
        yield from _OF_DATA_SET[one.stream.key](one)
    yield computation_time(timings)
    yield stress_against_m(sweep)
    yield radius_growth(measured)
    if dislocations:
        yield dislocation(dislocations)
