"""Inputs of all formats, cut, flipped and overwritten: all rows are mapped, or one line says what is wrong."""

import contextlib
import io
import os

import numpy as np

import formats
from driftmap.cli import main
from driftmap.tables.formats import JSON_LINES, NPY, TABLE_SUFFIXES
from streams import make
from torture.edits import damage


def file_of(rng, rows, labels):
    """A file of any format: its name, its bytes, and the format."""
    files = formats.files(rows, labels)
    name = rng.choice(sorted(files))
    kind, data = files[name]
    if kind is NPY and rng.random() < 0.5:
        return name, binary(lambda file: np.save(file, np.asfortranarray(rows))), kind
    return name, data(), kind


def binary(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


LINES = ("CSV", "TSV", "JSON lines")
"""Formats whose rows are lines."""


def run(case):
    rng = case.rng
    n = rng.randint(1, 90)
    rows = make("walk", n, 3, rng.getrandbits(32)).tolist()
    name, whole, kind = file_of(rng, rows, [f"r{i}" for i in range(n)])
    data = whole
    for _ in range(rng.choice([1, 1, 1, 3])):
        data = damage(data, rng)
    path = case.folder / name
    path.write_bytes(data)
    label = ["--label", formats.LABEL] if kind.holds_text else []
    is_text = kind.is_text
    more = [option for option in ("--skip-bad",) * is_text + ("--online", "--novelty") if case.chance(0.3)]
    if case.chance(0.3) and "--online" not in more:
        more += ["--normalize", rng.choice(["zscore", "minmax"])]
    output = case.folder / f"o{rng.choice(TABLE_SUFFIXES)}"
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
        if (
            kind.name in LINES and path.suffix in kind.suffixes and whole.startswith(data)
        ):  # a cut: every complete line is mapped, perhaps one more
            complete = data.count(b"\n") - (kind is not JSON_LINES)
            assert len(mapped) in (complete, complete + 1)


def embed(words):
    """The exit code of the command, and what it says."""
    err, out = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(err), contextlib.redirect_stdout(out):
        code = main(["embed", *map(str, words)])
    assert out.getvalue() == ""
    return code, err.getvalue()
