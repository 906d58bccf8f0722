"""``driftmap embed``: the map of a table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from driftmap.cli.databases import Querying, kept_query, target
from driftmap.cli.errors import UserError
from driftmap.cli.reading import ReadingOptions
from driftmap.cli.registering import older_map
from driftmap.cli.session import Session
from driftmap.cli.typed import argument, group, option
from driftmap.cli.whole import Input, WholeOptions, map_whole
from driftmap.sources.schemes import database_forms
from driftmap.tables.formats import listed, readable, text_formats
from driftmap.tables.readers import open_query, open_table
from driftmap.tables.rejected import RejectedLines
from driftmap.tables.table import Table

DESCRIPTION = f"""\
Map the rows of a table, in their order.

FILE is {readable()};
"-" is standard input, CSV, JSON lines or JSON. With --query it is a database:
{listed(database_forms())}; the query is executed once. Files are
read in blocks. --input-format names the format of a file with another suffix. The first two lines of CSV determine its
delimiter, unless --delimiter gives it. The first line is a header if any of its cells is not a number, if an option
names one of them, or if it counts columns (1, 2, 3 or 2020, 2021) and the next line does not; columns without names are
called 1, 2, 3, ... All columns of numbers are features, unless --columns lists others. Columns of text or dates,
without a name or without any number are left out; one line on standard error names them. With --online, later rows are
not known: a column that is empty so far is kept, and --missing decides.

The last line on standard error states the number of rows, columns and landmarks, sigma (the normalised stress of the
map on up to 500 stored points, for embeddings that keep distances), what was left out, and what was written.

The numbers of a large text (8 bytes each) are cached for the second pass: the first 128 MB in memory, the others in a
temporary file, in the folder of -o or else in that for temporary files. If that file cannot be written, the text is
read again. Binary formats, and all files with --checkpoint, are always read again.

All rows are learnt first; then every row is mapped in the final frame. With --online, each row is mapped as it arrives,
in the frame of that moment (aligned with the previous one), whose number is in the column "frame". For a source without
an end, use `driftmap follow`.

--register-to aligns that final frame with the map of an earlier run (turned, mirrored, shifted), so that rows lie where
that map has them, as far as both maps have points there. A line on standard error states the remaining distance.
--normalize then scales columns as that run did.

--novelty adds three columns. Two measure how new a row was just before it was learnt: "reach", the distance to the
nearest landmark divided by the radius (above 1: farther out than all rows before; infinite at the start, before there
is a radius), and "quantile", the share of the last 2,000 rows whose reach was smaller. "residual" is the error of the
row's distances to the landmarks on the map (root mean square, in the units of the data), for embeddings that keep
distances: stress, lmds, weighted-lmds.

--alert reports novel rows as they are learnt, in one line of JSON each: row (from 0), label, reach, quantile, nearest
landmark and the features that differ most from it. --alert 3 reports a reach of 3 or more, if fewer than 1 in 100
recent rows had such a reach; --alert 0.999 reports quantiles that 1 in 1,000 rows of an unchanging stream has. A run of
novel rows is one alert: the next one comes after 10 rows that are not novel.

--plot map.html writes a file for a browser, without a server or the network: zoom, the row under the pointer, a lasso
with export, a time slider, and colours by any column (the first 256), the label and, with --novelty, novelty.

--checkpoint saves the state of the run to a file. After a crash, a kill or Ctrl-C, the same command with --resume
continues from the checkpoint, and the output is the same to the byte as that of a run without interruption. Standard
input has to be given again from its start; rows that were done before are skipped.

examples:
  driftmap embed prices.csv --label date --normalize minmax --plot map.png -o map.csv
  driftmap embed sensors.parquet --columns temp,load --landmarks 200 --landmarks-out landmarks.csv
  driftmap embed prices.csv --label date --animate map.gif --novelty -o map.csv
  driftmap embed sqlite:///x.db --query "SELECT * FROM t" -o map.parquet
  driftmap embed large.csv -o map.csv --checkpoint map.ckpt --resume
  driftmap embed today.csv -o map.csv --checkpoint today.ckpt --register-to yesterday.ckpt
"""


@dataclass(frozen=True, kw_only=True)
class EmbedOptions(WholeOptions):
    """Options of ``embed``."""

    file: str = argument(metavar="FILE", help='what to map; "-" is standard input')
    querying: Querying = group(Querying, "databases")
    reading: ReadingOptions = group(ReadingOptions, "what to read")
    register_to: Path | None = option(
        "--register-to",
        type=Path,
        metavar="FILE",
        help="align the map with an older one of the same columns: the --checkpoint of a finished run, or a saved map",
    )

    @property
    def goes_to_table(self) -> bool:
        """Whether results are appended to a table of a database."""
        return self.querying.to_table is not None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.querying.check(self.file, self.reading)
        if self.reading.skip_bad and self.querying.query is not None:
            raise UserError("--skip-bad is for lines of text: leave out rows by a WHERE in --query")
        if self.register_to is not None and self.online:
            raise UserError("--register-to lays a finished map on another one: leave out --online")
        if self.reading.skip_bad and self.reading.is_binary(self.file):
            raise UserError(f"--skip-bad is for lines of text: {text_formats()}")


Options = EmbedOptions


def run(options: EmbedOptions, argv: Sequence[str]) -> int:
    """Carry out the command."""
    reading, query = options.reading, options.querying.query

    def opened(current: Session, folder: Path, rejected: RejectedLines) -> AbstractContextManager[Table]:
        wanted = reading.wanted(rejected, options.mapping.metric)
        if query is not None:
            return open_query(options.file, query, wanted, once=options.online, kept=kept_query(current))
        # A run that can be resumed has to find its position in the file itself.
        cache = folder if current.saver is None else None
        return open_table(options.file, wanted, once=options.online, cache=cache)

    older = None
    if options.register_to is not None:
        older = older_map(options.register_to, options.mapping, options.normalizing)
    also_read = {"register_to": options.register_to}
    source = Input(
        options.file,
        opened,
        reading.steps,
        also_read,
        skip_bad=reading.skip_bad,
        target=target(options.file, options.querying),
        older=older,
    )
    return map_whole(options, source, argv)
