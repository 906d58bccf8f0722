"""The numbers printed in the paper: Table 1, the final radii and what the text states.

They are copied, not computed. ``None`` among the values of Table 1 means "<0.01".
"""

from __future__ import annotations

from typing import NamedTuple

Three = tuple[float | None, float | None, float | None]

PRINT_LIMIT = 0.01
"""A value below this is printed as "<0.01"."""


class PrintedCell(NamedTuple):
    """One cell of Table 1 as printed: a value, and a standard deviation where it is a mean of 100 runs."""

    value: float | None
    sd: float | None = None

    def __str__(self) -> str:
        if self.value is None:
            return "<0.01"
        # Two decimals throughout, except for the two standard deviations that would print as 0.00.
        return f"{self.value:.2f}" + ("" if self.sd is None else f" ± {self.sd:.{2 if self.sd >= PRINT_LIMIT else 3}f}")

    def agrees(self, value: float) -> bool:
        """Whether a value rounds to the printed one."""
        if self.value is None:
            return value < PRINT_LIMIT
        return round(abs(round(value, 2) - self.value), 9) == 0

    def within_two_sd(self, mean: float) -> bool | None:
        """Whether a mean lies within two printed standard deviations; None if no standard deviation is printed."""
        if self.sd is None or self.value is None:
            return None
        return abs(mean - self.value) <= 2 * self.sd


class PrintedColumn(NamedTuple):
    """One column of Table 1 for one data set; each entry lists k = 1, 2, 3."""

    sigma_L: Three  # noqa: N815 - the paper's symbol
    sigma: Three
    sigma_L_sd: Three = (None, None, None)  # noqa: N815 - the paper's symbol
    sigma_sd: Three = (None, None, None)

    def cell(self, index: str, k: int) -> PrintedCell:
        """The cell for "sigma" or "sigma_L" in k dimensions."""
        return PrintedCell(getattr(self, index)[k - 1], getattr(self, f"{index}_sd")[k - 1])


class PrintedData(NamedTuple):
    """The printed numbers of one data set."""

    n: int
    m: int
    final_radius: float
    initial: PrintedColumn
    online: PrintedColumn
    random: PrintedColumn
    random_online: PrintedColumn


PRINTED = {
    "s-curve": PrintedData(
        n=1000,
        m=100,
        final_radius=0.94,
        initial=PrintedColumn(sigma_L=(0.21, None, None), sigma=(0.74, 0.23, None)),
        online=PrintedColumn(sigma_L=(0.40, 0.15, None), sigma=(0.33, 0.16, None)),
        random=PrintedColumn((0.31, 0.14, None), (0.31, 0.15, None), (0.01, 0.01, None), (0.002, 0.004, None)),
        random_online=PrintedColumn((0.51, 0.25, None), (0.38, 0.17, None), (0.03, 0.02, None), (0.10, 0.06, None)),
    ),
    "spy": PrintedData(
        n=2518,
        m=10,
        final_radius=0.94,
        initial=PrintedColumn(sigma_L=(0.29, 0.14, 0.07), sigma=(0.80, 0.68, 0.43)),
        online=PrintedColumn(sigma_L=(0.15, 0.05, 0.02), sigma=(0.09, 0.04, 0.02)),
        random=PrintedColumn((0.07, 0.03, 0.01), (0.09, 0.06, 0.05), (0.03, 0.01, 0.01), (0.01, 0.02, 0.02)),
        random_online=PrintedColumn((0.22, 0.08, 0.04), (0.41, 0.21, 0.15), (0.08, 0.02, 0.01), (0.16, 0.06, 0.05)),
    ),
    "hospital": PrintedData(
        n=9453,
        m=20,
        final_radius=22.79,
        initial=PrintedColumn(sigma_L=(0.13, None, None), sigma=(0.61, 0.40, 0.29)),
        online=PrintedColumn(sigma_L=(0.16, 0.06, None), sigma=(0.22, 0.11, 0.07)),
        random=PrintedColumn((0.21, 0.08, 0.04), (0.23, 0.11, 0.06), (0.04, 0.02, 0.01), (0.01, 0.01, 0.01)),
        random_online=PrintedColumn((0.28, 0.11, 0.03), (0.24, 0.11, 0.07), (0.05, 0.02, 0.01), (0.02, 0.02, 0.01)),
    ),
}
"""Table 1 and the final radii, by data set."""

# Sections "Stock price time series" and "Growth of rho".
SPY_LANDMARKS_IN_2013 = 3
SPY_LANDMARKS_FROM_2018 = 7
SPY_DISTANCE_2013_TO_2019 = 1.80e-4
SPY_DISTANCE_TO_2020 = 4.90e-4

# Section "Hospital", and "Growth of rho" with its figures.
HOSPITAL_NODES = {"doctors": 11, "nurses": 35, "patients": 29}
HOSPITAL_EDGES = 1139
HOSPITAL_CONTACTS = 32_424
HOSPITAL_JUMPS = ("Monday 2:08 PM", "Monday 2:14 PM", "Tuesday 10:16 AM")
HOSPITAL_LAST_JUMP = 1838
HOSPITAL_DAYTIME_SHARE = 0.956
SIGMA_ALL_POINTS = {"hospital": 0.09}
HOSPITAL_P_VALUES = {"initial": 2.46e-9, "published": 8.08e-15, "random": 5.74e-15, "all points": 3.67e-15}
