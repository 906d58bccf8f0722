"""The figures of the paper and its supplement, and four more that show what other rules change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reproduction.curves import SweepPoint, Timing
from reproduction.dislocation import Dislocation
from reproduction.figures.base import PaperFigure, new_figure, save
from reproduction.figures.curves import computation_time, dislocation, radius_growth, stress_against_m
from reproduction.figures.dominating_set import dominating_set
from reproduction.figures.hospital import hospital_figures
from reproduction.figures.s_curve import s_curve_figures
from reproduction.figures.spy import spy_figures
from reproduction.scenarios import DataSetResults

__all__ = ["PaperFigure", "all_figures", "new_figure", "save"]

_OF_DATA_SET = {"s-curve": s_curve_figures, "spy": spy_figures, "hospital": hospital_figures}


def all_figures(
    all_results: Sequence[DataSetResults],
    timings: Sequence[Timing],
    sweep: Sequence[SweepPoint],
    dislocations: Sequence[Dislocation],
) -> Iterator[PaperFigure]:
    """Yield every figure that has results; each is drawn when it is asked for."""
    yield dominating_set()
    for results in all_results:
        yield from _OF_DATA_SET[results.stream.key](results)
    yield computation_time(timings)
    yield stress_against_m(sweep)
    yield radius_growth(all_results)
    if dislocations:
        yield dislocation(dislocations)
