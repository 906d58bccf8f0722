"""Inputs of all formats, cut, flipped and overwritten: all rows are mapped, or one line says what is wrong."""

import contextlib
import gzip
import io
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from driftmap.cli import main
from streams import make
from torture.edits import damage

NAMES = ["a", "b", "c"]


def csv(rows, labels, mark=","):
    cells = [["name", *NAMES], *([name, *map(repr, row)] for name, row in zip(labels, rows, strict=True))]
    return "".join(mark.join(line) + "\n" for line in cells).encode()


def json_lines(rows, labels):
    records = ({"name": name, **dict(zip(NAMES, row, strict=True))} for name, row in zip(labels, rows, strict=True))
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def table(rows, labels):
    return pa.table({"name": labels, **dict(zip(NAMES, np.array(rows).T, strict=True))})


def binary(write, *args, **options):
    file = io.BytesIO()
    write(*args, file, **options)
    return file.getvalue()


FORMATS = {
    "t.csv": csv,
    "t.tsv": lambda rows, labels: csv(rows, labels, "\t"),
    "t.jsonl": json_lines,
    "t.csv.gz": lambda rows, labels: gzip.compress(csv(rows, labels), mtime=0),
    "t.csv.zst": lambda rows, labels: pa.compress(csv(rows, labels), "zstd", asbytes=True),
    "t.parquet": lambda rows, labels: binary(pq.write_table, table(rows, labels), row_group_size=30),
    "t.feather": lambda rows, labels: binary(pyarrow.feather.write_feather, table(rows, labels)),
    "t.npy": lambda rows, labels: binary(lambda file: np.save(file, np.array(rows))),
    "f.npy": lambda rows, labels: binary(lambda file: np.save(file, np.asfortranarray(rows))),
}
TEXT = ("t.csv", "t.tsv", "t.jsonl")


def run(case):
    rng = case.rng
    name, n = rng.choice(sorted(FORMATS)), rng.randint(1, 90)
    rows = make("walk", n, 3, rng.getrandbits(32)).tolist()
    whole = FORMATS[name](rows, [f"r{i}" for i in range(n)])
    data = whole
    for _ in range(rng.choice([1, 1, 1, 3])):
        data = damage(data, rng)
    path = case.folder / name
    path.write_bytes(data)
    label = [] if name.endswith("npy") else ["--label", "name"]
    is_text = not name.endswith(("npy", "parquet", "feather"))
    more = [option for option in ("--skip-bad",) * is_text + ("--online", "--novelty") if case.chance(0.3)]
    if case.chance(0.3) and "--online" not in more:
        more += ["--normalize", rng.choice(["zscore", "minmax"])]
    output = case.folder / f"o.{rng.choice(['csv', 'jsonl', 'npy', 'parquet'])}"
    code, err = embed([path, *label, *more, "-o", output, "--landmarks", "6"])
    case.count(edits=1, arrivals=n, refused=code == 2)
    errors = [line for line in err.splitlines() if line.startswith("driftmap: error: ")]
    assert code in (0, 2)
    assert all(line.startswith("driftmap: ") and line.isprintable() for line in err.splitlines()), err
    assert len(errors) == (code == 2), err
    assert sorted(os.listdir(case.folder)) == sorted([name, *([output.name] if code == 0 else [])])
    if data == whole:
        assert code == 0, err
    if code == 0 and output.suffix == ".npy":
        mapped = np.load(output)
        if "--novelty" in more:  # before there is a radius, any distance is infinitely far out
            mapped[np.isposinf(mapped)] = 0.0
        assert np.isfinite(mapped).all()
        if name in TEXT and whole.startswith(data):  # a cut: every complete line is mapped, perhaps one more
            complete = data.count(b"\n") - (name != "t.jsonl")
            assert len(mapped) in (complete, complete + 1)


def embed(words):
    """The exit code of the command, and what it says."""
    err, out = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(out):
        code = main(["embed", *map(str, words)])
    assert out.getvalue() == ""
    return code, err.getvalue()
