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
from driftmap.animate import FORMATS as ANIMATIONS
from driftmap.animate import Film, require_ffmpeg
from driftmap.cli import arguments as kinds
from driftmap.cli.arrays import open_contacts
from driftmap.cli.errors import UserError, refused_by_library, warn
from driftmap.cli.outputs import (
    Animation,
    Coordinates,
    Landmarks,
    Output,
    Picture,
    coordinate_columns,
    landmark_columns,
)
from driftmap.cli.passes import Mapped, find_scaling, learn, place, place_online
from driftmap.cli.tables import Table, Wanted, chunk_rows, open_table
from driftmap.cli.writing import TABLE_SUFFIXES, StandardOutput, Writer, new_file, new_table
from driftmap.frames import EMBEDDINGS
from driftmap.landmarks.online import RULES
from driftmap.map import Trust
from driftmap.metrics import make_space
from driftmap.plot import FORMATS, require_matplotlib
from driftmap.quality import landmark_stress

ONLINE_ROWS = 64  # between two looks at the progress bar
N_PICTURES = 100

DESCRIPTION = """\
Map the rows of a table, in the order in which they stand.

FILE is CSV, TSV, JSON lines (each plain or .gz), Parquet or NPY; "-" is standard input, CSV or JSON lines. Files are
read in pieces. The first line of CSV is a header if any of its cells is not a number; columns without names are called
1, 2, 3, ...

All rows are learnt first; then every row is mapped in the final frame. With --online, each row is mapped as it arrives,
in the frame of that moment (laid on the frame before), and the column "frame" counts the changes of the landmarks.

--trust adds two columns that say which rows the map does not represent: "reach", the distance to the nearest landmark
divided by the radius (above 1: farther out than all rows learnt), and "residual", by how much the row's distances to
the landmarks are off on the map (root mean square, in the units of the data).

examples:
  driftmap embed prices.csv --label date --normalize minmax --plot map.png -o map.csv
  driftmap embed sensors.parquet --columns temp,load --landmarks 200 --landmarks-out landmarks.csv
  tail -f sensors.csv | driftmap embed - --online
  driftmap embed --contacts contacts.dat.gz --decay 0.01 -o days.parquet
  driftmap embed prices.csv --label date --animate map.gif --trust -o map.csv
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
    out.add_argument("--trust", action="store_true", help="two more columns, reach and residual: see above")
    out.add_argument("--plot", type=figure, metavar="FIGURE", help="the map as .png, .svg or .pdf")
    out.add_argument("--shade", choices=Trust._fields, help="colour the plot by this instead of by label or arrival")
    out.add_argument(
        "--animate",
        type=kinds.file_with_suffix(*ANIMATIONS),
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
        film = None if args.animate is None else Film(mapper, args.animate_frames or N_PICTURES)
        outputs = _outputs(args, table, film, stack)
        for mapped in _mapped(args, table, mapper, film):
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
    if args.trust and args.json and args.output is None:
        raise UserError("--trust adds columns to the coordinates, which --json writes only to -o")
    if args.shade is not None and args.plot is None:
        raise UserError("--shade is for figures: add --plot")
    if args.animate_frames is not None and args.animate is None:
        raise UserError("--animate-frames is for animations: add --animate")
    with refused_by_library():
        make_space(args.metric, None, np.zeros((1, 2)))
        if args.plot is not None or args.animate is not None:
            require_matplotlib()
    if args.animate is not None and args.animate.suffix.lower() == ".mp4":
        require_ffmpeg()
    paths = [path.resolve() for path in _files(args).values()]
    if len(set(paths)) < len(paths):
        raise UserError("two outputs have the same name")


def _open(args: argparse.Namespace) -> contextlib.AbstractContextManager[Table]:
    if args.contacts:
        return open_contacts(args.file, args.decay, args.columns)
    return open_table(args.file, Wanted(args.columns, args.label, args.header), once=args.online)


def _files(args: argparse.Namespace) -> dict[str, Path]:
    """The files that are to be written, by the names they have in the summary."""
    names = ("output", "plot", "landmarks_out", "animate")
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def _outputs(args: argparse.Namespace, table: Table, film: Film | None, stack: contextlib.ExitStack) -> list[Output]:
    """Open everything that is to be written, so that a bad path fails before the work is done."""
    outputs: list[Output] = []
    # An NPY file has room for numbers only: times, but no labels.
    with_label = args.contacts or args.output is None or args.output.suffix.lower() != ".npy"
    chosen = {"with_label": with_label, "with_trust": args.trust}
    names = coordinate_columns(table, args.components, online=args.online, **chosen)
    if args.output is not None:
        writer: Writer = stack.enter_context(new_table(args.output, names))
        outputs.append(Coordinates(writer, **chosen))
    elif not args.json:
        writer = StandardOutput(names, at_once=_is_live(args))
        stack.callback(writer.close)
        outputs.append(Coordinates(writer, **chosen))
    if args.landmarks_out is not None:
        with_label = args.contacts or args.landmarks_out.suffix.lower() != ".npy"
        names = landmark_columns(table, args.components, with_label=with_label)
        outputs.append(Landmarks(stack.enter_context(new_table(args.landmarks_out, names)), with_label=with_label))
    if args.plot is not None:
        file = stack.enter_context(new_file(args.plot))
        outputs.append(Picture(file, args.plot, table, online=args.online, shade=args.shade))
    if film is not None:
        outputs.append(Animation(stack.enter_context(new_file(args.animate)), args.animate, table, film))
    return outputs


def _mapped(args: argparse.Namespace, table: Table, mapper: DriftMap, film: Film | None) -> Iterator[Mapped]:
    with_trust = args.trust or args.shade is not None
    feed = None if film is None else film.feed
    if args.online:
        rows = 1 if _is_live(args) else min(ONLINE_ROWS, chunk_rows(table))
        yield from place_online(table, mapper, rows, feed, with_trust=with_trust)
        return
    scaling = find_scaling(table, args.normalize)
    n = learn(table, mapper, scaling, feed)
    yield from place(table, mapper, scaling, n, with_trust=with_trust)


def _is_live(args: argparse.Namespace) -> bool:
    """Whether rows may be worth waiting for one by one."""
    return bool(args.online and (args.file == "-" or Path(args.file).is_fifo()))


def _summary(args: argparse.Namespace, table: Table, mapper: DriftMap) -> dict[str, Any]:
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
        **{name: str(path) for name, path in _files(args).items()},
    }
