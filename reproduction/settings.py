"""Settings of a reproduction: all of the paper's repetitions, or a few."""

from __future__ import annotations

from typing import NamedTuple

SUPPLEMENT_COUNTS = (3, *range(5, 30, 3), 30)
"""The supplement's numbers of landmarks for SPY and Hospital."""


class Settings(NamedTuple):
    """Repetitions and ranges; the data sets are always complete."""

    mode: str
    """A description that every output file contains."""
    n_runs: int
    """Runs of each random scenario."""
    landmark_counts: dict[str, tuple[int, ...]]
    """By data set, the values of m in the figure of stress against m."""
    n_lengths: int
    """Lengths of the stream in the figure of computation time."""
    literal_seconds: float
    """Time limit of the literal algorithm; longer streams are skipped, as predicted by n^3."""

    @property
    def is_quick(self) -> bool:
        """Whether the run makes fewer repetitions than the paper."""
        return self.mode != FULL.mode


FULL = Settings(
    mode="full (100 runs of each random scenario)",
    n_runs=100,
    # The supplement takes every second m throughout. Above 100, where runs are slowest, every fourth is enough.
    landmark_counts={
        "s-curve": (3, *range(6, 100, 2), *range(100, 501, 4)),
        "spy": SUPPLEMENT_COUNTS,
        "hospital": SUPPLEMENT_COUNTS,
    },
    n_lengths=9,
    literal_seconds=20.0,
)

QUICK = Settings(
    mode="QUICK (5 runs of each random scenario, few numbers of landmarks; not for citation)",
    n_runs=5,
    landmark_counts={"s-curve": (3, 10, 30, 60, 100, 200), "spy": (3, 10, 20, 30), "hospital": (5, 11, 20, 30)},
    n_lengths=5,
    literal_seconds=1.0,
)
