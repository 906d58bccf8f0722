"""Options of how a table is read, shared by the commands that read one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from driftmap.cli import arguments as kinds
from driftmap.cli.errors import UserError
from driftmap.cli.typed import option
from driftmap.tables.cells import Marks
from driftmap.tables.columns import Wanted
from driftmap.tables.delay import DelayEmbedding
from driftmap.tables.formats import FORMATS, KEYS
from driftmap.tables.missing import METHODS, FillMissing
from driftmap.tables.rejected import RejectedLines
from driftmap.tables.steps import Step


@dataclass(frozen=True)
class ReadingOptions:
    """Options of reading a table."""

    columns: list[str] | None = option(
        "--columns", type=kinds.names, metavar="A,B,C", help="the features (default: all columns of numbers)"
    )
    exclude: list[str] | None = option(
        "--exclude", type=kinds.names, metavar="A,B", help="columns that are not features"
    )
    label: str | None = option(
        "--label",
        metavar="COLUMN",
        help="colour by this column and copy it to the output; it is not a feature unless --columns lists it",
    )
    header: str = option("--header", default="auto", choices=("auto", "yes", "no"), help="of CSV (default: auto)")
    input_format: str | None = option(
        "--input-format", choices=tuple(KEYS), help="of the input, whatever its suffix; text may also be compressed"
    )
    delimiter: str | None = option(
        "--delimiter",
        type=kinds.delimiter,
        metavar="C",
        help="what separates the cells of CSV: a character, tab or space, which is any run of blanks (default: by the "
        "first two lines)",
    )
    na: list[str] | None = option(
        "--na",
        action="extend",
        type=kinds.names,
        metavar="VALUE",
        help="what else stands for a missing number: a text of CSV such as off, or a number such as -200; several are "
        "separated by commas",
    )
    missing: str | None = option(
        "--missing",
        choices=("error", *METHODS),
        help="a missing number ends the run (error, the default), drops its row, or is filled by the mean or the last "
        "of the earlier values in its column; without earlier values, its row is dropped",
    )
    decimal: str = option("--decimal", default=".", choices=(".", ","), help="decimal point of CSV (default: .)")
    thousands: str = option(
        "--thousands", default="", choices=(",", ".", " ", "'", "_"), help="thousands separator of CSV"
    )
    delay: int | None = option(
        "--delay",
        type=partial(kinds.integer, lowest=2, highest=10_000),
        metavar="N",
        help="for a time series: map each row together with the rows before it, N rows in all",
    )
    every: int | None = option(
        "--every", type=partial(kinds.integer, lowest=1), metavar="K", help="use every K-th of these rows (default: 1)"
    )
    skip_bad: bool = option(
        "--skip-bad",
        default=False,
        help="skip lines that are not rows of numbers, report each on standard error and count them; every row is one "
        "line",
    )

    def __post_init__(self) -> None:
        if self.every is not None and (self.delay is None or self.every >= self.delay):
            raise UserError("--every selects from the rows of --delay: give a --delay that is larger")
        if self.thousands and self.thousands == self.decimal:
            raise UserError(f"--thousands and --decimal cannot both be {self.decimal!r}")

    def wanted(self, rejected: RejectedLines, metric: str) -> Wanted:
        """Return the columns to read, and how."""
        missing = (self.missing or "error") != "error" or metric == "nan_euclidean"
        return Wanted(
            self.columns,
            self.label,
            self.header,
            rejected,
            self.exclude or (),
            missing=missing,
            decimal=self.decimal,
            thousands=self.thousands,
            delimiter=self.delimiter,
            format=self.input_format,
            marks=Marks.of(self.na or ()),
        )

    def is_binary(self, file: str) -> bool:
        """Return True if an input has no lines of text."""
        suffix = Path(file).suffix.lower()
        kind = next((kind for kind in FORMATS if suffix in kind.suffixes), None)
        kind = kind if self.input_format is None else KEYS[self.input_format]
        return kind is not None and not kind.is_text

    def steps(self) -> list[Step]:
        """Return new steps for the rows."""
        steps: list[Step] = []
        if self.missing not in (None, "error"):
            steps.append(FillMissing(self.missing))
        if self.delay is not None:
            steps.append(DelayEmbedding(self.delay, self.every or 1))
        return steps
