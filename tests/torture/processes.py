"""Commands as processes that are killed, and the inputs and options they are given."""

import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq

import formats
from driftmap.embedding import EMBEDDINGS
from driftmap.tables.formats import OUTPUTS
from streams import make

PATIENCE = 120
"""Seconds after which a process hangs."""
COMMAND = [sys.executable, "-X", "faulthandler", "-m", "driftmap"]
NAMES = formats.NAMES
KINDS = [suffix.removeprefix(".") for suffix in OUTPUTS]
"""Formats that are read and written."""


def write_input(case, rows, kind):
    """A file of a format, as a command names it, with its label."""
    X = make(case.rng.choice(["walk", "clusters", "regimes", "spiral"]), rows, 3, case.rng.getrandbits(32))
    path = case.folder / f"t.{kind}"
    labels = [f"r{i}" for i in range(rows)]
    if kind == "parquet":
        pq.write_table(pa.table({"name": labels, **dict(zip(NAMES, X.T, strict=True))}), path, row_group_size=rows // 3)
    else:
        path.write_bytes(formats.ours(OUTPUTS[path.suffix], X, labels))
    return [path.name, *(["--label", formats.LABEL] if OUTPUTS[path.suffix].holds_text else [])]


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
