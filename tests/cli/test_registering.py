"""``embed --register-to``: a map that is published daily stays where it was."""

import re

import numpy as np
import pytest

from driftmap import DriftMap, quality
from driftmap.cli import main
from driftmap.map import StreamMap

NAMES = ["a", "b", "c"]
BASE = ["--landmarks", "30"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The rows of two days, the second with a few of the first."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    first = np.square(rng.random((200, 3))) * [3.0, 2.9, 0.5]
    second = np.vstack([np.square(rng.random((180, 3))) * [3.0, 2.9, 0.5], first[:20]])
    for name, rows in (("monday", first), ("tuesday", second)):
        np.savetxt(f"{name}.csv", rows, "%.17g", delimiter=",", header=",".join(NAMES), comments="")
    np.savetxt("narrow.csv", first[:, :2], "%.17g", delimiter=",", header="a,b", comments="")
    return tmp_path


def run(*argv, code=0):
    assert main([*argv, *BASE]) == code


def rows_of(name):
    return np.loadtxt(name, delimiter=",", skiprows=1)


def table(name):
    return np.loadtxt(f"{name}.csv", delimiter=",", skiprows=1)


@pytest.mark.parametrize("how", [[], ["--normalize", "minmax"], ["--embedding", "tsne"]])
def test_rows_lie_where_the_older_map_has_them(folder, capfd, how):
    run("embed", "monday.csv", "-o", "m.csv", "--checkpoint", "monday.ckpt", *how)
    run("embed", "tuesday.csv", "-o", "alone.csv", *how)
    capfd.readouterr()
    run("embed", "tuesday.csv", "-o", "t.csv", "--checkpoint", "tuesday.ckpt", "--register-to", "monday.ckpt", *how)
    before = rows_of("m.csv")[:20]
    moved, alone = (quality.displacement(before, rows_of(name)[-20:]).median for name in ("t.csv", "alone.csv"))
    assert moved < 0.2
    assert alone > 3 * moved
    said = capfd.readouterr().err.splitlines()[0]
    assert re.fullmatch(r"driftmap: laid on monday.ckpt: rows lie \S+ of its diameter from their places.*at most", said)
    assert main(["info", "tuesday.ckpt"]) == 0
    assert "after arrival 199, laid on another map; moved" in capfd.readouterr().out
    # and on the third day
    run("embed", "monday.csv", "-o", "w.csv", "--register-to", "tuesday.ckpt", *how)
    assert quality.displacement(rows_of("m.csv"), rows_of("w.csv")).median < 0.2


def test_it_is_what_the_library_does(folder):
    run("embed", "monday.csv", "-o", "m.csv", "--checkpoint", "monday.ckpt")
    run("embed", "tuesday.csv", "-o", "t.csv", "--register-to", "monday.ckpt")
    mapper = StreamMap(n_landmarks=30).partial_fit(table("tuesday"))
    mapper.register(StreamMap(n_landmarks=30).partial_fit(table("monday")))
    assert np.array_equal(rows_of("t.csv"), mapper.transform(table("tuesday")))


def test_a_saved_map_and_a_frozen_one_will_do(folder):
    mapper = DriftMap(n_landmarks=30).fit(table("monday"))
    mapper.save("saved")
    mapper.freeze().save("frozen")
    before = mapper.transform(table("monday")[:20])
    for name in ("saved", "frozen"):
        run("embed", "tuesday.csv", "-o", "t.csv", "--register-to", name)
        assert quality.displacement(before, rows_of("t.csv")[-20:]).median < 0.02


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["tuesday.csv", "--register-to", "missing"], "missing cannot be read: No such file or directory"),
        (["tuesday.csv", "--register-to", "monday.csv"], "monday.csv is not a Driftmap checkpoint"),
        (["narrow.csv", "--register-to", "m.ckpt"], "m.ckpt has the columns ['a', 'b', 'c'], not ['a', 'b']"),
        (["narrow.csv", "--register-to", "saved"], "saved has 3 features, but the rows have 2"),
        (["tuesday.csv", "--register-to", "m.ckpt", "--components", "3"], "has --components 2, and this map 3"),
        (["tuesday.csv", "--register-to", "m.ckpt", "--metric", "cityblock"], "has --metric euclidean, and this map"),
        (["tuesday.csv", "--register-to", "m.ckpt", "--embedding", "tsne"], "has --embedding stress, and this map"),
        (["tuesday.csv", "--register-to", "m.ckpt", "--normalize", "minmax"], "has --normalize none, and this map"),
        (["tuesday.csv", "--register-to", "m.ckpt", "--online"], "leave out --online"),
        (["tuesday.csv", "--register-to", "m.ckpt", "--checkpoint", "m.ckpt"], "is the same file as --register-to"),
        (
            ["tuesday.csv", "--register-to", "far"],
            "--register-to and this map have 0 points in common, and 3 are needed",
        ),
    ],
)
def test_mistakes_take_one_line(folder, capfd, argv, message):
    run("embed", "monday.csv", "-o", "m.csv", "--checkpoint", "m.ckpt")
    DriftMap(n_landmarks=30).fit(table("monday")).save("saved")
    DriftMap(n_landmarks=30).fit(table("monday") + 1000).save("far")
    capfd.readouterr()
    run("embed", *argv, "-o", "t.csv", code=2)
    error = capfd.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (folder / "t.csv").exists()
