"""Splits collections into partitions, which are computed in the tasks that need them, and groups them into leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from dask.base import compute, is_dask_collection
from dask.delayed import Delayed, delayed
from dask.local import get_sync

from driftmap.tables.columns import Wanted
from driftmap.tables.formats import PARQUET
from driftmap.tables.readers import open_table
from driftmap.tables.table import Labels, chunk_rows
from driftmap.utils.errors import InputError

LEAF_ROWS = 10**6
"""Least number of rows of a leaf: each new state must fill its memory first, which takes time."""
MOST_LEAVES = 4096
"""Approximate maximum number of leaves, which limits the total size of their core-sets to a few gigabytes."""
ACCEPTED = "a dask array or dataframe, a list of delayed blocks, or Parquet files: a folder, a file or a list of files"


class Recipe:
    """A block computed within the task that needs it, so that it is neither held in memory nor transferred."""

    def __init__(self, graph: Mapping[Any, Any], key: Any) -> None:
        self.graph, self.key = graph, key

    def pieces(self) -> Iterator[tuple[Any, Labels]]:
        """Yield the block."""
        yield get_sync(self.graph, self.key), None


class ParquetFile:
    """A file read in pieces within the task that needs it, so that it may be larger than memory."""

    def __init__(self, path: str, columns: list[str], label: str | None = None) -> None:
        self.path, self.columns, self.label = path, columns, label

    def pieces(self) -> Iterator[tuple[Any, Labels]]:
        """Yield chunks of rows and their labels."""
        with open_table(self.path, Wanted(self.columns, self.label), once=True) as table:
            for chunk in table.chunks(chunk_rows(len(table.columns))):
                yield chunk.features, chunk.labels


class Partition(NamedTuple):
    """A block of rows, read in the task that needs it."""

    source: Delayed | Recipe | ParquetFile
    rows: int | None
    """Number of rows; None: not yet known."""
    name: str
    """Its name in messages: its number, or the path of the file."""


def pieces(source: Any) -> Iterator[tuple[int, Any, Labels]]:
    """Within a task, yield a partition in pieces: the number of rows before, the rows, and their labels."""
    first = 0
    for block, labels in source.pieces() if isinstance(source, Recipe | ParquetFile) else [(source, None)]:
        if len(block):
            yield first, block, labels
        first += len(block)


def count(source: Any) -> int:
    """Within a task, return the number of rows of a partition."""
    return sum(len(block) for _, block, _ in pieces(source))


def partitions(X: Any) -> list[Partition]:
    """Return the partitions of a collection, in order."""
    if isinstance(X, str | Path):
        return parquet_files(_files_in(Path(X)))
    if is_array(X):
        sizes = [None if np.isnan(size) else int(size) for size in X.chunks[0]]
        return _numbered(rows_only(X).to_delayed()[:, 0], sizes)
    if is_dataframe(X):
        return _numbered(X.to_delayed())
    if isinstance(X, Sequence) and all(isinstance(part, Partition) for part in X):
        return list(X)
    if isinstance(X, Sequence) and all(isinstance(part, Delayed) for part in X):
        return _numbered(X)
    if isinstance(X, Sequence) and all(isinstance(part, str | Path) for part in X):
        return parquet_files(X)
    hint = "; give its .data" if type(X).__module__.startswith("xarray") else ""
    raise InputError(f"must be {ACCEPTED}; got {type(X).__name__}{hint}", parameter="X")


def is_array(X: Any) -> bool:
    """Return True if X is a dask array."""
    return is_dask_collection(X) and hasattr(X, "chunks") and hasattr(X, "to_delayed")


def is_dataframe(X: Any) -> bool:
    """Return True if X is a dask dataframe."""
    return is_dask_collection(X) and hasattr(X, "divisions")


def rows_only(X: Any) -> Any:
    """Return an array rechunked so that its blocks are whole rows."""
    if X.ndim != 2:
        raise InputError(f"must have two dimensions, got {X.ndim}", parameter="X")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _numbered(blocks: Iterable[Delayed], sizes: Sequence[int | None] = ()) -> list[Partition]:
    sources = _recipes(list(blocks))
    lengths = sizes or [None] * len(sources)
    return [Partition(*part, f"partition {i}") for i, part in enumerate(zip(sources, lengths, strict=True))]


def _recipes(blocks: list[Delayed]) -> list[Delayed | Recipe]:
    """Turn blocks into recipes, except those with an ancestor that others share or that is already computed."""
    graphs = {id(block.dask): block.dask for block in blocks}
    nodes = {key: node for graph in graphs.values() for key, node in graph.items()}
    parts = [_ancestors(block.key, nodes) for block in blocks]
    users = Counter(key for part in parts if part is not None for key in part)
    return [
        block if part is None or any(users[key] > 1 for key in part) else Recipe(part, block.key)
        for block, part in zip(blocks, parts, strict=True)
    ]


def _ancestors(key: Any, nodes: Mapping[Any, Any]) -> dict[Any, Any] | None:
    """Return the tasks that a key needs; None if some of them are already computed on a cluster."""
    found: dict[Any, Any] = {}
    waiting = [key]
    while waiting:
        key = waiting.pop()
        needed = getattr(nodes.get(key), "dependencies", None)
        if needed is None:
            return None
        found[key] = nodes[key]
        waiting.extend(other for other in needed if other not in found)
    return found


def _files_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return [folder]
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise InputError("contains no *.parquet files", source=str(folder))
    return files


def parquet_files(files: Sequence[str | Path], wanted: Wanted | None = None) -> list[Partition]:
    """Return Parquet files, which all workers can read, as partitions with the columns of the first file."""
    from pyarrow import parquet

    wanted = wanted or Wanted()
    found = []
    for file in map(str, files):
        if Path(file).suffix.lower() not in PARQUET.suffixes:
            raise InputError("is not a Parquet file", source=file)
        with open_table(file, wanted, once=True) as table:
            wanted = wanted._replace(columns=list(table.columns), exclude=())
        source = ParquetFile(str(Path(file).absolute()), list(table.columns), wanted.label)
        found.append(Partition(source, parquet.read_metadata(file).num_rows, file))
    return found


def leaves(parts: list[Partition], per_leaf: int | None) -> list[list[Partition]]:
    """Group consecutive partitions: ``per_leaf`` at a time, or until they have enough rows."""
    if not parts:
        raise InputError("has no partitions", parameter="X")
    if per_leaf is not None:
        return [parts[i : i + per_leaf] for i in range(0, len(parts), per_leaf)]
    if any(part.rows is None for part in parts):
        counts = compute(*(delayed(count)(part.source) for part in parts))  # type: ignore[no-untyped-call]
        parts = [part._replace(rows=n) for part, n in zip(parts, counts, strict=True)]
    enough = max(LEAF_ROWS, sum(part.rows or 0 for part in parts) // MOST_LEAVES)
    found: list[list[Partition]] = [[]]
    rows = 0
    for part in parts:
        if rows >= enough:
            found.append([])
            rows = 0
        found[-1].append(part)
        rows += part.rows or 0
    return found
