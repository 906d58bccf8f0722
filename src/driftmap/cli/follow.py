"""``driftmap follow``: rows mapped as they arrive."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from driftmap.cli.databases import FollowedQuery, target
from driftmap.cli.endless import EndlessOptions, map_endless
from driftmap.cli.errors import UserError
from driftmap.cli.monitoring import HostedMonitoring
from driftmap.cli.reading import ReadingOptions
from driftmap.cli.session import Session
from driftmap.cli.typed import argument, group
from driftmap.cli.whole import Input
from driftmap.sources.addresses import address_in
from driftmap.sources.schemes import database_forms, forms
from driftmap.tables.formats import KEYS, followable_formats, is_followable, listed
from driftmap.tables.readers import follow_table
from driftmap.tables.rejected import RejectedLines
from driftmap.tables.table import Table

DESCRIPTION = f"""\
Map the rows of a growing file, a pipe, a stream of messages or a database as they arrive, until Ctrl-C.

SOURCE is a file of {followable_formats()} that is still growing, a named pipe, "-" for standard input, the address
of a message broker: {listed(forms())},
or, with --query and --order-by, of a database: {listed(database_forms())}. Each row is
written as soon as its line is complete, in the frame of that moment, with frame and novelty; see `driftmap embed` for
these columns, and for --alert. A file that is replaced or cut is read again from its start; a named pipe waits for the
next writer. Columns whose first rows are empty are kept, and --missing decides.

--metrics 9090 serves rows, rate, radius, stress, alerts, lag and more for Prometheus.

--checkpoint saves the state while rows are mapped. After a crash, a kill or Ctrl-C, the same command with --resume
continues from the checkpoint, and the output is the same to the byte as that of a run without interruption.

examples:
  driftmap follow sensors.csv --skip-bad --format jsonl | consumer
  driftmap follow sensors.csv --label time --alert 0.999 --alerts alerts.jsonl -o map.csv
  driftmap follow redis://localhost/sensors --checkpoint map.ckpt --resume --sink redis://localhost/map
  driftmap follow sqlite:///x.db --query "SELECT * FROM t" --order-by id --to-table map --checkpoint map.ckpt --resume
"""


@dataclass(frozen=True, kw_only=True)
class FollowOptions(EndlessOptions):
    """Options of ``follow``."""

    file: str = argument(metavar="SOURCE", help='what to follow; "-" is standard input')
    querying: FollowedQuery = group(FollowedQuery, "databases")
    monitoring: HostedMonitoring = group(HostedMonitoring, "what to watch it by")
    reading: ReadingOptions = group(ReadingOptions, "what to read")

    @property
    def metrics_host(self) -> str | None:
        """The address at which metrics are served; None: this machine only."""
        return self.monitoring.host

    def __post_init__(self) -> None:
        super().__post_init__()
        check_followed(self.file, self.reading.input_format)
        check_query(self.file, self.querying, self.reading, self)


Options = FollowOptions


def check_followed(file: str, input_format: str | None = None) -> None:
    """Raise an error if a source is not a stream of lines."""
    if input_format is not None:
        lines = KEYS[input_format].is_followable
    else:
        lines = address_in(file) is not None or file == "-" or is_followable(file)
    if not lines:
        raise UserError(f"{file} cannot be followed: only lines of text can ({followable_formats()})")


def check_query(file: str, querying: FollowedQuery, reading: ReadingOptions, options: EndlessOptions) -> None:
    """Raise an error where options for databases do not go with a source, or with others."""
    querying.check(file, reading)
    if querying.to_table is not None and options.recovering.checkpoint is None:
        raise UserError("--to-table needs --checkpoint, from which a run that was killed knows its rows in the table")


def followed(file: str, reading: ReadingOptions, metric: str, querying: FollowedQuery) -> Input:
    """Return a stream of lines as the input of a run."""
    reading = querying.labelled(reading)

    def opened(current: Session, folder: Path, rejected: RejectedLines) -> AbstractContextManager[Table]:
        wanted = reading.wanted(rejected, metric)
        return follow_table(file, wanted, current.idle, querying.rows)

    return Input(file, opened, reading.steps, {}, skip_bad=reading.skip_bad, target=target(file, querying))


def run(options: FollowOptions, argv: Sequence[str]) -> int:
    """Carry out the command."""
    source = followed(options.file, options.reading, options.mapping.metric, options.querying)
    return map_endless(options, source, argv)
