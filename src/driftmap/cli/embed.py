"""``driftmap embed``: the map of a table or of a list of contacts."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from driftmap import DriftMap
from driftmap.cli import arguments as kinds
from driftmap.cli.arrays import open_contacts
from driftmap.cli.errors import UserError, refused_by_library, warn
from driftmap.cli.outputs import Coordinates, Landmarks, Output, Picture, coordinate_columns, landmark_columns
from driftmap.cli.passes import Mapped, find_scaling, learn, place, place_online
from driftmap.cli.tables import Table, Wanted, chunk_rows, open_table
from driftmap.cli.writing import TABLE_SUFFIXES, StandardOutput, Writer, new_file, new_table
from driftmap.frames import EMBEDDINGS
from driftmap.landmarks.online import RULES
from driftmap.metrics import make_space
from driftmap.plot import FORMATS, require_matplotlib
from driftmap.quality import landmark_stress

ONLINE_ROWS = 64  # between two looks at the progress bar

DESCRIPTION = """\
Map the rows of a table, in the order in which they stand.

FILE is CSV, TSV, JSON lines (each plain or .gz), Parquet or NPY; "-" is standard input, CSV or JSON lines. Files are
read in pieces. The first line of CSV is a header if any of its cells is not a number; columns without names are called
1, 2, 3, ...

All rows are learnt first; then every row is mapped in the final frame. With --online, each row is mapped as it arrives,
in the frame of that moment (laid on the frame before), and the column "frame" counts the changes of the landmarks.

examples:
  driftmap embed prices.csv --label date --normalize minmax --plot map.png -o map.csv
  driftmap embed sensors.parquet --columns temp,load --landmarks 200 --landmarks-out landmarks.csv
  tail -f sensors.csv | driftmap embed - --online
  driftmap embed --contacts contacts.dat.gz --decay 0.01 -o days.parquet
"""


def register(subparsers: kinds.Subparsers) -> None:
    """Add the subcommand."""
    parser = kinds.add_command(subparsers, "embed", "map the rows of a file", DESCRIPTION, run)
    parser.add_argument("file", metavar="FILE", help='what to map; "-" is standard input')
    what = parser.add_argument_group("what to read")
    what.add_argument("--columns", type=kinds.names, metavar="A,B,C", help="the features; default: all but the label")
    what.add_argument(
        "--label",
        metavar="COLUMN",
        help="colour by this column and copy it to the output; no feature unless listed in --columns",
    )
    what.add_argument("--header", choices=("auto", "yes", "no"), default="auto", help="of CSV (default: auto)")
    what.add_argument(
        "--contacts", action="store_true", help="FILE is a list of contacts: SocioPatterns or CSV (t,i,j)"
    )
    what.add_argument("--decay", type=kinds.rate, metavar="RATE", help="decay of ties per unit of time, for --contacts")
    how = parser.add_argument_group("how to map")
    how.add_argument("--landmarks", type=kinds.integer_from(1), default=100, metavar="M", help="default: 100")
    how.add_argument("--components", type=kinds.integer_from(1), default=2, metavar="K", help="default: 2")
    how.add_argument("--rule", choices=RULES, default="tight", help="which landmark leaves (default: tight)")
    how.add_argument("--embedding", choices=EMBEDDINGS, default=DriftMap().embedding, help="default: %(default)s")
    how.add_argument(
        "--metric", default="euclidean", metavar="NAME", help="one that scipy's cdist knows (default: euclidean)"
    )
    how.add_argument(
        "--normalize",
        choices=("none", "minmax", "zscore"),
        default="none",
        help="by a first pass over all rows (default: none)",
    )
    how.add_argument("--online", action="store_true", help="map each row as it arrives")
    out = parser.add_argument_group("what to write (a file appears only when it is complete)")
    table, figure = kinds.file_with_suffix(*TABLE_SUFFIXES), kinds.file_with_suffix(*FORMATS)
    out.add_argument(
        "-o", "--output", type=table, metavar="OUT", help="coordinates: .csv, .parquet or .npy; default: CSV on stdout"
    )
    out.add_argument("--plot", type=figure, metavar="FIGURE", help="the map as .png, .svg or .pdf")
    out.add_argument(
        "--landmarks-out", type=table, metavar="OUT", help="the landmarks: arrival, mass, coordinates, row"
    )
    out.add_argument("--json", action="store_true", help="a summary on stdout; coordinates go only to -o")


def run(args: argparse.Namespace) -> int:
    """Carry out the command."""
    _check(args)
    mapper = DriftMap(
        args.components,
        n_landmarks=args.landmarks,
        rule=args.rule,
        embedding=args.embedding,
        metric=args.metric,
    )
    with contextlib.ExitStack() as stack:
        table = stack.enter_context(_open(args))
        outputs = _outputs(args, table, stack)
        for mapped in _mapped(args, table, mapper):
            for output in outputs:
                output.take(mapped, mapper)
            if outputs and all(output.closed for output in outputs):
                return 0  # nobody reads any more, and nothing else is wanted
        for output in outputs:
            output.finish(mapper)
    if mapper.n_dimensions_ < mapper.n_components:
        warn(
            f"the landmarks span {mapper.n_dimensions_} of {mapper.n_components} dimensions; "
            "the missing coordinates are 0"
        )
    if args.json:  # last, so that whoever reads it can rely on the files
        print(json.dumps(_summary(args, table, mapper), indent=2))
    return 0


def _check(args: argparse.Namespace) -> None:
    """Whatever can be refused before anything is read."""
    if args.landmarks < args.components + 1:
        raise UserError(
            f"--landmarks {args.landmarks} is too few for --components {args.components}: "
            f"at least {args.components + 1} are needed"
        )
    if args.online and args.normalize != "none":
        raise UserError(
            f"--normalize {args.normalize} needs all rows before the first is mapped, which --online cannot wait for; "
            "normalize the file first, or leave out one of the two"
        )
    if args.contacts and args.decay is None:
        raise UserError("--contacts needs --decay, the rate at which ties decay, per unit of the contacts' time")
    if args.decay is not None and not args.contacts:
        raise UserError("--decay is for lists of contacts: add --contacts")
    if args.contacts and args.label is not None:
        raise UserError("--label is for tables; contacts are coloured by their time")
    if args.metric == "precomputed":
        raise UserError("--metric precomputed is for distances, which a table of rows does not hold")
    with refused_by_library():
        make_space(args.metric, None, np.zeros((1, 2)))
        if args.plot is not None:
            require_matplotlib()
    paths = [path.resolve() for path in (args.output, args.plot, args.landmarks_out) if path is not None]
    if len(set(paths)) < len(paths):
        raise UserError("two outputs have the same name")


def _open(args: argparse.Namespace) -> contextlib.AbstractContextManager[Table]:
    if args.contacts:
        return open_contacts(args.file, args.decay, args.columns)
    return open_table(args.file, Wanted(args.columns, args.label, args.header), once=args.online)


def _outputs(args: argparse.Namespace, table: Table, stack: contextlib.ExitStack) -> list[Output]:
    """Open everything that is to be written, so that a bad path fails before the work is done."""
    outputs: list[Output] = []
    # An NPY file has room for numbers only: times, but no labels.
    with_label = args.contacts or args.output is None or args.output.suffix.lower() != ".npy"
    names = coordinate_columns(table, args.components, online=args.online, with_label=with_label)
    if args.output is not None:
        writer: Writer = stack.enter_context(new_table(args.output, names))
        outputs.append(Coordinates(writer, with_label=with_label))
    elif not args.json:
        writer = StandardOutput(names, at_once=_is_live(args))
        stack.callback(writer.close)
        outputs.append(Coordinates(writer, with_label=with_label))
    if args.landmarks_out is not None:
        with_label = args.contacts or args.landmarks_out.suffix.lower() != ".npy"
        names = landmark_columns(table, args.components, with_label=with_label)
        outputs.append(Landmarks(stack.enter_context(new_table(args.landmarks_out, names)), with_label=with_label))
    if args.plot is not None:
        outputs.append(Picture(stack.enter_context(new_file(args.plot)), args.plot, table, online=args.online))
    return outputs


def _mapped(args: argparse.Namespace, table: Table, mapper: DriftMap) -> Iterator[Mapped]:
    if args.online:
        yield from place_online(table, mapper, 1 if _is_live(args) else min(ONLINE_ROWS, chunk_rows(table)))
        return
    scaling = find_scaling(table, args.normalize)
    n = learn(table, mapper, scaling)
    yield from place(table, mapper, scaling, n)


def _is_live(args: argparse.Namespace) -> bool:
    """Whether rows may be worth waiting for one by one."""
    return bool(args.online and (args.file == "-" or Path(args.file).is_fifo()))


def _summary(args: argparse.Namespace, table: Table, mapper: DriftMap) -> dict[str, Any]:
    files = {"output": args.output, "plot": args.plot, "landmarks_out": args.landmarks_out}
    return {
        "input": table.name,
        "rows": mapper.n_samples_seen_,
        "columns": list(table.columns),
        "components": mapper.n_components,
        "dimensions": mapper.n_dimensions_,
        "landmarks": len(mapper.landmark_indices_),
        "rule": mapper.rule,
        "embedding": mapper.embedding,
        "metric": mapper.metric,
        "normalize": args.normalize,
        "online": args.online,
        "radius": mapper.radius_,
        "covering_radius": mapper.covering_radius_,
        "replacements": mapper.n_replacements_,
        "landmark_stress": landmark_stress(mapper),
        **{name: str(path) for name, path in files.items() if path is not None},
    }
