"""Measure ``driftmap embed`` on files: python -m benchmarks.files [--rows N] [--times T] [--embedding NAME]

A slowly drifting stream of 16 numbers per row is written as CSV, Parquet and JSON lines. For each format, ``driftmap
embed`` is compared with a process that only reads the file in pieces and writes two columns in the same format, with
the fastest common library: pyarrow for CSV and Parquet, orjson for JSON lines. Both take turns and write a new file;
the best of several runs counts. The table also has CPU time (all threads), which depends less on the load of the
machine, and peak memory, also for twice the rows, since it must not grow with the file. The same command from NPY to
NPY, without parsing and formatting, measures start-up, learning and mapping. A small file measures start-up, compared
with ``import numpy`` and the imports of the parser.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.stream import slow
from benchmarks.timing import TICK

FORMATS = ("csv", "parquet", "jsonl")
D, PIECE, GOAL = 16, 2**14, 1.5
NAMES = [f"c{i}" for i in range(D)]


# Bytecode is cached, as in an installed program.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Run(NamedTuple):
    """The resources that a process used."""

    seconds: float
    cpu: float
    megabytes: float


def write(folder: Path, name: str, X: np.ndarray) -> None:
    """Write the same rows in every format; runs in a separate process."""
    import orjson
    import pyarrow as pa
    import pyarrow.parquet as pq

    with (folder / f"{name}.csv").open("wb") as table, (folder / f"{name}.jsonl").open("wb") as objects:
        table.write(",".join(NAMES).encode() + b"\n")
        for a in range(0, len(X), PIECE):
            for row in X[a : a + PIECE].tolist():
                table.write(orjson.dumps(row)[1:-1] + b"\n")
                objects.write(orjson.dumps(dict(zip(NAMES, row, strict=True))) + b"\n")
    pq.write_table(pa.table(dict(zip(NAMES, X.T, strict=True))), folder / f"{name}.parquet", row_group_size=2**17)
    np.save(folder / f"{name}.npy", X)


def reference(source: str, target: str) -> None:
    """Read all numbers and write the first two columns; runs in a separate process."""
    pieces = {"csv": _csv_pieces, "parquet": _parquet_pieces, "jsonl": _json_pieces}[source.rpartition(".")[2]](source)
    if source.endswith(".jsonl"):
        import orjson

        with open(target, "wb") as file:
            for rows in pieces:
                lines = ({"x1": x, "x2": y} for x, y in rows[:, :2].tolist())
                file.write(b"".join([orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines]))
        return
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    schema = pa.schema([("x1", pa.float64()), ("x2", pa.float64())])
    kind = pyarrow.csv.CSVWriter if source.endswith(".csv") else pyarrow.parquet.ParquetWriter
    with kind(target, schema) as writer:
        for rows in pieces:
            columns = [
                pa.Array.from_buffers(pa.float64(), len(rows), [None, pa.py_buffer(c)]) for c in rows[:, :2].T.copy()
            ]
            writer.write_table(pa.table(columns, schema=schema))


def _csv_pieces(source: str):
    import pyarrow.csv

    for batch in pyarrow.csv.open_csv(source, pyarrow.csv.ReadOptions(block_size=2**22)):
        yield _matrix(batch)


def _parquet_pieces(source: str):
    import pyarrow.parquet

    for batch in pyarrow.parquet.ParquetFile(source).iter_batches(2**16):
        yield _matrix(batch)


def _matrix(batch):
    """Convert a batch by DLPack: pyarrow's conversion to NumPy imports pandas if it is installed."""
    return np.column_stack([np.from_dlpack(column) for column in batch.columns])


def _json_pieces(source: str):
    import orjson

    with open(source, "rb") as file:
        while lines := list(itertools.islice(file, 1024)):  # the fastest of several sizes
            yield np.array([list(orjson.loads(line).values()) for line in lines])


def run(*command: str, **environment: str) -> Run:
    """Run a process to its end; return its resources."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, *command], env=ENVIRONMENT | environment)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return Run(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def best(runs: list[Run]) -> Run:
    """Return the least times and the largest memory."""
    return Run(min(r.seconds for r in runs), min(r.cpu for r in runs), max(r.megabytes for r in runs))


def files(folder: Path, rows: int, times: int, embedding: str) -> None:
    """Print the table of all formats."""
    # A process inherits the peak memory of its parent, so another process generates the rows.
    run("-m", "benchmarks.files", "--write", str(folder), "--rows", str(rows))
    options = ["--embedding", embedding]
    npy = ["-m", "driftmap", "embed", str(folder / "all.npy"), "-o", str(folder / "out.npy"), *options]
    floor = best([run(*npy) for _ in range(times)])
    print(f"start, learning and mapping alone (NPY): {floor.seconds:.2f} s, CPU {floor.cpu:.2f} s\n")
    print(
        "| format | MB | read and write (s) | CPU (s) | driftmap embed (s) | CPU (s) | ratio | of CPU | memory (MB) | "
        "for twice the rows |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for kind in FORMATS:
        source, twice, out = (str(folder / f"{name}.{kind}") for name in ("all", "twice", "out"))
        alone, ours = [], []
        for _ in range(times):
            for runs, command in (
                (alone, ["benchmarks.files", "--reference", source, out]),
                (ours, ["driftmap", "embed", source, "-o", out, *options]),
            ):
                Path(out).unlink(missing_ok=True)
                runs.append(run("-m", *command))
        more = run("-m", "driftmap", "embed", twice, "-o", out, *options)
        a, b = best(alone), best(ours)
        mark = TICK[b.seconds / a.seconds <= GOAL]
        print(
            f"| {kind} | {os.path.getsize(source) / 1e6:.0f} | {a.seconds:.2f} | {a.cpu:.2f} | {b.seconds:.2f} | "
            f"{b.cpu:.2f} | {b.seconds / a.seconds:.2f} {mark} | {b.cpu / a.cpu:.2f} | {b.megabytes:.0f} | "
            f"{more.megabytes:.0f} |",
            flush=True,
        )


def start_up(folder: Path, times: int) -> None:
    """Print the start-up times on a small file."""
    source, out = folder / "small.csv", str(folder / "small-out.csv")
    np.savetxt(source, slow(1000, 5), delimiter=",", header="a,b,c,d,e", comments="")
    embed = ["-m", "driftmap", "embed", str(source), "-o", out]
    commands = {
        "import numpy": ["-c", "import numpy"],
        "import numpy, pyarrow.csv": ["-c", "import numpy, pyarrow.csv"],
        "driftmap embed": embed,
    }
    run(*embed)  # writes the bytecode
    runs = {
        name: best([run(*command, OPENBLAS_NUM_THREADS="1") for _ in range(times)])
        for name, command in commands.items()
    }
    base = runs["import numpy"]
    print("\n| 1,000 rows | seconds | CPU (s) | times import numpy | of CPU |\n|---|---|---|---|---|")
    for name, took in runs.items():
        ratios = f"{took.seconds / base.seconds:.2f} | {took.cpu / base.cpu:.2f}"
        print(f"| {name} | {took.seconds:.3f} | {took.cpu:.3f} | {ratios} |")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--embedding", default="stress")
    parser.add_argument("--reference", nargs=2, metavar=("IN", "OUT"), help="only read and write, in this process")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="only write the files")
    args = parser.parse_args()
    if args.write:
        X = slow(2 * args.rows, D)
        write(args.write, "all", X[: args.rows])
        write(args.write, "twice", X)
        return
    if args.reference:
        reference(*args.reference)
        return
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors, ", end="")
    print(f"Python {platform.python_version()}, {args.rows:,} rows of {D}, {args.embedding}, best of {args.times}\n")
    with tempfile.TemporaryDirectory() as folder:
        files(Path(folder), args.rows, args.times, args.embedding)
        start_up(Path(folder), args.times)


if __name__ == "__main__":
    main()
