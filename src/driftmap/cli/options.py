"""The options of ``driftmap embed``, by group."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from driftmap.cli import arguments as kinds
from driftmap.embedding import EMBEDDINGS
from driftmap.io.missing import METHODS
from driftmap.io.writers import TABLE_SUFFIXES
from driftmap.utils.validation import ANIMATION_FORMATS, FIGURE_FORMATS, RULES

Options = dict[str, dict[str, Any]]
"""What ``argparse`` is given for each option, by its flags."""

NOVELTY = ("reach", "quantile", "residual")
"""Columns of the table of coordinates that describe novelty: fields of ``driftmap.map.observer.Update``."""

PAGE_SUFFIX = ".html"
"""The suffix of a plot that a browser shows."""

DESCRIPTION = """\
Map the rows of a table, in the order in which they stand.

FILE is CSV, TSV, JSON lines (each plain, .gz or .zst), Parquet, Arrow IPC, Feather or NPY; "-" is standard input, CSV
or JSON lines. Files are read in blocks. The first line of CSV is a header if any of its cells is not a number, if an
option names one of them, or if it counts columns (1, 2, 3 or 2020, 2021) and the next line does not; columns without
names are called 1, 2, 3, ... All columns of numbers are features, unless --columns lists others. Columns of text or
dates, those without a name and those without any number are left out; one line on standard error names them. With
--online or --follow, later rows are not known: a column that is empty so far is kept, and --missing decides.

The numbers of a large text (8 bytes each) are cached for the second pass: the first 128 MB in memory, the others in a
temporary file, in the folder of -o or else in that for temporary files. If that file cannot be written, the text is
read again; so are binary formats, and everything with --checkpoint.

All rows are learnt first; then every row is mapped in the final frame. With --online, each row is mapped as it arrives,
in the frame of that moment (laid on the frame before), and the column "frame" counts the changes of the landmarks.

--follow does the same for a file that is still growing or a pipe, for ever: each row is written as soon as its line has
its end, with frame and novelty. A file that is replaced or cut is read again from its start; a named pipe waits
for the next writer. FILE may also be a stream of messages: kafka://HOST/TOPIC, redis://HOST/STREAM, nats://HOST/STREAM
or mqtt://HOST/TOPIC. Ctrl-C ends it.

--novelty adds three columns. Two say how new a row was just before it was learnt: "reach", the distance to the nearest
landmark divided by the radius (above 1: farther out than all rows before; infinite at the start, before there is a
radius), and "quantile", the share of the last 2,000 rows whose reach was smaller. "residual" says by how much the row's
distances to the landmarks are off on the map (root mean square, in the units of the data); that is for embeddings that
keep distances: stress, lmds, weighted-lmds.

--alert reports novel rows as they are learnt, in one line of JSON each: row (from 0), label, reach, quantile, nearest
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
  driftmap embed contacts.dat.gz --contacts --color-by hour -o days.parquet --plot days.png
  driftmap embed prices.csv --label date --animate map.gif --novelty -o map.csv
  driftmap embed large.csv -o map.csv --checkpoint map.ckpt --resume
  driftmap embed --follow sensors.csv --skip-bad --format jsonl | consumer
  driftmap embed --follow sensors.csv --label time --alert 0.999 --alerts alerts.jsonl -o map.csv
  driftmap embed --follow redis://localhost/sensors --checkpoint map.ckpt --resume --sink redis://localhost/map
  driftmap embed 'days/*.parquet' --dask tcp://scheduler:8786 --certify -o maps/
"""


def landmark_count(text: str) -> int | str:
    """The type of ``--landmarks``: an integer or "auto"."""
    try:
        return text if text == "auto" else kinds.integer(text, lowest=1)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; give a number or auto") from None


def memory_size(text: str) -> int | str | None:
    """The type of ``--memory``: an integer, "all" for no limit, or "auto"."""
    if text in ("all", "auto"):
        return None if text == "all" else text
    try:
        return kinds.integer(text, lowest=1)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f'{error}; give a number, or "all" to store every row') from None


READING: Options = {
    "--columns": {"type": kinds.names, "metavar": "A,B,C", "help": "the features; default: all columns of numbers"},
    "--exclude": {"type": kinds.names, "metavar": "A,B", "help": "columns that are no features"},
    "--label": {
        "metavar": "COLUMN",
        "help": "colour by this column and copy it to the output; no feature unless listed in --columns",
    },
    "--header": {"choices": ("auto", "yes", "no"), "default": "auto", "help": "of CSV (default: auto)"},
    "--missing": {
        "choices": ("error", *METHODS),
        "help": (
            "a missing number ends the run (error, the default), drops its row, or is "
            "filled by the mean or the last of the values before it in its column; where "
            "there are none, its row is dropped"
        ),
    },
    "--decimal": {"choices": (".", ","), "default": ".", "help": "decimal point of CSV (default: .)"},
    "--thousands": {"choices": (",", ".", " ", "'", "_"), "default": "", "help": "thousands separator of CSV"},
    "--delay": {
        "type": partial(kinds.integer, lowest=2, highest=10_000),
        "metavar": "N",
        "help": "of a time series: map each row together with the rows before it, the last N in all",
    },
    "--every": {
        "type": partial(kinds.integer, lowest=1),
        "metavar": "K",
        "help": "of these rows, take every K-th (default: 1)",
    },
    "--skip-bad": {
        "action": "store_true",
        "help": "leave out lines that are no rows of numbers, report each on stderr and count them; every row is one "
        "line",
    },
    "--contacts": {
        "action": "store_true",
        "help": "FILE is a list of contacts, SocioPatterns or its like: time, node, node, perhaps weight or attributes",
    },
    "--decay": {
        "type": kinds.rate_or_auto,
        "metavar": "RATE",
        "help": "with --contacts: decay of ties per unit of time; auto (the default): a half-life from the contacts",
    },
    "--metadata": {
        "type": Path,
        "metavar": "FILE",
        "help": "with --contacts: attributes of the nodes, such as class or role; a line per node",
    },
    "--start": {"type": kinds.date, "metavar": "DATE", "help": "with --contacts: date and time at which t is 0"},
    "--color-by": {
        "metavar": "NAME",
        "help": "with --contacts: colour figures by hour, day or an attribute, of which the value with the strongest "
        "ties counts; default: by time",
    },
}

MAPPING: Options = {
    "--landmarks": {
        "type": landmark_count,
        "default": 100,
        "metavar": "M",
        "help": (
            "default: 100; auto: by one more pass, the fewest of 10, 20, 40, 80 whose stress is "
            "within 2 %% of that of four times as many, else 320"
        ),
    },
    "--components": {"type": partial(kinds.integer, lowest=1), "default": 2, "metavar": "K", "help": "default: 2"},
    "--rule": {"choices": RULES, "default": "tight", "help": "which landmark leaves (default: tight)"},
    "--slack": {
        "type": kinds.rate,
        "default": 0.02,
        "metavar": "S",
        "help": "a row counts as covered up to 1 + S times the radius: fewer replacements (default: 0.02)",
    },
    "--embedding": {"choices": EMBEDDINGS, "default": EMBEDDINGS[0], "help": "default: %(default)s"},
    "--steadiness": {
        "type": kinds.rate,
        "metavar": "S",
        "help": "of stress: 0.01 to 0.1 make single rows jump less when the map changes (default: 0)",
    },
    "--metric": {
        "default": "euclidean",
        "metavar": "NAME",
        "help": "one that scipy's cdist knows (default: euclidean)",
    },
    "--normalize": {
        "choices": ("none", "minmax", "zscore"),
        "default": "none",
        "help": (
            "by a first pass over all rows; with --online or --follow, running: each row "
            "by all rows up to it (default: none)"
        ),
    },
    "--warm-up": {
        "type": partial(kinds.integer, lowest=1),
        "metavar": "N",
        "help": "with a running --normalize: hold back the first N rows until their scale is known (default: 100)",
    },
    "--memory": {
        "type": memory_size,
        "default": "auto",
        "metavar": "N",
        "help": "the most rows to store: others are merged into those near them; all: store every row (default: 10000)",
    },
    "--window": {
        "type": partial(kinds.integer, lowest=1),
        "metavar": "N",
        "help": "remember only the last N rows; landmarks follow them",
    },
    "--half-life": {
        "type": partial(kinds.integer, lowest=1),
        "metavar": "N",
        "help": "halve the mass of a row after N rows",
    },
    "--online": {"action": "store_true", "help": "map each row as it arrives"},
    "--follow": {
        "action": "store_true",
        "help": "map the rows of a growing file, a pipe or a stream of messages as they arrive",
    },
}

WRITING: Options = {
    "-o --output": {
        "type": Path,
        "metavar": "OUT",
        "help": "coordinates: .csv, .jsonl, .ndjson, .parquet or .npy; default: text on stdout",
    },
    "--format": {"choices": ("csv", "jsonl"), "help": "of the coordinates on stdout (default: csv)"},
    "--novelty": {"action": "store_true", "help": "three more columns, reach, quantile and residual: see above"},
    "--alert": {"type": kinds.rate, "metavar": "T", "help": "report rows beyond this reach (1 or more) or quantile"},
    "--alerts": {
        "type": partial(kinds.file, suffixes=(".jsonl", ".ndjson")),
        "metavar": "OUT",
        "help": "alerts as JSON lines: .jsonl or .ndjson (default: on stderr)",
    },
    "--explain": {
        "action": "store_true",
        "help": "for each axis of the map, the columns that correlate most with it, on stderr (all: --json)",
    },
    "--plot": {
        "type": partial(kinds.file, suffixes=(*FIGURE_FORMATS, PAGE_SUFFIX)),
        "metavar": "FIGURE",
        "help": "the map as .png, .svg, .pdf or .html",
    },
    "--shade": {"choices": NOVELTY, "help": "colour the plot by this instead of by label or arrival"},
    "--animate": {
        "type": partial(kinds.file, suffixes=ANIMATION_FORMATS),
        "metavar": "FILM",
        "help": "the map growing, as .gif or .mp4 (which needs ffmpeg)",
    },
    "--animate-frames": {
        "type": partial(kinds.integer, lowest=2, highest=1000),
        "metavar": "N",
        "help": "about how many pictures --animate shows (default: 100)",
    },
    "--landmarks-out": {
        "type": partial(kinds.file, suffixes=TABLE_SUFFIXES),
        "metavar": "OUT",
        "help": "the landmarks: arrival, mass, coordinates, row",
    },
    "--sink": {
        "metavar": "URL",
        "help": "with --online or --follow: also send coordinates, novelty and alerts to this stream of messages",
    },
    "--json": {"action": "store_true", "help": "a summary on stdout; coordinates go only to -o"},
}

INTERRUPTING: Options = {
    "--checkpoint": {"type": Path, "metavar": "FILE", "help": "save the state of the run to this file"},
    "--checkpoint-every": {
        "type": kinds.duration,
        "metavar": "TIME",
        "help": "such as 10s, 5m or 1h (default: 30s); less often if writing would take a tenth of the time",
    },
    "--resume": {
        "action": "store_true",
        "help": "go on from the checkpoint; if there is none yet, start from the beginning",
    },
}

CLUSTER: Options = {
    "--dask": {
        "metavar": "ADDRESS",
        "help": (
            "learn and map Parquet files (FILE is a folder or a pattern in quotes) on the"
            ' workers of this dask scheduler, or of this machine ("local"); OUT is a new '
            "folder with one file for each, and the map"
        ),
    },
    "--certify": {
        "action": "store_true",
        "help": "with --dask: find the exact covering radius and masses while mapping",
    },
}

GROUPS = {
    "": {"file": {"metavar": "FILE", "help": 'what to map; "-" is standard input'}},
    "what to read": READING,
    "how to map": MAPPING,
    "what to write (a file appears only when it is complete, but with --follow)": WRITING,
    "runs that may be interrupted": INTERRUPTING,
    "a cluster": CLUSTER,
}


def add_options(parser: kinds.Parser, groups: dict[str, Options] = GROUPS) -> None:
    """Add options, in groups with these titles."""
    for title, options in groups.items():
        group = parser.add_argument_group(title) if title else parser
        for flags, settings in options.items():
            group.add_argument(*flags.split(), **settings)
    parser.set_defaults(defaults=parser.get_default, view=None)
