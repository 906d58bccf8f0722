"""How much work a reproduction does: all of the paper's repetitions, or few of them."""

from __future__ import annotations

from typing import NamedTuple

FEW_LANDMARKS = (3, *range(5, 30, 3), 30)
"""The supplement's m for SPY and Hospital."""


class Effort(NamedTuple):
    """Repetitions and ranges; the data sets themselves are always complete."""

    mode: str
    """Stands in every output file."""
    n_runs: int
    """Runs of each random scenario."""
    sweep: dict[str, tuple[int, ...]]
    """The numbers of landmarks in the figure of stress against m."""
    n_sizes: int
    """Lengths of the stream in the figure of computation time."""
    literal_seconds: float
    """The literal algorithm is not timed on streams that would, by its n^3, take longer than this."""

    @property
    def is_quick(self) -> bool:
        """Whether results rest on fewer repetitions than the paper's."""
        return self.mode != FULL.mode


FULL = Effort(
    mode="full (100 runs of each random scenario)",
    n_runs=100,
    # The supplement takes every second m throughout; above 100 these are the slowest runs of all.
    sweep={"s-curve": (3, *range(6, 100, 2), *range(100, 501, 4)), "spy": FEW_LANDMARKS, "hospital": FEW_LANDMARKS},
    n_sizes=9,
    literal_seconds=20.0,
)

QUICK = Effort(
    mode="QUICK (5 runs of each random scenario, few numbers of landmarks; not for citation)",
    n_runs=5,
    sweep={"s-curve": (3, 10, 30, 60, 100, 200), "spy": (3, 10, 20, 30), "hospital": (5, 11, 20, 30)},
    n_sizes=5,
    literal_seconds=1.0,
)
