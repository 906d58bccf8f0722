"""Collections as partitions: blocks of rows that are computed in the tasks that need them; and leaves made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from dask.base import compute, is_dask_collection
from dask.delayed import Delayed, delayed
from dask.local import get_sync

from driftmap.tables.readers import PARQUET, open_table
from driftmap.tables.table import Labels, Wanted, chunk_rows
from driftmap.utils.errors import InputError

LEAF_ROWS = 10**6
"""Rows of a leaf, at least: every fresh state has to fill its memory first, which takes time."""
MOST_LEAVES = 4096
"""Of more rows the leaves are longer, so that what they send stays some gigabytes."""
ACCEPTED = "a dask array or dataframe, a list of delayed blocks, or Parquet files: a folder, a file or a list of files"


class Recipe:
    """A block that is computed within the task that needs it: it neither waits in memory nor travels."""

    def __init__(self, graph: Mapping[Any, Any], key: Any) -> None:
        self.graph, self.key = graph, key

    def pieces(self) -> Iterator[tuple[Any, Labels]]:
        """The block."""
        yield get_sync(self.graph, self.key), None


class ParquetFile:
    """A file that is read piece by piece within the task that needs it, however large it is."""

    def __init__(self, path: str, columns: list[str], label: str | None = None) -> None:
        self.path, self.columns, self.label = path, columns, label

    def pieces(self) -> Iterator[tuple[Any, Labels]]:
        """Its rows, some at a time, and their labels."""
        with open_table(self.path, Wanted(self.columns, self.label), once=True) as table:
            for chunk in table.chunks(chunk_rows(len(table.columns))):
                yield chunk.features, chunk.labels


class Partition(NamedTuple):
    """Some rows, to be read where they are needed."""

    source: Delayed | Recipe | ParquetFile
    rows: int | None
    """How many there are; None: not known yet."""
    name: str
    """What messages call it: its number, or the file it is."""


def pieces(source: Any) -> Iterator[tuple[int, Any, Labels]]:
    """Within a task, the rows of a partition, some at a time: the number of rows before, the rows, their labels."""
    first = 0
    for block, labels in source.pieces() if isinstance(source, Recipe | ParquetFile) else [(source, None)]:
        if len(block):
            yield first, block, labels
        first += len(block)


def count(source: Any) -> int:
    """Within a task, the number of rows of a partition."""
    return sum(len(block) for _, block, _ in pieces(source))


def partitions(X: Any) -> list[Partition]:
    """The partitions of a collection, in order."""
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
    """Whether X is an array of dask."""
    return is_dask_collection(X) and hasattr(X, "chunks") and hasattr(X, "to_delayed")


def is_dataframe(X: Any) -> bool:
    """Whether X is a dataframe of dask."""
    return is_dask_collection(X) and hasattr(X, "divisions")


def rows_only(X: Any) -> Any:
    """An array in blocks of whole rows."""
    if X.ndim != 2:
        raise InputError(f"must have two dimensions, got {X.ndim}", parameter="X")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _numbered(blocks: Iterable[Delayed], sizes: Sequence[int | None] = ()) -> list[Partition]:
    sources = _recipes(list(blocks))
    lengths = sizes or [None] * len(sources)
    return [Partition(*part, f"partition {i}") for i, part in enumerate(zip(sources, lengths, strict=True))]


def _recipes(blocks: list[Delayed]) -> list[Delayed | Recipe]:
    """Recipes of the blocks, as far as nothing that they are made of is shared with others or computed already."""
    graphs = {id(block.dask): block.dask for block in blocks}
    nodes = {key: node for graph in graphs.values() for key, node in graph.items()}
    parts = [_ancestors(block.key, nodes) for block in blocks]
    users = Counter(key for part in parts if part is not None for key in part)
    return [
        block if part is None or any(users[key] > 1 for key in part) else Recipe(part, block.key)
        for block, part in zip(blocks, parts, strict=True)
    ]


def _ancestors(key: Any, nodes: Mapping[Any, Any]) -> dict[Any, Any] | None:
    """The tasks that a key needs; None: some of them live on a cluster, where they are computed already."""
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
        raise InputError("has no files *.parquet", source=str(folder))
    return files


def parquet_files(files: Sequence[str | Path], wanted: Wanted | None = None) -> list[Partition]:
    """Parquet files, which all workers can read, as partitions; their columns are those of the first."""
    from pyarrow import parquet

    wanted = wanted or Wanted()
    found = []
    for file in map(str, files):
        if Path(file).suffix.lower() not in PARQUET:
            raise InputError("is not a Parquet file", source=file)
        with open_table(file, wanted, once=True) as table:
            wanted = wanted._replace(columns=list(table.columns), exclude=())
        source = ParquetFile(str(Path(file).absolute()), list(table.columns), wanted.label)
        found.append(Partition(source, parquet.read_metadata(file).num_rows, file))
    return found


def leaves(parts: list[Partition], per_leaf: int | None) -> list[list[Partition]]:
    """Consecutive partitions, so many at a time, or until they have enough rows."""
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
