"""Commands as processes that are killed, and the inputs and options they are given."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from driftmap.embedding import EMBEDDINGS
from streams import make

PATIENCE = 120
"""Seconds after which a process hangs."""
COMMAND = [sys.executable, "-X", "faulthandler", "-m", "driftmap"]
NAMES = ["a", "b", "c"]


def write_input(case, rows, kind):
    """A file of a format, as a command names it, with its label."""
    X = make(case.rng.choice(["walk", "clusters", "regimes", "spiral"]), rows, 3, case.rng.getrandbits(32))
    path = case.folder / f"t.{kind}"
    labels = [f"r{i}" for i in range(rows)]
    if kind == "csv":
        lines = [",".join([name, *map(repr, row)]) for name, row in zip(labels, X.tolist(), strict=True)]
        path.write_text("\n".join(["name,a,b,c", *lines]) + "\n")
    elif kind == "jsonl":
        records = [{"name": name, "a": a, "b": b, "c": c} for name, (a, b, c) in zip(labels, X.tolist(), strict=True)]
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif kind == "npy":
        np.save(path, X)
        return [path.name]
    else:
        pq.write_table(pa.table({"name": labels, **dict(zip(NAMES, X.T, strict=True))}), path, row_group_size=rows // 3)
    return [path.name, "--label", "name"]


def options(case, *, online):
    """Options of the map, of all kinds."""
    rng, words = case.rng, ["--landmarks", str(case.rng.randint(4, 30))]
    words += rng.choice([[], ["--window", "300"], ["--half-life", "100"], ["--slack", "0.1"]])
    words += rng.choice([[], ["--memory", "500"], ["--metric", "cityblock"], ["--metric", "cosine"]])
    words += ["--embedding", rng.choice(EMBEDDINGS)]
    if online:
        return [*words, "--online", *(["--novelty"] if case.chance(0.3) else [])]
    return words + rng.choice([[], ["--normalize", "zscore"], ["--normalize", "minmax"]])


def start(folder, *words):
    return subprocess.Popen([*COMMAND, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    """Exit code and messages of a command that ends; one that hangs says where."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # faulthandler prints the stacks of all threads
        _, err = process.communicate()
        raise AssertionError(f"the command hangs: {err.decode()}") from None
    assert out == b"", out[:300]
    return process.returncode, err.decode()


def without_warnings(err):
    """The messages that are neither warnings nor hints, which embeddings and rows give rise to."""
    lines = err.splitlines(keepends=True)
    hints = ("and is a feature: ", "and are features: ")
    return "".join(
        line for line in lines if not (line.startswith("driftmap: warning: ") or any(h in line for h in hints))
    )


def succeed(folder, *words):
    """Run the command, and return its seconds."""
    begin = time.monotonic()
    code, err = finish(start(folder, *words))
    assert code == 0, err
    return time.monotonic() - begin


def strike(process, delay, signum=signal.SIGKILL):
    """Send a signal after some seconds, unless the process has ended before; says whether it was sent."""
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.send_signal(signum)
        return True
    return False
