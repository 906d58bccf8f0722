"""``driftmap compare``: whether the rows of a table differ from those of another, where on the map, and in what."""

from __future__ import annotations

import contextlib
import json
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftmap.cli import arguments as kinds
from driftmap.cli import run_files
from driftmap.cli.errors import UserError, escaped, note
from driftmap.cli.files import new_file, writing
from driftmap.cli.groups import PAGE_SUFFIX, Figures, MapShape
from driftmap.cli.hints import Hints
from driftmap.cli.outputs import suffix
from driftmap.cli.reading import ReadingOptions
from driftmap.cli.typed import argument, group, option
from driftmap.comparison import OF_ONE_STREAM, Comparison, column_order, named
from driftmap.map.stream_map import StreamMap
from driftmap.map.two_tables import (
    FEWEST_COMPARED,
    LEAST_P_VALUE,
    MOST_COMPARED,
    Rows,
    check_comparable,
    compared,
    remembered,
)
from driftmap.metrics import make_store
from driftmap.pipeline import state as run_state
from driftmap.pipeline.observer import Update
from driftmap.pipeline.operator import part_of
from driftmap.pipeline.operator_state import OWN
from driftmap.storage import checkpoint
from driftmap.storage.checkpoint import Checkpoint, CheckpointError
from driftmap.storage.serialization import unpack
from driftmap.tables.formats import FORMATS, readable
from driftmap.tables.readers import open_table
from driftmap.tables.rejected import RejectedLines
from driftmap.tables.scaling import NORMALIZATIONS, Scaling, statistics_for
from driftmap.tables.steps import Steps
from driftmap.tables.table import Chunk, chunk_rows
from driftmap.utils import Array, Ids
from driftmap.utils.columns import describe
from driftmap.utils.validation import FIGURE_FORMATS

DIFFERS = 3
"""Exit status if ``--fail-on-drift`` finds one."""
DESCRIPTION = f"""\
Compare the rows of NOW with those of REFERENCE, on one map that is learnt from both: a p-value, the cells of the map in
which rows became more or less frequent, and the features whose means differ most. The report goes to standard output.

Each is {readable()};
one of them may be "-", standard input. The options on reading are for both. Columns need the same names, in any order.
Of more than {MOST_COMPARED:,} rows, a random sample of that many is compared; at least {FEWEST_COMPARED} are needed.

REFERENCE may also be a checkpoint of `driftmap embed` or `follow`, or of DriftMap.save, whose rows are those
that its map remembers, or a sample of 1,024 of them. Metric, landmarks and normalisation are then those of the
checkpoint.

The p-value is that of a permutation test, from {LEAST_P_VALUE:g} on: of equal distributions, one comparison in 100 has
0.01 or less. The order of rows does not matter to it, so rows that depend on those before them differ too often.

--fail-on-drift 0.001 ends with status {DIFFERS} if the p-value is at most 0.001, with 0 if it is larger, and with 2 if
nothing could be compared.

examples:
  driftmap compare january.csv february.csv --exclude id --plot change.html
  driftmap compare reference.parquet today.parquet --normalize zscore --json
  driftmap compare map.ckpt today.csv --fail-on-drift 0.001
"""


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Options of ``compare``."""

    reference: str = argument(metavar="REFERENCE", help="a table, or a checkpoint")
    now: str = argument(metavar="NOW", help="a table")
    reading: ReadingOptions = group(ReadingOptions, "what to read")
    mapping: MapShape = group(MapShape, "how to map")
    normalize: str = option(
        "--normalize",
        default="none",
        choices=("none", *NORMALIZATIONS),
        help="to [0, 1], to mean 0 and deviation 1, or to median 0 and interquartile range 1 (robust), by the compared "
        "rows of both (default: none)",
    )
    json: bool = option("--json", default=False, help="the whole result as JSON, instead of the report")
    plot: Path | None = option(
        "--plot",
        type=partial(kinds.file, suffixes=(*FIGURE_FORMATS, PAGE_SUFFIX)),
        metavar="FIGURE",
        help="the map, coloured by what became more and less frequent, as .png, .svg, .pdf or .html",
    )
    fail_on_drift: float | None = option(
        "--fail-on-drift",
        type=kinds.rate,
        metavar="P",
        help=f"end with status {DIFFERS} if the p-value is at most P, from {LEAST_P_VALUE:g} on",
    )

    def __post_init__(self) -> None:
        if self.mapping.landmarks == "auto":
            raise UserError("--landmarks auto is for `driftmap embed`: give a number")
        if self.reference == self.now == "-":
            raise UserError("only one of REFERENCE and NOW can be standard input")
        if self.fail_on_drift is not None and not LEAST_P_VALUE <= self.fail_on_drift < 1:
            problem = f"must be at least {LEAST_P_VALUE:g}, the least p-value, and below 1, got {self.fail_on_drift:g}"
            raise UserError(f"--fail-on-drift {problem}")
        if self.reading.skip_bad and any(map(self.reading.is_binary, (self.reference, self.now))):
            raise UserError("--skip-bad is for lines of text")


Options = CompareOptions


class Table(NamedTuple):
    """A table that was read: its features, and a random sample of its rows."""

    columns: tuple[str, ...]
    rows: Rows


class Saved(NamedTuple):
    """What a checkpoint knows of its stream."""

    mapper: StreamMap
    columns: tuple[str, ...]
    """Names of the features; none if there are none."""
    scaling: Scaling | None


def run(options: CompareOptions, argv: Sequence[str]) -> int:
    """Carry out the command; returns the exit status."""
    Figures(plot=options.plot).require()
    if sys.stdout is None:
        raise UserError("standard output is closed: the report has no place")
    paths = run_files.resolved(plot=options.plot)
    run_files.check_distinct({"REFERENCE": options.reference, "NOW": options.now}, paths)
    found = with_checkpoint(options, saved(options)) if is_checkpoint(options.reference) else of_tables(options)
    for name, path in paths.items():
        with new_file(path) as file, writing():
            found.write(file, suffix(options.plot or Path(name)))
    print(json.dumps(found.as_json(), indent=2) if options.json else escaped_lines(str(found)))
    differs = options.fail_on_drift is not None and found.p_value <= options.fail_on_drift
    return DIFFERS if differs else 0


def of_tables(options: CompareOptions) -> Comparison:
    """Compare two tables."""
    names = shown(options.reference), shown(options.now)
    before, now = read(options, options.reference, 0), read(options, options.now, 1)
    order = column_order(before.columns, now.columns, names)
    rows = before.rows, now.rows._replace(points=now.rows.points[:, order])
    check_comparable(*rows, names)
    scaling = None
    if options.normalize != "none":
        known = statistics_for(options.normalize)
        known.update(np.concatenate([part.points for part in rows]))
        scaling = known.scaling(options.normalize)
        rows = rows[0]._replace(points=scaling(rows[0].points)), rows[1]._replace(points=scaling(rows[1].points))
    shape = options.mapping
    params: dict[str, Any] = {
        "n_components": shape.components,
        "n_landmarks": shape.landmarks,
        "embedding": shape.embedding,
        "metric": shape.metric,
        "slack": shape.slack,
        "memory": shape.memory,
        "n_anchors": shape.anchors,
    }
    StreamMap(**params).validate()
    store = make_store(shape.metric, None, rows[0].points)
    found = _compared(store, *rows, params, before.columns, names, scaling)
    hints = Hints(before.columns, shape.metric, scaled=scaling is not None)
    for part in found.rows:
        hints.observe(Update("measuring", 0, Chunk(part.points)), found.found.mapper)
    hints.finish(found.found.mapper)
    return found


def with_checkpoint(options: CompareOptions, known: Saved) -> Comparison:
    """Compare a table with what a map remembers."""
    mapper, names = known.mapper, (shown(options.reference), shown(options.now))
    default = MapShape()
    for name in ("landmarks", "components", "slack", "embedding", "memory", "anchors"):
        if getattr(options.mapping, name) != getattr(default, name):
            raise UserError(f"--{name} is for two tables: the map of {names[0]} says it")
    if options.normalize != "none":
        raise UserError(f"--normalize is for two tables: {names[1]} is normalised as the rows of {names[0]} were")
    if options.mapping.metric not in (default.metric, mapper.metric):
        raise UserError(f"{names[0]} has the metric {mapper.metric!r}, not {options.mapping.metric!r}")
    now = read(options, options.now, 1)
    order = column_order(known.columns, now.columns, names)
    width = mapper._landmark_engine().n_features
    if len(now.columns) != width:
        raise UserError(f"{names[1]} has {len(now.columns)} features, and {names[0]} has {width}")
    points = now.rows.points if order is None else now.rows.points[:, order]
    points = points if known.scaling is None else known.scaling(points)
    with named(names[0]):
        before = remembered(mapper, 0)
    rows = before, now.rows._replace(points=points)
    check_comparable(*rows, names)
    params = {name: value for name, value in mapper.params().items() if name not in OF_ONE_STREAM}
    columns = known.columns or now.columns
    return _compared(mapper._landmark_engine().store, *rows, params, columns, names, known.scaling)


def _compared(
    store: Any,
    before: Rows,
    now: Rows,
    params: dict[str, Any],
    columns: Sequence[str],
    names: tuple[str, str],
    scaling: Scaling | None,
) -> Comparison:
    parts = []
    for rows, name in ((before, names[0]), (now, names[1])):
        with named(name, rows.numbers):
            parts.append(rows._replace(points=store.check_queries(rows.points)))
    found = Comparison(names, (parts[0], parts[1]), compared(store, parts[0], parts[1], params, columns, 0))
    return found if scaling is None else found.in_units(scaling.shift, scaling.scale)


def shown(file: str) -> str:
    """What an input is called in the report."""
    return "standard input" if file == "-" else Path(file).name


def escaped_lines(text: str) -> str:
    """A report without control characters."""
    return "\n".join(f"{'  ' * line.startswith('  ')}{escaped(line)}" for line in text.split("\n"))


# --- reading ---


def read(options: CompareOptions, file: str, seed: int) -> Table:
    """Return a uniform random sample of the rows of a table, which may be larger than memory."""
    reading, rejected = options.reading, RejectedLines(skip=options.reading.skip_bad, report=note)
    rng = np.random.default_rng([3, seed])
    with contextlib.ExitStack() as stack:
        table = stack.enter_context(open_table(file, reading.wanted(rejected, options.mapping.metric), once=True))
        if table.left_out:
            note(f"{table.name}: columns left out: {describe(table.left_out)}")
        steps = Steps(reading.steps())
        columns = tuple(steps.columns(table.columns))
        kept = Kept(np.empty((0, len(columns))), np.empty(0, np.int64), np.empty(0), 0)
        for chunk in table.chunks(chunk_rows(len(columns))):
            kept = kept.joined(steps(chunk).features, rng)
        if (rest := steps.finish()) is not None:
            kept = kept.joined(rest.features, rng)
    return Table(columns, Rows(kept.rows, kept.numbers, kept.n))


class Kept(NamedTuple):
    """The rows with the smallest random keys so far."""

    rows: Array
    numbers: Ids
    keys: Array
    n: int

    def joined(self, rows: Array, rng: np.random.Generator) -> Kept:
        """Return what is kept after further rows."""
        keys = np.concatenate([self.keys, rng.random(len(rows))])
        numbers = np.concatenate([self.numbers, np.arange(self.n, self.n + len(rows))])
        kept = np.sort(np.argsort(keys, kind="stable")[:MOST_COMPARED])
        return Kept(np.concatenate([self.rows, rows])[kept], numbers[kept], keys[kept], self.n + len(rows))


def is_checkpoint(file: str) -> bool:
    """Whether a file is a checkpoint: an archive that is no table."""
    path = Path(file)
    is_table = any(path.suffix.lower() in kind.suffixes for kind in FORMATS)
    return not is_table and path.is_file() and zipfile.is_zipfile(path)


def saved(options: CompareOptions) -> Saved:
    """Return the map of a checkpoint, and how rows have to be prepared for it."""
    path = Path(options.reference)
    found = checkpoint.read(path)
    header, arrays = found
    columns: tuple[str, ...] = ()
    scaling = None
    if run_state.KEY in header:
        state = run_state.read(path).state
        columns = tuple(Steps(options.reading.steps()).columns(state.columns))
        parts = part_of(arrays, f"{OWN}.scaling.")
        with checkpoint.reading(path):
            scaling = Scaling.of(parts, len(columns)) if parts else None
        if scaling is None and state.arguments.get("normalize", "none") != "none":
            raise UserError(f"{path} was normalised row by row, each by the rows before it: compare the tables instead")
        for name in ("delay", "every", "missing"):
            if (given := state.arguments.get(name)) != getattr(options.reading, name):
                value = "" if given is None else f" {given}"
                raise UserError(f"{path} was made {'with' if given else 'without'} --{name}{value}: say the same")
    header = {key: value for key, value in header.items() if key not in (run_state.KEY, OWN)}
    arrays = {name: array for name, array in arrays.items() if not name.startswith(f"{OWN}.")}
    if header["kind"] == OWN:
        raise CheckpointError(f"{path} holds a run that has learnt nothing yet")
    mapper = unpack(Checkpoint(header, arrays), StreamMap, place=str(path))
    return Saved(mapper, columns or mapper.feature_names or mapper.dict_names, scaling)
