"""``driftmap cluster``: Parquet files mapped by the workers of a cluster, each to a file with its name."""

from __future__ import annotations

import contextlib
import glob
import json
import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftmap.cli import arguments as kinds
from driftmap.cli.errors import UserError, counted, note
from driftmap.cli.groups import MapShape
from driftmap.cli.progress import Progress
from driftmap.cli.typed import argument, group, option
from driftmap.cli.writing import Layout
from driftmap.tables.columns import Wanted
from driftmap.tables.readers import open_table
from driftmap.utils.columns import describe
from driftmap.utils.concurrency import n_threads
from driftmap.utils.errors import MissingDependencyError

DESCRIPTION = """\
Learn and map Parquet files on a Dask cluster, each file where it is stored, and write a file for each into a new
folder.

FILE is a folder of Parquet files, or a pattern in quotes. OUT is a new folder that this machine and all workers share;
besides the mapped files it holds the map, which `driftmap info` shows and FrozenMap.load loads. Rows are learnt
unchanged: normalise the files first, and fill or drop rows with missing numbers. Windows, half-lives and novelty depend
on the order of all rows and need `driftmap embed`.

Rows are learnt unchanged: normalise the files first, and fill or drop rows with missing numbers. What depends on
the order of all rows (windows, half-lives, novelty) need `driftmap embed`.

example:
  driftmap cluster 'days/*.parquet' --scheduler tcp://scheduler:8786 --certify -o maps/
"""
MAP = "_map.ckpt"
"""The file of the map in the folder of the output; readers of Parquet folders skip names with underscores."""
CONNECT = 10
"""Seconds in which a scheduler must answer."""


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Options of ``cluster``."""

    file: str = argument(metavar="FILE", help="a folder of Parquet files, or a pattern in quotes")
    scheduler: str = option(
        "--scheduler",
        default="local",
        metavar="ADDRESS",
        help="the address of a Dask scheduler (default: local, the processors of this machine)",
    )
    output: Path | None = option("-o", "--output", type=Path, metavar="OUT", help="a new folder that all workers see")
    columns: list[str] | None = option(
        "--columns", type=kinds.names, metavar="A,B,C", help="the features (default: all columns of numbers)"
    )
    exclude: list[str] | None = option(
        "--exclude", type=kinds.names, metavar="A,B", help="columns that are not features"
    )
    label: str | None = option("--label", metavar="COLUMN", help="copy this column to the output; it is not a feature")
    mapping: MapShape = group(MapShape, "how to map")
    certify: bool = option("--certify", default=False, help="find the exact covering radius and masses while mapping")
    json: bool = option("--json", default=False, help="a summary on standard output")
    quiet: bool = option("--quiet", default=False, help="leave out the last line, which says what was done")

    def __post_init__(self) -> None:
        if self.mapping.landmarks == "auto":
            problem = "--landmarks auto needs a pass on one machine"
            raise UserError(f"{problem}: find the number on some of the files, and give it")
        if self.output is None:
            raise UserError("cluster needs -o, a new folder that all workers see")


Options = ClusterOptions


def run(options: ClusterOptions, argv: Sequence[str]) -> int:
    """Carry out the command."""
    try:
        import distributed  # noqa: F401

        from driftmap import dask
        from driftmap.dask.blocks import leaves, parquet_files
    except ImportError as error:
        raise UserError(str(MissingDependencyError("cluster needs dask", extra="dask"))) from error
    from driftmap import DriftMap

    shape = options.mapping
    files, folder = _input(options.file), _output(options.output)
    wanted = Wanted(options.columns, options.label, exclude=options.exclude or ())
    with open_table(files[0], wanted, once=True) as table:
        if table.left_out:
            note(f"{table.name}: columns left out: {describe(table.left_out)}")
    layout = Layout(options.label, shape.components)
    parts = parquet_files(files, wanted)
    mapper = DriftMap(
        shape.components,
        n_landmarks=shape.landmarks,
        embedding=shape.embedding,
        n_anchors=shape.anchors,
        metric=shape.metric,
        slack=shape.slack,
        memory=shape.memory,
    )
    mapper.check_mergeable()  # before a cluster is started
    with _client(options.scheduler) as client, contextlib.closing(Progress()) as progress, _failures():
        _observe(client, progress, sum(part.rows or 0 for part in parts))
        fitted = dask.fit(mapper, parts)
        folder.mkdir(exist_ok=True)
        frozen = dask.embed(fitted, parts, folder, layout.names("the output"), certify=options.certify)
        missing = next((part.name for part in parts if not (folder / Path(part.name).name).exists()), None)
    if missing is not None:
        raise UserError(
            f"{folder} has no file for {missing}: it must be a folder that this machine and all workers share"
        )
    frozen.save(folder / MAP)  # last: where this file exists, all others do
    if options.json:
        print(json.dumps(_summary(options, folder, fitted, frozen, parts, len(leaves(parts, None))), indent=2))
    if not options.quiet:
        done = [counted(fitted.n_samples_seen_, "row"), counted(len(fitted.landmark_indices_), "landmark")]
        note(f"{options.file}: mapped {', '.join(done)}; wrote {folder}")
    return 0


def _input(pattern: str) -> list[str]:
    """Return the files of a folder or a pattern, sorted by name."""
    files = sorted(glob.glob(f"{glob.escape(pattern)}/*.parquet" if Path(pattern).is_dir() else pattern))
    if not files:
        raise UserError(f"there are no Parquet files {pattern}")
    names = [Path(file).name for file in files]
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise UserError(f"several files are named {twice}: each is mapped to a file of its name")
    return files


def _output(folder: Path | None) -> Path:
    assert folder is not None
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file: -o names a folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(f"{folder} is not empty: name a new folder, so that all its files are of one map")
    if not folder.absolute().parent.is_dir():
        raise UserError(f"{folder}: there is no folder {str(folder.parent)!r}")
    return folder


@contextlib.contextmanager
def _client(address: str) -> Iterator[Any]:
    """Yield a client of the cluster at this address, or of a cluster on this machine."""
    import dask.config
    from distributed import Client, LocalCluster

    with contextlib.ExitStack() as stack:
        if address == "local":
            # A task is not to blame for a worker that dies during it, so the number of retries is nearly unlimited.
            stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": 100}))
            stack.callback(logging.disable, logging.root.manager.disable)
            logging.disable(logging.CRITICAL)
            address = stack.enter_context(
                LocalCluster(  # type: ignore[no-untyped-call]
                    n_workers=n_threads(-1), threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
                )
            )
        try:
            client = stack.enter_context(Client(address, timeout=CONNECT))  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise UserError(f"--scheduler {address}: no scheduler answers there ({error})") from error
        if not client.scheduler_info(n_workers=-1)["workers"]:
            note(f"{address} has no workers yet; waiting for them")
        yield client


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    """Turn errors of the cluster into messages of one line."""
    from distributed import KilledWorker

    from driftmap.dask import ClusterLostError, PartitionError

    try:
        yield
    except PartitionError as error:
        raise UserError(str(error)) from error  # in the words of the library:
    except ClusterLostError as error:
        raise UserError(str(error)) from error
    except KilledWorker as error:
        raise UserError(
            f"{error.allowed_failures + 1} workers died while they did the same work: they may have too little memory, "
            "or the cluster too low a limit (distributed.scheduler.allowed-failures)"
        ) from error


def _observe(client: Any, progress: Progress, total: int) -> None:
    """Show the number of rows that all workers have processed; a repeated partition counts once."""
    from driftmap.dask.tasks import TOPIC

    done: dict[str, dict[str, int]] = defaultdict(dict)

    def show(event: tuple[float, tuple[str, str, int]]) -> None:
        stage, name, rows = event[1]
        done[stage][name] = max(rows, done[stage].get(name, 0))
        n = sum(done[stage].values())
        progress.update(stage, n / max(total, 1), rows=n)

    client.subscribe_topic(TOPIC, show)


def _summary(
    options: ClusterOptions, folder: Path, fitted: Any, frozen: Any, parts: list[Any], n_leaves: int
) -> dict[str, Any]:
    return {
        "input": options.file,
        "files": len(parts),
        "leaves": n_leaves,
        "rows": fitted.n_samples_seen_,
        "columns": parts[0].source.columns,
        "components": options.mapping.components,
        "dimensions": fitted.n_dimensions_,
        "landmarks": len(fitted.landmark_indices_),
        "embedding": options.mapping.embedding,
        "metric": options.mapping.metric,
        "radius": fitted.radius_,
        "covering_radius": fitted.covering_radius_,
        "resolution": fitted.resolution_,
        "coverage_bound": fitted.coverage_bound_,
        "certified_radius": frozen.covering_radius_ if frozen.certified else None,
        "replacements": fitted.n_replacements_,
        "output": str(folder),
        "map": str(folder / MAP),
    }
