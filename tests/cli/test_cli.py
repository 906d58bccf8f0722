"""The command line: results equal the library to the digit, files are whole, and mistakes take one line."""

import contextlib
import csv
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from driftmap import DriftMap, __version__
from driftmap.cli import COMMANDS, exit_code, main
from driftmap.cli.progress import Progress
from driftmap.cli.signals import Stopped
from driftmap.datasets import s_curve_stream
from driftmap.embedding import LandmarkStress
from driftmap.landmarks import RandomLandmarks
from driftmap.map import StreamMap
from driftmap.networks import laplacian_spectra
from driftmap.pipeline.observer import Update, pieces
from driftmap.pipeline.passes import Learning
from driftmap.plot import animation
from driftmap.quality import landmark_stress, stress
from driftmap.tables import table as tables

X = np.cumsum(np.random.default_rng(3).standard_normal((150, 4)), axis=0)
NAMES = ["a", "b", "c", "d"]
DATES = [str(np.datetime64("2020-01-01") + np.timedelta64(i, "D")) for i in range(len(X))]
M = "12"  # landmarks in most runs: few, so that they change often


def csv_text(rows, header=NAMES, sep=","):
    return "".join(sep.join(map(str, row)) + "\n" for row in [*([header] if header else []), *rows])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the same table in every format, as the current one."""
    monkeypatch.chdir(tmp_path)
    rows = X.tolist()
    tmp_path.joinpath("t.csv").write_text(csv_text(rows))
    tmp_path.joinpath("bare.csv").write_text(csv_text(rows, None))
    tmp_path.joinpath("windows.csv").write_bytes(b"\xef\xbb\xbf" + csv_text(rows).replace("\n", "\r\n").encode())
    tmp_path.joinpath("semicolons.csv").write_text(csv_text(rows, sep=";"))
    tmp_path.joinpath("t.tsv").write_text(csv_text(rows, sep="\t"))
    tmp_path.joinpath("dated.csv").write_text(
        csv_text([[d, *r] for d, r in zip(DATES, rows, strict=True)], ["date", *NAMES])
    )
    for name in ("t.csv", "t.tsv"):
        tmp_path.joinpath(f"{name}.gz").write_bytes(gzip.compress(tmp_path.joinpath(name).read_bytes()))
    tmp_path.joinpath("t.jsonl").write_text("".join(json.dumps(dict(zip(NAMES, r, strict=True))) + "\n" for r in rows))
    tmp_path.joinpath("arrays.ndjson").write_text("".join(json.dumps(r) + "\n" for r in rows))
    np.save("t.npy", X)
    pq.write_table(
        pa.table({**dict(zip(NAMES, X.T, strict=True)), "__index_level_0__": DATES}), "t.parquet", row_group_size=40
    )
    return tmp_path


def run(*argv, code=0):
    assert main([str(a) for a in argv]) == code


def standard_input(monkeypatch, data: bytes):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))


def parse(text):
    header, *rows = csv.reader(io.StringIO(text))
    return header, rows


def fitted(data=X, **options):
    return DriftMap(n_landmarks=int(M), **options).fit(data)


def mapped(data=X, **options):
    return fitted(data, **options).transform(data)


def assert_coordinates(text, expected, leading=()):
    header, rows = parse(text)
    assert header == [*leading, *(f"x{i + 1}" for i in range(expected.shape[1]))]
    np.testing.assert_array_equal(np.array([row[len(leading) :] for row in rows], dtype=float), expected)


# --- the same numbers as in Python ---

ALL_FILES = ["t.csv", "bare.csv", "windows.csv", "semicolons.csv", "t.tsv", "t.csv.gz", "t.tsv.gz", "t.jsonl"]
ALL_FILES += ["arrays.ndjson", "t.npy", "t.parquet"]


@pytest.mark.parametrize("file", ALL_FILES)
@pytest.mark.parametrize("rows", [7, 4096])
def test_every_format_in_chunks_of_any_size_gives_the_librarys_digits(folder, capfd, monkeypatch, file, rows):
    monkeypatch.setattr(tables, "CHUNK_ROWS", rows)
    run("embed", file, "--landmarks", M, "--quiet")
    out, err = capfd.readouterr()
    assert_coordinates(out, mapped())
    assert err == ""
    assert "\r" not in out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--columns", "d,b"], lambda: mapped(X[:, [3, 1]])),
        (["--components", "3"], lambda: mapped(n_components=3)),
        (["--components", "1"], lambda: mapped(n_components=1)),
        (["--rule", "paper"], lambda: mapped(rule="paper")),
        (["--slack", "0.5"], lambda: mapped(slack=0.5)),
        (["--anchors", "none"], lambda: mapped(n_anchors=None)),
        (["--anchors", "20"], lambda: mapped(n_anchors=20)),
        (["--anchors", "auto"], mapped),
        (["--steadiness", "0.1"], lambda: mapped(embedding=LandmarkStress(2, steadiness=0.1))),
        (["--embedding", "weighted-lmds"], lambda: mapped(embedding="weighted-lmds")),
        (["--metric", "cityblock"], lambda: mapped(metric="cityblock")),
        (["--normalize", "minmax"], lambda: mapped((X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0)))),
        (["--normalize", "none"], mapped),
        (["--header", "yes"], mapped),
    ],
)
def test_options_do_what_they_do_in_python(folder, capfd, options, expected):
    run("embed", "t.csv", "--landmarks", M, *options)
    assert_coordinates(capfd.readouterr().out, expected())


@pytest.mark.parametrize("rows", [1, 7, 4096])
def test_zscore_does_not_depend_on_the_chunks(folder, capfd, monkeypatch, rows):
    np.save("far.npy", X + 1e6)
    run("embed", "far.npy", "--landmarks", M, "--normalize", "zscore")
    whole = capfd.readouterr().out
    monkeypatch.setattr(tables, "CHUNK_ROWS", rows)
    run("embed", "far.npy", "--landmarks", M, "--normalize", "zscore")
    assert capfd.readouterr().out == whole
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = np.abs(mapped(scaled))  # rounding may turn an axis
    np.testing.assert_allclose(np.abs(np.array(parse(whole)[1], dtype=float)), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", ["minmax", "zscore"])
def test_a_constant_column_is_only_shifted(folder, capfd, kind):
    np.save("constant.npy", np.column_stack([X[:, 0], np.full(len(X), 7.0)]))
    run("embed", "constant.npy", "--normalize", kind, "--components", 1)
    assert np.isfinite(np.array(parse(capfd.readouterr().out)[1], dtype=float)).all()


def test_a_label_is_no_feature_and_is_copied(folder, capfd):
    run("embed", "dated.csv", "--label", "date", "--landmarks", M)
    out = capfd.readouterr().out
    assert_coordinates(out, mapped(), leading=["date"])
    assert [row[0] for row in parse(out)[1]] == DATES


def test_a_label_that_columns_lists_is_a_feature_too(folder, capfd):
    run("embed", "t.parquet", "--label", "a", "--columns", "a,b", "--landmarks", M)
    assert_coordinates(capfd.readouterr().out, mapped(X[:, :2]), leading=["a"])


MESSY = [(i, DATES[i], *X[i, :2].tolist()) for i in range(len(X))]
MESSY_FILES = {
    "messy.csv": ",day,a,city,b,nothing\n" + "".join(f"{i},{d},{a},x y,{b},\n" for i, d, a, b in MESSY),
    "messy.jsonl": "".join(
        json.dumps({"day": d, "a": a, "city": "x y", "b": b, "nothing": None}) + "\n" for _, d, a, b in MESSY
    ),
}


@pytest.mark.parametrize("name", [*MESSY_FILES, "messy.parquet"])
def test_columns_that_are_no_numbers_are_left_out_and_named(folder, capfd, name):
    if name in MESSY_FILES:
        folder.joinpath(name).write_text(MESSY_FILES[name])
    else:
        days, cities = np.array(DATES, "datetime64[D]"), ["x y"] * len(X)
        a, b, *_ = X.T
        table = {"day": days, "a": a, "city": cities, "b": b, "nothing": pa.nulls(len(X))}
        pq.write_table(pa.table(table), name)
    run("embed", name, "--landmarks", M, "--json", "-o", "o.csv", "--quiet")
    out, err = capfd.readouterr()
    index = "column 1 (it has no name and may hold row numbers), " if name.endswith("csv") else ""
    assert err == f"driftmap: {name}: columns left out: {index}'day' (dates), 'city' (text), 'nothing' (empty)\n"
    assert json.loads(out)["columns"] == ["a", "b"]
    assert json.loads(out)["left_out"]["city"] == "text"
    run("embed", name, "--columns", "a,b", "--landmarks", M, "-o", "named.csv", "--quiet")
    assert capfd.readouterr().err == ""
    assert folder.joinpath("o.csv").read_bytes() == folder.joinpath("named.csv").read_bytes()
    run("embed", name, "--landmarks", M, "--online", "--exclude", "nothing", "-o", "o.csv", "--quiet")
    assert capfd.readouterr().err == f"driftmap: {name}: columns left out: {index}'day' (dates), 'city' (text)\n"


def test_excluded_columns_are_no_features(folder, capfd):
    run("embed", "dated.csv", "--exclude", "d,date", "--landmarks", M, "--quiet")
    out, err = capfd.readouterr()
    assert_coordinates(out, mapped(X[:, :3]))
    assert err == ""


def test_a_stream_waits_for_one_row_to_know_its_columns(folder):
    command = [sys.executable, "-m", "driftmap", "embed", "-", "--online", "--components", "1", "--landmarks", "3"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write("day,a,b\n2020-01-01,1,\n")
        process.stdin.close()
        assert process.stdout.read() == ""
    assert process.returncode == 2  # b may hold numbers, but is empty


@pytest.mark.parametrize(("metric", "effect"), [("euclidean", "no effect"), ("cosine", "--exclude leaves them out")])
def test_constant_columns_are_named(folder, capfd, metric, effect):
    np.save("c.npy", np.column_stack([X[:, :2], np.full(len(X), 7.0)]))
    run("embed", "c.npy", "--metric", metric, "-o", "o.csv")
    err = capfd.readouterr().err
    assert err.startswith("driftmap: constant columns: '3' (")
    assert effect in err


def test_columns_of_unequal_spread_are_hinted_at(folder, capfd):
    np.save("wide.npy", X * [1, 1, 1000, 1])
    run("embed", "wide.npy", "--landmarks", M, "-o", "o.csv")
    assert re.search(r"column '3' spreads over [\de+.]+, '\d' over .* --normalize zscore", capfd.readouterr().err)
    for options in (["--normalize", "zscore"], ["--metric", "canberra"]):
        run("embed", "wide.npy", "--landmarks", M, "-o", "o.csv", "--quiet", *options)
        assert capfd.readouterr().err == ""


@pytest.mark.parametrize("data", ["t.csv", "bare.csv", "t.tsv", "t.csv.gz", "t.jsonl", "arrays.ndjson"])
def test_standard_input_is_detected(folder, capfd, monkeypatch, data):
    standard_input(monkeypatch, folder.joinpath(data).read_bytes())
    run("embed", "-", "--landmarks", M)
    assert_coordinates(capfd.readouterr().out, mapped())


def online(data):
    """A mapper that placed each row right after it was learnt, where, and in which frame."""
    mapper, rows, frames = DriftMap(n_landmarks=int(M)), [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in data:
            rows.append(mapper.partial_fit([row]).transform([row])[0])
            frames.append(mapper.frame_)
    return mapper, np.array(rows), frames


@pytest.mark.parametrize("source", ["file", "standard input"])
def test_online_places_each_row_in_the_frame_of_its_moment(folder, capfd, monkeypatch, source):
    standard_input(monkeypatch, folder.joinpath("dated.csv").read_bytes())
    file = "-" if source == "standard input" else "dated.csv"
    run("embed", file, "--label", "date", "--online", "--landmarks", M, "--quiet")
    out, err = capfd.readouterr()
    _, rows, frames = online(X)
    assert_coordinates(out, rows, leading=["date", "frame"])
    assert [int(row[1]) for row in parse(out)[1]] == frames
    assert len(set(frames)) > 20
    assert err == ""


def test_online_from_a_pipe_answers_before_the_next_row_comes(folder):
    command = [sys.executable, "-m", "driftmap", "embed", "-", "--online", "--components", "1", "--landmarks", "3"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write("a,b\n")
        for i in range(3):
            process.stdin.write(f"{i},{i * i}\n")
            process.stdin.flush()
            if i == 0:
                assert process.stdout.readline() == "frame,x1\n"
            assert process.stdout.readline().startswith(f"{i + 1},")
        process.stdin.close()
    assert process.returncode == 0


def test_contacts_are_mapped_by_their_spectra(folder, capfd):
    events = [("ann", "bob", 0), ("bob", "cem", 20), ("ann", "cem", 20), ("ann", "dora", 40), ("bob", "dora", 80)]
    folder.joinpath("c.dat").write_text("".join(f"{t}\t{i}\t{j}\n" for i, j, t in events))
    folder.joinpath("c.csv").write_text("when,who,whom\n" + "".join(f"{t},{i},{j}\n" for i, j, t in events))
    times, spectra = laplacian_spectra(events, 0.01)
    for arguments in (["c.dat"], ["c.csv", "--columns", "when,who,whom"]):
        run("contacts", *arguments, "--decay", "0.01", "--landmarks", M)
        out = capfd.readouterr().out
        assert_coordinates(out, mapped(spectra), leading=["t"])
        assert [float(row[0]) for row in parse(out)[1]] == times.tolist()
    run("contacts", "c.dat", "--decay", "0.01", "-o", "c.npy", "--plot", "c.png", "--landmarks-out", "l.csv")
    np.testing.assert_array_equal(np.load("c.npy")[:, 0], times)
    assert parse(folder.joinpath("l.csv").read_text())[0][:6] == ["arrival", "mass", "x1", "x2", "t", "eigenvalue1"]


# --- outputs ---


def test_outputs_hold_the_same_numbers_in_every_format(folder, capfd):
    for suffix in ("csv", "parquet", "npy"):
        run("embed", "dated.csv", "--label", "date", "--landmarks", M, "-o", f"o.{suffix}", "--quiet")
    assert capfd.readouterr() == ("", "")
    assert_coordinates(folder.joinpath("o.csv").read_text(), mapped(), leading=["date"])
    table = pq.read_table("o.parquet")
    assert table.column_names == ["date", "x1", "x2"]
    assert table["date"].to_pylist() == DATES
    np.testing.assert_array_equal(np.column_stack([table["x1"], table["x2"]]), mapped())
    np.testing.assert_array_equal(np.load("o.npy"), mapped())
    np.save("reference.npy", mapped())
    assert folder.joinpath("o.npy").read_bytes() == folder.joinpath("reference.npy").read_bytes()


@pytest.mark.parametrize("options", [["--normalize", "minmax"], ["--online"], []])
def test_landmarks_are_written_as_they_stand_in_the_input(folder, monkeypatch, options):
    monkeypatch.setattr(tables, "CHUNK_ROWS", 16)
    run("embed", "dated.csv", "--label", "date", "--landmarks", M, "-o", "o.csv", "--landmarks-out", "l.csv", *options)
    data = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0)) if "minmax" in options else X
    expected = online(data)[0] if "--online" in options else fitted(data)
    header, rows = parse(folder.joinpath("l.csv").read_text())
    assert header == ["arrival", "mass", "x1", "x2", "date", *NAMES]
    assert [int(row[0]) for row in rows] == expected.landmark_indices_.tolist()
    assert [int(row[1]) for row in rows] == expected.landmark_mass_.tolist()
    np.testing.assert_array_equal(np.array([r[2:4] for r in rows], dtype=float), expected.landmark_embedding_)
    assert [row[4] for row in rows] == [DATES[i] for i in expected.landmark_indices_]
    np.testing.assert_array_equal(np.array([r[5:] for r in rows], dtype=float), X[expected.landmark_indices_])


def test_json_lines_hold_the_same_numbers(folder, capfd):
    command = ["embed", "dated.csv", "--label", "date", "--landmarks", M, "--novelty"]
    run(*command, "-o", "o.jsonl", "--landmarks-out", "l.ndjson")
    run(*command, "--format", "jsonl")
    text = folder.joinpath("o.jsonl").read_text()
    assert capfd.readouterr().out == text
    rows = [json.loads(line) for line in text.splitlines()]
    assert [*rows[0]] == ["date", "x1", "x2", "reach", "quantile", "residual"]
    assert [row["date"] for row in rows] == DATES
    np.testing.assert_array_equal([[row["x1"], row["x2"]] for row in rows], mapped())
    arrivals = [json.loads(line)["arrival"] for line in folder.joinpath("l.ndjson").read_text().splitlines()]
    assert arrivals == fitted().landmark_indices_.tolist()
    np.save("nan.npy", np.column_stack([X[:20, :2], [np.nan] * 20]))
    run("embed", "nan.npy", "--label", "3", "--format", "jsonl")
    assert json.loads(capfd.readouterr().out.splitlines()[0])["3"] is None  # JSON has no NaN


@pytest.mark.parametrize("suffix", ["parquet", "npy"])
def test_landmarks_in_other_formats(folder, suffix):
    run("embed", "t.npy", "--label", "1", "--landmarks", M, "-o", "o.csv", "--landmarks-out", f"l.{suffix}")
    read = np.load("l.npy") if suffix == "npy" else np.column_stack(pq.read_table("l.parquet").columns)
    expected = fitted(X[:, 1:])
    numbers = [expected.landmark_indices_, expected.landmark_mass_, *expected.landmark_embedding_.T]
    label = [] if suffix == "npy" else [X[expected.landmark_indices_, 0]]
    np.testing.assert_array_equal(read, np.column_stack([*numbers, *label, X[expected.landmark_indices_, 1:]]))


def test_json_summary(folder, capfd):
    run("embed", "t.csv", "--landmarks", M, "--json", "-o", "o.csv")
    summary = json.loads(capfd.readouterr().out)
    expected = fitted()
    assert summary["rows"] == len(X)
    assert summary["columns"] == NAMES
    assert summary["landmarks"] == int(M)
    assert summary["radius"] == expected.radius_
    assert summary["covering_radius"] == expected.covering_radius_
    assert summary["replacements"] == expected.n_replacements_
    assert summary["landmark_stress"] == landmark_stress(expected)
    assert summary["output"] == "o.csv"
    assert_coordinates(folder.joinpath("o.csv").read_text(), mapped())
    run("embed", "t.csv", "--json")
    assert json.loads(capfd.readouterr().out)["rows"] == len(X)


@pytest.mark.parametrize("figure", ["m.png", "m.svg", "m.pdf"])
def test_two_runs_give_the_same_bytes(folder, figure):
    written = []
    for _ in range(2):
        command = [
            "embed",
            "dated.csv",
            "--label",
            "date",
            "--plot",
            figure,
            "-o",
            "o.parquet",
            "--landmarks-out",
            "l.npy",
        ]
        run(*command)
        written.append([folder.joinpath(name).read_bytes() for name in (figure, "o.parquet", "l.npy")])
    assert written[0] == written[1]


@pytest.mark.parametrize("options", [["--label", "a"], ["--label", "kind"], ["--label", "when"], ["--online"]])
def test_plots_of_all_kinds_of_labels(folder, options):
    rows = [[*row[:2], "ab"[i % 2], f"2020-01-01T00:{i % 60:02}:00Z"] for i, row in enumerate(X.tolist())]
    folder.joinpath("l.csv").write_text(csv_text(rows, ["a", "b", "kind", "when"]))
    columns = ["--columns", "a,b"]
    run("embed", "l.csv", *columns, *options, "--plot", "m.png", "-o", "o.csv")
    assert folder.joinpath("m.png").read_bytes().startswith(b"\x89PNG")


def test_novelty_is_written_after_the_coordinates_in_every_format(folder, capfd, monkeypatch):
    monkeypatch.setattr(tables, "CHUNK_ROWS", 16)
    for suffix in ("csv", "parquet", "npy"):
        run("embed", "dated.csv", "--label", "date", "--landmarks", M, "--novelty", "--quiet", "-o", f"o.{suffix}")
    mapper, scores = fitted(), DriftMap(n_landmarks=int(M)).update(X)
    expected = np.column_stack([mapper.transform(X), scores.reach, scores.quantile, mapper.novelty(X).residual])
    header, rows = parse(folder.joinpath("o.csv").read_text())
    assert header == ["date", "x1", "x2", "reach", "quantile", "residual"]
    np.testing.assert_array_equal(np.array([row[1:] for row in rows], dtype=float), expected)
    table = pq.read_table("o.parquet")
    assert table.column_names == header
    np.testing.assert_array_equal(np.column_stack(table.columns[1:]), expected)
    np.testing.assert_array_equal(np.load("o.npy"), expected)
    assert (np.isinf(expected[:, 2]) == (np.arange(len(X)) <= int(M))).all()  # as long as there is no radius
    assert capfd.readouterr() == ("", "")


def test_online_novelty_is_that_before_the_row_was_learnt(folder, capfd):
    run("embed", "t.csv", "--landmarks", M, "--online", "--novelty")
    header, rows = parse(capfd.readouterr().out)
    assert header == ["frame", "x1", "x2", "reach", "quantile", "residual"]
    mapper, expected = DriftMap(n_landmarks=int(M)), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in X:
            arrival = mapper.update([row])
            novelty = arrival.reach[0], arrival.quantile[0], mapper.novelty([row]).residual[0]
            expected.append([*arrival.coordinates[0], *novelty])
    np.testing.assert_array_equal(np.array([row[1:] for row in rows], dtype=float), expected)


@pytest.mark.parametrize("options", [[], ["--online"]])
@pytest.mark.parametrize("shade", ["reach", "quantile", "residual"])
def test_a_plot_can_be_shaded_by_novelty_without_its_columns(folder, monkeypatch, options, shade):
    from driftmap.cli import pictures

    drawn = {}

    def map_figure(*args, original=pictures.map_figure, **options):
        drawn.update(options)
        return original(*args, **options)

    monkeypatch.setattr(pictures, "map_figure", map_figure)
    command = ["embed", "dated.csv", "--label", "date", "--landmarks", M, *options]
    run(*command, "--plot", "m.png", "--shade", shade, "-o", "o.csv")
    run(*command, "--novelty", "-o", "novelty.csv")
    header, rows = parse(folder.joinpath("novelty.csv").read_text())
    np.testing.assert_array_equal(drawn["color"], [float(row[header.index(shade)]) for row in rows])
    assert drawn["color_label"] == shade
    assert shade not in parse(folder.joinpath("o.csv").read_text())[0]


# --- animations ---


def pictures(file):
    """The pictures of an animated GIF, as arrays."""
    from PIL import Image, ImageSequence

    with Image.open(file) as image:
        return [np.asarray(picture.convert("RGB")) for picture in ImageSequence.Iterator(image)]


@pytest.mark.parametrize("options", [[], ["--online"], ["--components", "1"], ["--components", "3"]])
def test_an_animation_shows_the_map_growing_and_changes_no_coordinate(folder, monkeypatch, options):
    monkeypatch.setattr(tables, "CHUNK_ROWS", 16)
    command = ["embed", "dated.csv", "--label", "date", "--landmarks", M, *options]
    run(*command, "--animate", "m.gif", "--animate-frames", "8", "-o", "filmed.csv")
    run(*command, "-o", "o.csv")
    assert folder.joinpath("filmed.csv").read_bytes() == folder.joinpath("o.csv").read_bytes()
    shown = pictures("m.gif")
    assert 6 <= len(shown) <= 13  # from 3/4 to 3/2, and the end
    ink = [int((picture < 250).any(axis=2).sum()) for picture in shown]
    assert ink[0] < ink[len(ink) // 2] < ink[-1]


def test_an_animation_is_the_same_every_time_and_for_every_size_of_chunk(folder, monkeypatch):
    written = []
    for rows in (7, 4096):
        monkeypatch.setattr(tables, "CHUNK_ROWS", rows)
        run("embed", "dated.csv", "--label", "date", "--animate", "m.gif", "--animate-frames", "4", "-o", "o.csv")
        written.append(folder.joinpath("m.gif").read_bytes())
    assert written[0] == written[1]


def test_a_film_draws_a_bounded_number_of_points_where_the_map_puts_them(monkeypatch):
    monkeypatch.setattr(animation, "DRAWN_POINTS", 50)
    mapper = StreamMap(n_landmarks=int(M), embedding="stress")
    film, seen = animation.Film(mapper, n_frames=10), 0
    for first in range(0, len(X), 40):
        for piece in pieces(tables.Chunk(X[first : first + 40]), first, [film]):
            mapper.partial_fit(piece.features)
            film.observe(Update("learning", seen, piece, is_learnt=True), mapper)
            seen += len(piece.features)
    scenes = film.scenes()
    assert film.arrivals.tolist() == list(range(0, 150, 4))
    assert [scene.seen for scene in scenes] == [*range(16, 150, 16), 150]
    assert [len(scene.points) for scene in scenes] == [-(-scene.seen // 4) for scene in scenes]
    assert [scene.radius for scene in scenes] == sorted(scene.radius for scene in scenes)
    given = mapper.transform(X[film.arrivals])
    assert np.linalg.norm(scenes[-1].points - given, axis=1).max() < 0.05 * np.ptp(given)


@pytest.mark.parametrize("label", [[], ["--label", "kind"]])
def test_labels_of_a_film_are_those_of_the_points_drawn(folder, monkeypatch, label):

    monkeypatch.setattr(animation, "DRAWN_POINTS", 50)
    monkeypatch.setattr(tables, "CHUNK_ROWS", 7)
    folder.joinpath("l.csv").write_text(
        csv_text([[*r[:2], f"n{i}"] for i, r in enumerate(X.tolist())], ["a", "b", "kind"])
    )
    seen = {}
    monkeypatch.setattr(animation, "save_animation", lambda film, *args, **options: seen.update(options, film=film))
    run("embed", "l.csv", "--columns", "a,b", *label, "--animate", "m.gif", "-o", "o.csv")
    assert (seen["color"] is None) == (not label)
    if label:
        assert seen["color"].tolist() == [f"n{i}" for i in seen["film"].arrivals]


FFMPEG = """#!/bin/sh
for last; do :; done
wc -c > "$last"
"""


def test_mp4_goes_through_ffmpeg(folder, capfd, monkeypatch):
    program = folder / "bin" / "ffmpeg"
    program.parent.mkdir()
    command = ["embed", "t.csv", "--landmarks", M, "--animate", "m.mp4", "--animate-frames", 4, "-o", "o.csv"]
    monkeypatch.setattr(animation.shutil, "which", lambda name: None)
    assert "mp4 needs the program ffmpeg" in mistake(capfd, *command)
    monkeypatch.setattr(animation.shutil, "which", lambda name: str(program))
    program.write_text("#!/bin/sh\necho no such codec >&2\nexit 1\n")
    program.chmod(0o755)
    assert "ffmpeg failed: no such codec" in mistake(capfd, *command)
    assert not folder.joinpath("m.mp4").exists()
    assert not folder.joinpath("o.csv").exists()
    program.write_text(FFMPEG)
    run(*command)
    n_bytes = int(folder.joinpath("m.mp4").read_text())
    run(*command[:4], "--animate", "m.gif", "--animate-frames", 4, "-o", "o.csv")
    shown = pictures("m.gif")
    assert n_bytes == shown[0].size * (len(shown) + animation.LAST_FRAME_REPEATS - 1)
    assert shown[0].shape[0] % 2 == shown[0].shape[1] % 2 == 0


SAME = [
    (["t.csv", "-o", "t.csv"], "-o (t.csv) is the same file as the input"),
    (["t.csv", "-o", "link.csv"], "-o (link.csv) is the same file as the input"),
    (["link.csv", "-o", "hard.csv"], "-o (hard.csv) is the same file as the input"),
    (["t.csv", "-o", "o.csv", "--landmarks-out", "here/o.csv"], "is the same file as -o"),
    (["t.csv", "-o", "o.csv", "--landmarks-out", "O.csv"], "is the same file as -o"),
    (["t.csv", "-o", "future.csv", "--landmarks-out", "new.csv"], "is the same file as -o"),
    (["t.csv", "-o", "o.csv", "--checkpoint", ".o.csv.partial"], "is the same file as --checkpoint"),
    (["t.csv", "-o", "o.csv", "--checkpoint", "link.csv"], "--checkpoint (link.csv) is the same file as the input"),
]


@pytest.mark.parametrize(("argv", "expected"), SAME)
def test_no_file_is_used_twice_under_whatever_names(folder, capfd, argv, expected):
    folder.joinpath("link.csv").symlink_to("t.csv")
    folder.joinpath("future.csv").symlink_to("new.csv")
    folder.joinpath("here").symlink_to(".")
    os.link("t.csv", "hard.csv")
    before = folder.joinpath("t.csv").read_bytes(), sorted(os.listdir())
    assert expected in mistake(capfd, "embed", *argv)
    assert before == (folder.joinpath("t.csv").read_bytes(), sorted(os.listdir()))


@pytest.mark.parametrize("command", ["embed t.csv >> t.csv", "embed - -o t.csv < t.csv", "embed - < t.csv >> t.csv"])
def test_redirections_count_as_names_too(folder, command):
    before = folder.joinpath("t.csv").read_bytes()
    done = shell(f"'{sys.executable}' -m driftmap {command}", folder)
    assert done.returncode == 2
    assert "is the same file as the input" in done.stderr
    assert folder.joinpath("t.csv").read_bytes() == before


def test_a_link_stays_a_link(folder):
    folder.joinpath("link.csv").symlink_to("real.csv")
    run("embed", "t.csv", "-o", "link.csv")
    assert folder.joinpath("link.csv").is_symlink()
    assert folder.joinpath("real.csv").is_file()


def test_too_few_dimensions_are_reported_in_one_line(folder, capfd):
    run("embed", "t.csv", "--columns", "a", "--quiet")
    assert capfd.readouterr().err == (
        "driftmap: warning: the landmarks span 1 of 2 dimensions; the missing coordinates are 0\n"
    )


# --- mistakes ---

FILES = {
    "empty.csv": (b"", "empty.csv is empty"),
    "empty.csv.gz": (b"", "empty.csv.gz is empty"),
    "empty.npy": (b"", "empty.npy cannot be read as NPY: it is empty"),
    "empty.parquet": (b"", "empty.parquet cannot be read as Parquet: it is empty"),
    "empty.jsonl": (b"\n", "empty.jsonl is empty"),
    "header.csv": (b"a,b\n", "header.csv has no rows"),
    "ragged.csv": (b"a,b\n1,2\n3\n", "ragged.csv, line 3 has 1 cell, but the first line has 2"),
    "long.csv": (b"1,2\n3,4,5\n", "long.csv, line 2 has 3 cells, but the first line has 2"),
    "order.csv": (b"a,b\n1,x\n3\n4,5\n", "order.csv, line 2, column 'b' is 'x', not a number"),
    "nan.csv": (b"a,b\n1,2\nNaN,4\n", "nan.csv, line 3, column 'a' is NaN"),
    "na.csv": (b"1,2\n3,N/A\n", "na.csv, line 2, column '2' is 'N/A'"),
    "first.csv": (b"1,\n3,4\n", "first.csv, line 1, column '2' is empty"),
    "cell.csv": (b"a,b\n1,2\n3, \n", "cell.csv, line 3, column 'b' is empty"),
    "line.csv": (b"a\n1\n\n2\n", "line.csv, line 3 is empty"),
    "inf.csv": (b"1,2\n3,-inf\n", "inf.csv, line 2, column '2' is -inf"),
    "huge.csv": (b"1,2\n3,1e200\n", "huge.csv, line 2, column '2' is 1e+200, beyond 1e+140: squares overflow"),
    "text.csv": (b"date,s\n2013-01-01,x\n", "text.csv: no column is left for the features; left out: 'date' (dates)"),
    "under.csv": (b"1,2\n3,2013_01\n", "under.csv, line 2, column '2' is '2013_01', not a number"),
    "lines.csv": (b'a,b\n"1",2\n"x\ny",3\n4\n', "lines.csv, line 3, column 'a'"),
    "iris.csv": (b"1,2,x\n3,4,y\n", "iris.csv, line 1 has text and numbers in the same columns as the next line"),
    "quote.csv": (b'a,b\n1,"2\n3,4\n', "quote.csv, line 2: a quote is opened and not closed"),
    "mac.csv": (b"a,b\r1,2\r3,4\r", "mac.csv, line 1: carriage returns alone do not end lines"),
    "latin.csv": ("größe\n1\n".encode("latin-1"), "latin.csv, line 1 is not UTF-8 text"),
    "pickle.npy": (None, "pickle.npy holds object, not numbers"),
    "text.npy": (None, "text.npy holds <U1, not numbers"),
    "cube.npy": (None, "cube.npy holds an array of shape (2, 2, 2)"),
    "none.npy": (None, "none.npy is empty: an array of shape (0, "),
    "nan.npy": (None, "nan.npy, row 2, column '1' is NaN"),
    "text.parquet": (None, "text.parquet: no column is left for the features; left out: 's' (text)"),
    "null.parquet": (None, "null.parquet, row 2, column 'a' is empty"),
    "nan.parquet": (None, "nan.parquet, row 3, column 'a' is NaN"),
    "key.jsonl": (b'{"a":1}\n{"b":1}\n', "key.jsonl, line 2 has no 'a'"),
    "more.jsonl": (b'{"a":1}\n{"a":1,"b":2}\n', "more.jsonl, line 2 has 'b', which the first line does not have"),
    "mixed.jsonl": (b'{"a":1}\n[1]\n', "mixed.jsonl, line 2: objects and arrays are mixed"),
    "short.jsonl": (b"[1,2]\n[1]\n", "short.jsonl, line 2 has 1 cell"),
    "null.jsonl": (b'{"a":1}\n{"a":null}\n', "null.jsonl, line 2, column 'a' is empty"),
    "true.jsonl": (b'{"a":1}\n{"a":true}\n', "true.jsonl, line 2, column 'a' is 'true', not a number"),
    "big.jsonl": (b'{"a":1}\n{"a":1' + b"0" * 400 + b"}\n", "big.jsonl, line 2 is not JSON: number is infinity"),
    "broken.jsonl": (b'{"a":1}\n{"a":\n', "broken.jsonl, line 2 is not JSON"),
    "number.jsonl": (b"1\n", "number.jsonl, line 1 is neither an object nor an array"),
    "table.xls": (b"PK", "table.xls has no known suffix"),
    "missing.csv": (None, "missing.csv: No such file or directory"),
}


def mistake(capfd, *argv):
    run(*argv, code=2)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("driftmap: error: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("online", [False, True])
def test_bad_files_are_reported_in_one_line_and_leave_nothing(folder, capfd, monkeypatch, name, online):
    content, expected = FILES[name]
    if content is not None:
        folder.joinpath(name).write_bytes(content)
    np.save("pickle.npy", np.array([[{}]], dtype=object))
    np.save("text.npy", np.array([["x"]]))
    np.save("cube.npy", np.zeros((2, 2, 2)))
    np.save("none.npy", X[:0])
    np.save("nan.npy", np.array([[1.0], [np.nan]]))
    pq.write_table(pa.table({"s": ["x"]}), "text.parquet")
    pq.write_table(pa.table({"a": [1.0, None]}), "null.parquet")
    pq.write_table(pa.table({"a": [1.0, 2.0, np.nan]}), "nan.parquet")
    before = sorted(os.listdir())
    monkeypatch.setattr(tables, "CHUNK_ROWS", 2)
    err = mistake(capfd, "embed", name, "-o", "o.csv", "--plot", "o.png", *(["--online"] if online else []))
    assert expected in err
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("name", ["t.csv.gz", "t.npy", "t.parquet"])
def test_files_that_are_cut_off(folder, capfd, name):
    path = folder.joinpath(name)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert name in mistake(capfd, "embed", name, "-o", "o.csv")
    assert not folder.joinpath("o.csv").exists()


def test_damaged_pages_of_a_gzip_file(folder, capfd):
    data = bytearray(folder.joinpath("t.csv.gz").read_bytes())
    data[len(data) // 2] ^= 0xFF
    folder.joinpath("t.csv.gz").write_bytes(data)
    mistake(capfd, "embed", "t.csv.gz", "-o", "o.csv")


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["paint"], "invalid choice: 'paint'"),
        (["embed"], "required: FILE"),
        (["embed", "."], ". is a folder"),
        (["embed", "t.csv", "--columns", "a,z"], "t.csv has no column 'z'; it has: a, b, c, d"),
        (["embed", "dated.csv", "--label", "dat"], "did you mean 'date'?"),
        (
            ["embed", "dated.csv", "--columns", "a,x,dat"],
            "no column 'x', 'dat' (did you mean 'date'?); it has: date",
        ),
        (["embed", "dated.csv", "--exclude", "y"], "has no column 'y'"),
        (["embed", "t.csv", "--columns", "a", "--exclude", "a"], "--exclude leaves none of the columns"),
        (["embed", "t.csv", "--exclude", "a,b,c,d"], "no column is left"),
        (["embed", "dated.parquet", "--columns", "day,a,s"], "dated.parquet: not numbers: 'day' (dates), 's' (text)"),
        (["embed", "t.csv", "--columns", "a,,b"], "names separated by commas"),
        (["embed", "t.csv", "--columns", "a,a"], "--columns lists 'a' twice"),
        (["embed", "t.csv", "--columns", "a", "--label", "x"], "no column 'x'"),
        (["embed", "x1.npy", "--label", "1"], "no column is left"),
        (["embed", "twice.csv", "--columns", "a"], "twice.csv has 2 columns named 'a'"),
        (["embed", "t.csv", "--landmarks", "2"], "--landmarks must be at least 3 for 2 dimensions, got 2"),
        (["embed", "t.csv", "--landmarks", "many"], "'many' is not an integer"),
        (["embed", "t.csv", "--components", "0"], "must be at least 1, got 0"),
        (["embed", "t.csv", "--metric", "nosuch"], "--metric='nosuch' is not known"),
        (["embed", "t.csv", "--metric", "precomputed"], "--metric precomputed"),
        (["embed", "t.csv", "--metric", "mahalanobis"], "'mahalanobis' needs"),
        (["embed", "zero.csv", "--metric", "cosine"], "zero.csv, row 2 is zero"),
        (["embed", "t.csv", "--slack", "-1"], "must be finite and not negative"),
        (
            ["embed", "t.csv", "--steadiness", "1", "--components", "1"],
            "--steadiness is for --embedding stress, in two",
        ),
        (["embed", "t.csv", "--anchors", "0"], "--anchors: must be at least 1, got 0"),
        (["embed", "t.csv", "--anchors", "many"], "'many' is not an integer; give a number, auto or none"),
        (["embed", "t.csv", "--anchors", "64", "--embedding", "tsne"], "--anchors is for --embedding stress"),
        (["embed", "t.csv", "--steadiness", "1", "--embedding", "lmds"], "--steadiness is for --embedding stress"),
        (["embed", "t.csv", "--rule", "best"], "invalid choice: 'best'"),
        (["embed", "t.csv", "--decay", "1"], "unrecognized arguments: --decay"),
        (["contacts", "t.csv", "--decay", "-1"], "must be finite and not negative"),
        (["contacts", "t.csv", "--decay", "fast"], "'fast' is not a number"),
        (["contacts", "t.csv", "--decay", "1"], "t.csv, line 1"),
        (["contacts", "t.csv", "--decay", "1", "--label", "a"], "unrecognized arguments: --label"),
        (["contacts", "t.csv", "--decay", "1", "--skip-bad"], "--skip-bad is for a list that grows"),
        (["embed", "t.parquet", "--skip-bad"], "--skip-bad is for lines of text"),
        (["embed", "t.csv", "--format", "jsonl", "-o", "o.csv"], "the suffix of -o says the format"),
        (["embed", "t.csv", "--format", "jsonl", "--json"], "which --json leaves out"),
        (["embed", "t.csv", "-o", "o.txt"], "'o.txt' must end in .csv, .jsonl, .ndjson, .parquet or .npy"),
        (["embed", "t.csv", "-o", "no/o.csv"], "no/o.csv: there is no folder 'no'"),
        (["embed", "t.csv", "-o", "folder.csv"], "folder.csv: it is a folder"),
        (["embed", "t.csv", "--plot", "o.gif"], "'o.gif' must end in .png, .svg, .pdf or .html"),
        (["embed", "t.csv", "--plot", "no/o.png"], "there is no folder 'no'"),
        (["embed", "t.csv", "--animate", "o.avi"], "'o.avi' must end in .gif or .mp4"),
        (["embed", "t.csv", "--animate", "no/o.gif"], "there is no folder 'no'"),
        (["embed", "t.csv", "--animate", "o.gif", "--animate-frames", "1"], "must be at least 2"),
        (["embed", "t.csv", "--animate-frames", "9"], "add --animate"),
        (["embed", "t.csv", "--shade", "reach"], "add --plot"),
        (["embed", "t.csv", "--shade", "novelty", "--plot", "o.png"], "invalid choice: 'novelty'"),
        (["embed", "t.csv", "--novelty", "--json"], "--novelty adds columns"),
        (
            ["embed", "t.csv", "--landmarks-out", "o.csv", "-o", "./o.csv"],
            "--landmarks-out (o.csv) is the same file as -o",
        ),
        (["demo", "--landmarks", "2"], "must be at least 3"),
        (["demo", "--seed", "-1"], "must be at least 0"),
        (["demo", "--seed", "99999999999"], "must be at most"),
        (["demo", "-o", "t.csv"], "t.csv cannot be made a folder: File exists"),
    ],
)
def test_mistakes_on_the_command_line(folder, capfd, argv, expected):
    np.save("x1.npy", X[:, 0])
    folder.joinpath("twice.csv").write_text("a,a\n1,2\n")
    folder.joinpath("zero.csv").write_text("1,2\n0,0\n")
    folder.joinpath("folder.csv").mkdir()
    pq.write_table(
        pa.table({"day": np.array(DATES[:2], "datetime64[D]"), "a": [1, 2], "s": ["x", "y"]}), "dated.parquet"
    )
    assert expected in mistake(capfd, *argv)


def test_a_folder_that_cannot_be_written(folder, capfd):
    target = folder / "locked"
    target.mkdir(mode=0o500)
    if os.access(target, os.W_OK):
        pytest.skip("this user may write everywhere")
    assert "cannot be written: Permission denied" in mistake(capfd, "embed", "t.csv", "-o", "locked/o.csv")


def test_a_file_that_changes_between_the_passes(folder, capfd, monkeypatch):
    def complete(learning):
        with folder.joinpath("t.csv").open("a") as file:
            file.write("1,2,3,4\n")

    monkeypatch.setattr(Learning, "complete", complete)
    assert "changed while it was read: it had 150 rows, then 151" in mistake(capfd, "embed", "t.csv", "-o", "o.csv")


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n3\n", b'{"a":1}\n{"a":"x"}\n'])
def test_standard_input_is_named_in_mistakes(folder, capfd, monkeypatch, content):
    standard_input(monkeypatch, content)
    assert "standard input" in mistake(capfd, "embed", "-")
    standard_input(monkeypatch, b"5 ann ann\n")
    assert "standard input, line 1" in mistake(capfd, "contacts", "-", "--decay", "1")


def test_missing_matplotlib_is_named_with_the_extra(folder, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert 'pip install "driftmap[plot]"' in mistake(capfd, "embed", "t.csv", "--plot", "m.png")


def test_a_header_can_be_forced_or_ruled_out(folder, capfd):
    folder.joinpath("iris.csv").write_text("1,2,x\n3,4,y\n5,7,z\n")
    run("embed", "iris.csv", "--header", "no", "--label", "3")
    assert [row[0] for row in parse(capfd.readouterr().out)[1]] == ["x", "y", "z"]
    run("embed", "iris.csv", "--header", "yes", "--label", "x", "--landmarks", M, "--components", 1)
    assert len(parse(capfd.readouterr().out)[1]) == 2


@pytest.mark.parametrize("options", [[], ["--online"], ["--novelty"], ["--online", "--novelty"]])
def test_a_zero_row_under_cosine_is_named_by_its_row(folder, capfd, options):
    folder.joinpath("zero.csv").write_text("a,b\n1,2\n2,1\n3,1\n0,0\n1,1\n")
    err = mistake(capfd, "embed", "zero.csv", "--metric", "cosine", "--landmarks", 3, "-o", "o.csv", *options)
    assert "zero.csv, row 4 is zero and has no direction, which metric='cosine' needs" in err


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["embedd", "t.csv"], "embed"),
        (["embed", "t.csv", "--colums", "a"], "--columns"),
        (["embed", "t.csv", "--embedding", "isomp"], "isomap"),
        (["embed", "t.csv", "--normalize", "Minmax"], "minmax"),
        (["embed", "t.csv", "--metric", "euclidian"], "euclidean"),
        (["embed", "t.csv", "--columns", NAMES[0].upper()], NAMES[0]),
        (["embed", "t.csv", "--label", f"{NAMES[1]}{NAMES[1]}"], NAMES[1]),
    ],
)
def test_what_was_probably_meant_is_suggested(folder, capfd, argv, meant):
    assert f"(did you mean {meant!r}?)" in mistake(capfd, *argv)


# --- the demo, help, and life in a shell ---


def test_demo_prints_and_writes_what_the_library_computes(folder, capfd):
    run("demo", "--points", 200, "--landmarks", 20, "-o", "out/demo")
    out, err = capfd.readouterr()
    assert err == ""
    header, line, *lines = out.splitlines()
    assert header.split() == ["landmarks", "sigma", "sigma_L", "radius", "replacements"]
    assert [text.split()[0] for text in lines[:3]] == ["initial", "online", "random"]
    assert len({len(text) for text in [header, line, *lines[:3]]}) == 1
    points = s_curve_stream(200)
    mapper = DriftMap(n_landmarks=20).fit(points)
    place = mapper.transform(points)
    numbers = [stress(points, place), landmark_stress(mapper), mapper.radius_]
    assert lines[1].split() == ["online", *(f"{n:.4f}" for n in numbers), str(mapper.n_replacements_)]
    selector = RandomLandmarks(20, random_state=1).partial_fit(points)
    masses = selector.landmark_mass_.astype(float)
    embedding = LandmarkStress(2).fit(selector.landmark_distances(), masses)
    sigma = stress(points, embedding.place(selector.distances(points)))
    assert lines[2].split()[:2] == ["random", f"{sigma:.4f}"]
    assert [lines[i].split()[-1] for i in (0, 2)] == ["-", "-"]  # what a sample exchanges are no replacements
    names, rows = parse(folder.joinpath("out/demo/s_curve.csv").read_text())
    assert names[:5] == ["arrival", "initial_x1", "initial_x2", "initial_is_landmark", "online_x1"]
    values = np.array(rows, dtype=float)
    np.testing.assert_array_equal(values[:, 4:6], place)
    assert stress(points, values[:, 7:9]) == pytest.approx(sigma)  # turned, not distorted
    assert folder.joinpath("out/demo/s_curve.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(os.listdir("out/demo")) == ["s_curve.csv", "s_curve.png"]


def test_demo_without_matplotlib_still_writes_coordinates(folder, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    run("demo", "--points", 50, "--landmarks", 5, "--seed", 2, "-o", "d")
    assert 'no figure: figures need matplotlib: pip install "driftmap[plot]"' in capfd.readouterr().out
    assert os.listdir("d") == ["s_curve.csv"]


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["embed", "--follow", "t.csv"], "driftmap follow SOURCE"),
        (["embed", "t.csv", "--contacts"], "driftmap contacts FILE"),
        (["embed", "*.parquet", "--dask=local"], "driftmap cluster FILE --scheduler ADDRESS"),
        (["watch", "t.csv", "--contacts"], "driftmap contacts FILE"),
        (["reproduce", "s-curve"], "python -m reproduction s-curve"),
    ],
)
def test_what_has_moved_is_named(folder, capfd, argv, command):
    assert command in mistake(capfd, *argv)


@pytest.mark.parametrize("argv", [["--help"], *([command, "--help"] for command in COMMANDS)])
def test_help(capfd, argv):
    run(*argv)
    out, err = capfd.readouterr()
    assert "usage: driftmap" in out
    assert err == ""
    if argv[0] in COMMANDS:
        assert "example" in out
    assert max(map(len, out.splitlines())) <= 120


def test_version(capfd):
    run("--version")
    assert capfd.readouterr().out == f"driftmap {__version__}\n"


def shell(command, folder):
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True)


def test_python_m_driftmap_and_a_shell_pipeline(folder):
    done = shell(f"cat t.csv | '{sys.executable}' -m driftmap embed - --landmarks {M} --quiet", folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert_coordinates(done.stdout, mapped())
    assert shell(f"'{sys.executable}' -m driftmap embed nothing.csv", folder).returncode == 2
    done = shell(f"'{sys.executable}' -m driftmap embed <(cat t.csv) --landmarks {M}", folder)
    assert_coordinates(done.stdout, mapped())


@pytest.mark.parametrize("options", ["", "--online", "--plot m.png"])
def test_a_closed_output_pipe_ends_quietly(folder, options):
    np.save("long.npy", np.random.default_rng(0).standard_normal((6000 if options else 30_000, 3)))
    pipeline = (
        f"'{sys.executable}' -m driftmap embed long.npy --landmarks 4 --quiet {options} | head -n 2; "
        "echo ${PIPESTATUS[0]}"
    )
    done = shell(pipeline, folder)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 3
    assert done.stdout.endswith("\n0\n")
    assert folder.joinpath("m.png").exists() == ("m.png" in options)


def test_ctrl_c_takes_one_line_and_leaves_no_file(folder):
    command = [sys.executable, "-m", "driftmap", "embed", "-", "--online", "-o", "o.csv"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
    process.stdin.write(b"a,b\n1,2\n")
    process.stdin.flush()
    while not any(name.endswith(".tmp") for name in os.listdir(folder)):  # until the output is open
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err) == (130, b"driftmap: interrupted\n")
    assert not [name for name in os.listdir(folder) if "o.csv" in name]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_drawn_on_a_terminal_only(folder, monkeypatch, capfd):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    run("embed", "t.csv", "--landmarks", M, "-o", "o.csv")
    last = re.split(r"[\r\n]+", terminal.getvalue().strip())
    assert any(re.search(r"learning .*\[#+\] 100%  150 rows  [\d,]+/s  radius \d", line) for line in last)
    assert any(re.search(r"mapping .*100%  150 rows", line) for line in last)
    assert capfd.readouterr().out == ""


def test_progress_without_a_known_size_has_no_bar():
    progress = Progress(io.StringIO())
    progress.update("mapping", rows=0)
    assert progress.text(2.0, None, "radius 0.5", 1500) == "mapping    1,500 rows  750/s  radius 0.5"
    assert progress.stream.getvalue() == ""


def test_a_log_has_one_line_for_each_task():
    with contextlib.closing(Progress(io.StringIO(), log=True)) as progress:
        for task, fraction in (("first", 0.1), ("first", 0.9), ("second", 0.5)):
            progress.update(task, fraction)
    assert re.fullmatch(r"\[ +\d+ s\] first\n\[ +\d+ s\] second\n", progress.stream.getvalue())


# --- how many landmarks, and what the axes mean ---


def test_auto_is_a_run_with_the_number_that_is_found(folder, capfd, monkeypatch):
    options = ["--normalize", "zscore", "--alert", 0.9, "--novelty", "--label", "date"]
    run("embed", "dated.csv", "--landmarks", "auto", "-o", "auto.csv", "--alerts", "auto.jsonl", *options)
    said = capfd.readouterr().err.splitlines()
    found = DriftMap(n_landmarks="auto").fit((X - X.mean(axis=0)) / X.std(axis=0)).landmark_count_
    assert said[0] == f"driftmap: {found}"
    run("embed", "dated.csv", "--landmarks", found.n_landmarks, "-o", "m.csv", "--alerts", "m.jsonl", *options)
    for suffix in (".csv", ".jsonl"):
        assert folder.joinpath(f"auto{suffix}").read_bytes() == folder.joinpath(f"m{suffix}").read_bytes()
    standard_input(monkeypatch, folder.joinpath("t.csv").read_bytes())
    run("embed", "-", "--landmarks", "auto")
    assert len(capfd.readouterr().out.splitlines()) == len(X) + 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["auto", "--online"], "does not go with --online: run it without, then give the number that it prints"),
        (["auto", "--checkpoint", "c.ckpt"], "does not go with --checkpoint"),
        (["auto", "--embedding", "isomap"], "does not go with embedding='isomap'"),
        (["auto", "--half-life", "9"], "does not go with a window or a half_life"),
        (["many"], "argument --landmarks: 'many' is not an integer; give a number or auto"),
    ],
)
def test_what_does_not_go_with_auto(folder, capfd, options, problem):
    assert problem in mistake(capfd, "embed", "t.csv", "--landmarks", *options)


def test_axes_are_explained(folder, capfd):
    run("embed", "dated.csv", "--landmarks", M, "--explain", "--json", "--quiet")
    out, err = capfd.readouterr()
    axes, mapper = json.loads(out)["axes"], DriftMap(n_landmarks=int(M)).fit(X)
    for number, (axis, line) in enumerate(zip(axes, err.splitlines()[1:], strict=True)):
        expected = mapper.explain(axis=number).features
        assert [found["column"] for found in axis] == [NAMES[feature.feature] for feature in expected]
        np.testing.assert_allclose([found["correlation"] for found in axis], [f.correlation for f in expected])
        first = axis[0]
        assert line.startswith(
            f"driftmap: x{number + 1} correlates with {first['column']!r} {first['correlation']:+.2f}, "
        )


def test_a_request_to_stop_that_no_command_answers_ends_in_one_line(capfd):
    def command():
        raise Stopped(signal.SIGTERM, clean=False)

    assert exit_code(command) == 128 + signal.SIGTERM
    assert capfd.readouterr() == ("", "driftmap: interrupted\n")
