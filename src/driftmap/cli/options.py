"""The options of ``driftmap embed``, and what can be refused before anything is read."""

from __future__ import annotations

import argparse
import contextlib
import os
import stat
import sys
from pathlib import Path
from typing import Any

from driftmap.cli import arguments as kinds
from driftmap.cli.errors import UserError
from driftmap.io.atomic import identity, partial
from driftmap.io.readers import BINARY
from driftmap.io.sources import SUFFIXES
from driftmap.io.writers import TABLE_SUFFIXES, TEXT_SUFFIXES
from driftmap.plot import ANIMATION_FORMATS, FIGURE_FORMATS, require_matplotlib
from driftmap.streams.missing import METHODS
from driftmap.utils.validation import EMBEDDINGS, RULES

NOVELTY = ("reach", "quantile", "residual")
"""The fields of ``driftmap.map.RowNovelty``, which takes too long to import just for these."""

PAGE = ".html"
"""The suffix of a plot that a browser shows."""

DESCRIPTION = """\
Map the rows of a table, in the order in which they stand.

FILE is CSV, TSV, JSON lines (each plain, .gz or .zst), Parquet, Arrow IPC, Feather or NPY; "-" is standard input, CSV
or JSON lines. Files are read in blocks. The first line of CSV is a header if any of its cells is not a number; columns
without names are called 1, 2, 3, ... All columns of numbers are features, unless --columns lists others. Columns of
text or dates and those without a name are left out; one line on standard error names them.

The numbers of a large text (8 bytes each) are cached for the second pass: the first 128 MB in memory, the others in a
temporary file, in the folder of -o or else in that for temporary files. If that file cannot be written, the text is
read again; so are binary formats, and everything with --checkpoint.

All rows are learnt first; then every row is mapped in the final frame. With --online, each row is mapped as it arrives,
in the frame of that moment (laid on the frame before), and the column "frame" counts the changes of the landmarks.

--follow does the same for a file that is still growing or a pipe, for ever: each row is written as soon as its line has
its end, with frame and novelty. A file that is replaced or cut is read again from its start; a named pipe waits
for the next writer. Ctrl-C ends it.

--novelty adds three columns. Two say how new a row was just before it was learnt: "reach", the distance to the nearest
landmark divided by the radius (above 1: farther out than all rows before; infinite at the start, before there is a
radius), and "quantile", the share of the last 2,000 rows whose reach was smaller. "residual" says by how much the row's
distances to the landmarks are off on the map (root mean square, in the units of the data).

--alert tells of novel rows as they are learnt, in one line of JSON each: row (from 0), label, reach, quantile, nearest
landmark and the features that differ most from it. --alert 3 is for a reach of 3 or more, if fewer than 1 in 100 recent
rows had such a reach; --alert 0.999 for quantiles of which an unchanging stream has 1 in 1,000. A run of novel rows is
one alert: the next one comes after 10 rows that are not novel.

--plot map.html is a file for a browser, without a server or the network: zoom, the row under the pointer, a lasso with
export, a time slider, and colours by any column (the first 256), the label and, with --novelty, novelty.

--checkpoint saves the state of the run to a file. After a crash, a kill or Ctrl-C, the same command with --resume goes
on where the checkpoint is, and the output is the same to the byte as that of a run without interruption. Standard input
has to be given again from its start; the rows done before are skipped.

examples:
  driftmap embed prices.csv --label date --normalize minmax --plot map.png -o map.csv
  driftmap embed sensors.parquet --columns temp,load --landmarks 200 --landmarks-out landmarks.csv
  driftmap embed --contacts contacts.dat.gz --decay 0.01 -o days.parquet
  driftmap embed prices.csv --label date --animate map.gif --novelty -o map.csv
  driftmap embed large.csv -o map.csv --checkpoint map.ckpt --resume
  driftmap embed --follow sensors.csv --skip-bad --format jsonl | consumer
  driftmap embed --follow sensors.csv --label time --alert 0.999 --alerts alerts.jsonl -o map.csv
  driftmap embed 'days/*.parquet' --dask tcp://scheduler:8786 --certify -o maps/
"""


def add_options(parser: kinds.Parser) -> None:
    """All options of the command."""
    parser.add_argument("file", metavar="FILE", help='what to map; "-" is standard input')
    _add_reading(parser)
    _add_mapping(parser)
    _add_writing(parser)
    _add_interrupting(parser)


def _add_reading(parser: kinds.Parser) -> None:
    what = parser.add_argument_group("what to read")
    what.add_argument(
        "--columns", type=kinds.names, metavar="A,B,C", help="the features; default: all columns of numbers"
    )
    what.add_argument("--exclude", type=kinds.names, metavar="A,B", help="columns that are no features")
    what.add_argument(
        "--label",
        metavar="COLUMN",
        help="colour by this column and copy it to the output; no feature unless listed in --columns",
    )
    what.add_argument("--header", choices=("auto", "yes", "no"), default="auto", help="of CSV (default: auto)")
    what.add_argument(
        "--missing",
        choices=("error", *METHODS),
        help="a missing number ends the run (error, the default), drops its row, or is filled by the mean or the last "
        "of the values before it in its column; where there are none, its row is dropped",
    )
    what.add_argument("--decimal", choices=(".", ","), default=".", help="decimal point of CSV (default: .)")
    what.add_argument("--thousands", choices=(",", ".", " ", "'", "_"), default="", help="thousands separator of CSV")
    what.add_argument(
        "--delay",
        type=kinds.integer_from(2),
        metavar="N",
        help="of a time series: map each row together with the rows before it, the last N in all",
    )
    what.add_argument(
        "--every", type=kinds.integer_from(1), metavar="K", help="of these rows, take every K-th (default: 1)"
    )
    what.add_argument(
        "--skip-bad",
        action="store_true",
        help="leave out lines that are no rows of numbers, report each on stderr and count them; every row is one line",
    )
    what.add_argument(
        "--contacts", action="store_true", help="FILE is a list of contacts: SocioPatterns or CSV (t,i,j)"
    )
    what.add_argument("--decay", type=kinds.rate, metavar="RATE", help="decay of ties per unit of time, for --contacts")


def _add_mapping(parser: kinds.Parser) -> None:
    how = parser.add_argument_group("how to map")
    how.add_argument("--landmarks", type=kinds.integer_from(1), default=100, metavar="M", help="default: 100")
    how.add_argument("--components", type=kinds.integer_from(1), default=2, metavar="K", help="default: 2")
    how.add_argument("--rule", choices=RULES, default="tight", help="which landmark leaves (default: tight)")
    how.add_argument(
        "--slack",
        type=kinds.rate,
        default=0.02,
        metavar="S",
        help="a row counts as covered up to 1 + S times the radius: fewer replacements (default: 0.02)",
    )
    how.add_argument("--embedding", choices=EMBEDDINGS, default=EMBEDDINGS[0], help="default: %(default)s")
    how.add_argument(
        "--metric", default="euclidean", metavar="NAME", help="one that scipy's cdist knows (default: euclidean)"
    )
    how.add_argument(
        "--normalize",
        choices=("none", "minmax", "zscore"),
        default="none",
        help="by a first pass over all rows; with --online or --follow, running: each row by all rows up to it "
        "(default: none)",
    )
    how.add_argument(
        "--warm-up",
        type=kinds.integer_from(1),
        metavar="N",
        help="with a running --normalize: hold back the first N rows until their scale is known (default: 100)",
    )
    how.add_argument(
        "--memory",
        type=kinds.count_or_all,
        default="auto",
        metavar="N",
        help="the most rows to store: others are merged into those near them; all: store every row (default: 10000)",
    )
    how.add_argument(
        "--window", type=kinds.integer_from(1), metavar="N", help="remember only the last N rows; landmarks follow them"
    )
    how.add_argument(
        "--half-life", type=kinds.integer_from(1), metavar="N", help="halve the mass of a row after N rows"
    )
    how.add_argument("--online", action="store_true", help="map each row as it arrives")
    how.add_argument("--follow", action="store_true", help="map the rows of a growing file or a pipe as they arrive")


def _add_writing(parser: kinds.Parser) -> None:
    out = parser.add_argument_group("what to write (a file appears only when it is complete, but with --follow)")
    table, figure = kinds.file_with_suffix(*TABLE_SUFFIXES), kinds.file_with_suffix(*FIGURE_FORMATS, PAGE)
    out.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT",
        help="coordinates: .csv, .jsonl, .ndjson, .parquet or .npy; default: text on stdout",
    )
    out.add_argument("--format", choices=("csv", "jsonl"), help="of the coordinates on stdout (default: csv)")
    out.add_argument(
        "--novelty", action="store_true", help="three more columns, reach, quantile and residual: see above"
    )
    out.add_argument(
        "--alert", type=kinds.rate, metavar="T", help="tell of rows beyond this reach (1 or more) or quantile"
    )
    out.add_argument(
        "--alerts",
        type=kinds.file_with_suffix(".jsonl", ".ndjson"),
        metavar="OUT",
        help="alerts as JSON lines: .jsonl or .ndjson (default: on stderr)",
    )
    out.add_argument("--plot", type=figure, metavar="FIGURE", help="the map as .png, .svg, .pdf or .html")
    out.add_argument("--shade", choices=NOVELTY, help="colour the plot by this instead of by label or arrival")
    out.add_argument(
        "--animate",
        type=kinds.file_with_suffix(*ANIMATION_FORMATS),
        metavar="FILM",
        help="the map growing, as .gif or .mp4 (which needs ffmpeg)",
    )
    out.add_argument(
        "--animate-frames",
        type=kinds.integer_from(2, 1000),
        metavar="N",
        help="about how many pictures --animate shows (default: 100)",
    )
    out.add_argument(
        "--landmarks-out", type=table, metavar="OUT", help="the landmarks: arrival, mass, coordinates, row"
    )
    out.add_argument("--json", action="store_true", help="a summary on stdout; coordinates go only to -o")


def _add_interrupting(parser: kinds.Parser) -> None:
    long = parser.add_argument_group("runs that may be interrupted")
    long.add_argument("--checkpoint", type=Path, metavar="FILE", help="save the state of the run to this file")
    long.add_argument(
        "--checkpoint-every",
        type=kinds.duration,
        metavar="TIME",
        help="such as 10s, 5m or 1h (default: 30s); less often if writing would take a tenth of the time",
    )
    long.add_argument(
        "--resume",
        action="store_true",
        help="go on from the checkpoint; if there is none yet, start from the beginning",
    )


def check(args: argparse.Namespace) -> None:
    """Refuse whatever can be refused before anything is read."""
    _check_mapping(args)
    _check_writing(args)
    if args.follow:
        _check_follow(args)
    _check_interrupting(args)
    if (args.plot is not None and args.plot.suffix.lower() != PAGE) or args.animate is not None:
        require_matplotlib()
    if args.animate is not None and args.animate.suffix.lower() == ".mp4":
        from driftmap.plot.animation import require_ffmpeg

        require_ffmpeg()


def _check_mapping(args: argparse.Namespace) -> None:
    if args.warm_up is not None and not (args.normalize != "none" and (args.online or args.follow)):
        raise UserError("--warm-up is for a running --normalize: add --online or --follow")
    if args.every is not None and (args.delay is None or args.every >= args.delay):
        raise UserError("--every says which of the last rows of --delay are taken: give a --delay that is larger")
    if args.thousands and args.thousands == args.decimal:
        raise UserError(f"--thousands and --decimal cannot both be {args.decimal!r}")
    if args.contacts and args.decay is None:
        raise UserError("--contacts needs --decay, the rate at which ties decay, per unit of the contacts' time")
    if args.decay is not None and not args.contacts:
        raise UserError("--decay is for lists of contacts: add --contacts")
    binary = args.file != "-" and Path(args.file).suffix.lower() in BINARY
    if args.skip_bad and (args.contacts or binary):
        raise UserError("--skip-bad is for lines of text: CSV, TSV or JSON lines")
    if args.contacts and args.label is not None:
        raise UserError("--label is for tables; contacts are coloured by their time")
    for name in ("exclude", "missing", "delay", "thousands"):
        if args.contacts and getattr(args, name):
            raise UserError(f"--{name} is for tables, not for --contacts")
    if args.metric == "precomputed":
        raise UserError("--metric precomputed is for distances, which a table of rows does not hold")


def _check_writing(args: argparse.Namespace) -> None:
    if args.output is not None and args.output.suffix.lower() not in TABLE_SUFFIXES:
        listed = f"{', '.join(TABLE_SUFFIXES[:-1])} or {TABLE_SUFFIXES[-1]}"
        raise UserError(f"-o {str(args.output)!r} must end in {listed}; it is a folder only with --dask")
    if args.certify:
        raise UserError("--certify is for --dask")
    if sys.stdout is None and (args.output is None or args.json):
        raise UserError("standard output is closed: add -o, and leave out --json")
    if args.novelty and args.json and args.output is None:
        raise UserError("--novelty adds columns to the coordinates, which --json writes only to -o")
    if args.format is not None and args.output is not None:
        raise UserError("--format is for standard output; the suffix of -o says the format of the file")
    if args.format is not None and args.json:
        raise UserError("--format is for coordinates on standard output, which --json leaves out")
    if args.shade is not None and args.plot is None:
        raise UserError("--shade is for figures: add --plot")
    if args.online and args.landmarks_out is not None and (args.window or args.half_life):
        raise UserError(
            "--landmarks-out needs the rows of all landmarks, which --online does not store where rows are forgotten; "
            "leave out one of them"
        )
    if args.alerts is not None and args.alert is None:
        raise UserError("--alerts needs to know which rows are worth an alert: add --alert")
    if args.animate_frames is not None and args.animate is None:
        raise UserError("--animate-frames is for animations: add --animate")
    _check_files_differ(args)


def _check_files_differ(args: argparse.Namespace) -> None:
    """No output may be the input, the checkpoint or another output, under whatever names."""
    used = {_standard(sys.stdin) if args.file == "-" else identity(Path(args.file)): "the input"}
    written = [(f"--{name.replace('_', '-')}", path) for name, path in files(args).items()]
    if args.checkpoint is not None:
        unfinished = [(f"the unfinished file of {option}", partial(path)) for option, path in written]
        written += [("--checkpoint", args.checkpoint), *unfinished]
    for option, path in written:
        option = "-o" if option == "--output" else option
        other = used.setdefault(identity(path), option)
        if other != option:
            raise UserError(f"{option} ({path}) is the same file as {other}: name another")
    if args.output is None and (shared := used.get(_standard(sys.stdout))) is not None:
        raise UserError(f"standard output is the same file as {shared}: name another")


def _standard(stream: Any) -> tuple[int | str, ...]:
    """The identity of the file that a standard stream was redirected to or from, if it is one."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        found = os.fstat(stream.fileno())
        if stat.S_ISREG(found.st_mode):
            return found.st_dev, found.st_ino
    return (repr(stream),)


def _check_follow(args: argparse.Namespace) -> None:
    for name in ("contacts", "plot", "animate", "landmarks_out"):
        if getattr(args, name):
            raise UserError(f"--{name.replace('_', '-')} needs all rows, but --follow never has them; leave out one")
    if args.file != "-" and Path(args.file).suffix.lower() in (*BINARY, *SUFFIXES):
        raise UserError(f"{args.file} cannot be followed: --follow is for lines of text (CSV, TSV, JSON lines)")
    if args.output is not None and args.output.suffix.lower() not in TEXT_SUFFIXES:
        raise UserError(f"-o {args.output} cannot be written row by row: --follow writes .csv, .jsonl or .ndjson")
    if args.json and args.output is None:
        raise UserError("--follow with --json would write no coordinates: add -o")


def _check_interrupting(args: argparse.Namespace) -> None:
    if args.checkpoint is None:
        option = "--resume" if args.resume else "--checkpoint-every"
        if args.resume or args.checkpoint_every is not None:
            raise UserError(f"{option} needs to know the checkpoint: add --checkpoint FILE")
        return
    if args.animate is not None:
        raise UserError("--animate cannot be interrupted: leave it out, or leave out --checkpoint")
    if args.output is None and not args.json and not args.follow:
        raise UserError(
            "--checkpoint needs -o: standard output cannot be taken back to where it was when the state was saved"
        )
    if args.online or args.follow:
        for name in ("plot", "landmarks_out"):
            if getattr(args, name) is not None:
                raise UserError(
                    f"--{name.replace('_', '-')} with --online cannot be interrupted: leave it out, or leave out "
                    "--checkpoint"
                )
        if args.output is not None and args.output.suffix.lower() == ".parquet":
            raise UserError(
                "a Parquet file cannot be continued after an interruption: with --online and --checkpoint, write .csv, "
                ".jsonl, .ndjson or .npy"
            )


def files(args: argparse.Namespace) -> dict[str, Path]:
    """The files that are to be written, by the names they have in the summary."""
    names = ("output", "alerts", "plot", "landmarks_out", "animate")
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}
