"""``driftmap contacts``: files as people have them, what colours their maps, and what is said about them."""

import csv
import json
import re

import numpy as np
import pytest

from driftmap.cli import main, pictures
from driftmap.cli.progress import Progress
from driftmap.networks import group_strengths, half_life, read_contacts

START = 1709539200  # 2024-03-04T08:00
EVENTS = [(START + 20 * k + 86_400 * (k // 20), f"p{k % 4}", f"p{4 + k % 3}") for k in range(60)]
SCHOOL = "".join(f"{t}\t{i}\t{j}\t{'AB'[int(i[1]) % 2]}\t{'AB'[int(j[1]) % 2]}\n" for t, i, j in EVENTS)


@pytest.fixture
def school(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("school.dat").write_text(SCHOOL)
    tmp_path.joinpath("people.txt").write_text("".join(f"p{k}\t{'xy'[k % 2]}\n" for k in range(7)))
    return tmp_path


@pytest.fixture
def drawn(monkeypatch):
    """What the last figure was drawn from."""
    options = {}

    def map_figure(*args, original=pictures.map_figure, **given):
        options.clear()
        options.update(given)
        return original(*args, **given)

    monkeypatch.setattr(pictures, "map_figure", map_figure)
    return options


def run(*argv, code=0):
    assert main([*map(str, argv)]) == code


def rows(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def test_dates_are_written_instead_of_seconds_since_1970(school):
    run("contacts", "school.dat", "--landmarks", 5, "-o", "o.csv", "--landmarks-out", "l.csv")
    dates = [row["t"] for row in rows("o.csv")]
    assert (dates[0], dates[-1]) == ("2024-03-04T08:00:00", "2024-03-06T08:19:40")
    assert {row["t"] for row in rows("l.csv")} <= set(dates)
    run("contacts", "school.dat", "--landmarks", 5, "-o", "o.npy")
    np.testing.assert_array_equal(np.load("o.npy")[:, 0], sorted({t for t, *_ in EVENTS}))


def test_the_decay_follows_from_the_contacts_unless_it_is_given(school, capfd):
    contacts = read_contacts("school.dat")
    for given in ([], ["--decay", "auto"], ["--decay", str(np.log(2) / half_life(contacts))]):
        run("contacts", "school.dat", *given, "--landmarks", 5, "-o", f"o{len(given)}.csv", "--json")
        summary = json.loads(capfd.readouterr().out)
        assert summary["decay"] == pytest.approx(np.log(2) / half_life(contacts))
    run("contacts", "school.dat", "--landmarks", 5, "-o", "o.csv")
    err = capfd.readouterr().err
    assert "60 contacts of 7 nodes, 2024-03-04 08:00:00 to 2024-03-06 08:19:40" in err
    assert re.search(r"ties decay by [\d.]+ per second \(a half-life of [\d.,]+, the geometric mean", err)
    assert rows("o.csv") == rows("o0.csv")


def test_weights_and_self_contacts_are_said_and_counted(school, capfd):
    school.joinpath("w.csv").write_text("time,source,target,weight\n0,a,b,2\n5,a,a,1\n20,b,c,1\n40,a,b,1\n")
    run("contacts", "w.csv", "--landmarks", 3, "-o", "o.csv", "--json")
    out, err = capfd.readouterr()
    assert "3 contacts of 3 nodes, t = 0 to 40; weighted; 1 of a node with itself skipped; ties decay by" in err
    summary = json.loads(out)
    assert (summary["contacts"], summary["self_contacts"], summary["weighted"]) == (3, 1, True)


def test_maps_are_coloured_by_time_hour_day_or_attribute(school, drawn):
    def color(*options):
        run("contacts", "school.dat", "--landmarks", 5, "--plot", "m.png", "-o", "o.csv", *options)
        return drawn["color"], drawn["color_label"]

    values, label = color()
    assert label == "t"
    assert values.astype("datetime64[s]").astype(str).tolist() == [row["t"] for row in rows("o.csv")]
    values, label = color("--color-by", "day")
    assert (label, sorted(set(values))) == ("day", ["2024-03-04 Mon", "2024-03-05 Tue", "2024-03-06 Wed"])
    values, label = color("--color-by", "hour")
    np.testing.assert_allclose(values[:3], 8 + np.arange(3) / 180)
    contacts = read_contacts("school.dat")
    expected = group_strengths(contacts, "status", np.log(2) / half_life(contacts)).strongest()
    assert color("--color-by", "status")[0].tolist() == list(expected)
    values, label = color("--metadata", "people.txt", "--color-by", "class")
    assert (label, set(values)) == ("class", {"x", "y"})


def test_times_without_a_date_count_from_zero_or_from_a_start(school, drawn):
    school.joinpath("t.dat").write_text("".join(f"{t - START} {i} {j}\n" for t, i, j in EVENTS))
    command = ["contacts", "t.dat", "--landmarks", 5, "--plot", "m.png", "-o", "o.csv"]
    run(*command, "--color-by", "hour")
    np.testing.assert_allclose(drawn["color"][:3], np.arange(3) / 180)
    run(*command, "--color-by", "day")
    assert set(drawn["color"]) == {0, 1, 2}
    assert float(rows("o.csv")[1]["t"]) == 20
    run(*command, "--color-by", "hour", "--start", "2024-03-04T08:00")
    np.testing.assert_allclose(drawn["color"][:3], 8 + np.arange(3) / 180)
    assert rows("o.csv")[1]["t"] == "2024-03-04T08:00:20"


def test_one_dimension_is_drawn_over_a_real_time_axis(school, drawn):
    run("contacts", "school.dat", "--components", 1, "--landmarks", 5, "--plot", "m.png", "-o", "o.csv")
    assert drawn["color"] is None
    times = drawn["times"].astype("datetime64[s]").astype(int)
    np.testing.assert_array_equal(times, sorted({t for t, *_ in EVENTS}))
    assert np.diff(times).max() > 80_000  # the nights


def test_figures_for_browsers_and_animations_are_coloured_too(school):
    command = ["contacts", "school.dat", "--landmarks", 5, "-o", "o.csv", "--color-by", "status"]
    run(*command, "--plot", "m.html")
    assert '"status"' in school.joinpath("m.html").read_text()
    run(*command, "--animate", "m.gif", "--animate-frames", 2)
    assert school.joinpath("m.gif").stat().st_size > 1000


def test_progress_counts_spectra(school, monkeypatch):
    seen = []
    monkeypatch.setattr(Progress, "update", lambda self, task, *args, **more: seen.append((task, *args)))
    run("contacts", "school.dat", "--landmarks", 5, "-o", "o.csv")
    assert ("spectra", 1.0, "60 of 60") in seen


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["embed", "school.dat", "--color-by", "hour"], "unrecognized arguments: --color-by"),
        (["embed", "school.dat", "--metadata", "people.txt"], "unrecognized arguments: --metadata"),
        (["contacts", "school.dat", "--color-by", "hour"], "--color-by is for figures: add --plot or --animate"),
        (
            ["contacts", "school.dat", "--color-by", "statsu", "--plot", "m.png"],
            "--color-by 'statsu' is not one of hour, day, status (did you mean 'status'?)",
        ),
        (
            ["contacts", "bare.dat", "--color-by", "role", "--plot", "m.png"],
            "is not one of hour, day; the nodes have no attributes: add --metadata",
        ),
        (["contacts", "school.dat", "--start", "monday"], "'monday' is not a date such as 2024-03-31"),
        (["contacts", "school.dat", "--metadata", "nowhere.txt"], "nowhere.txt"),
        (["contacts", "school.dat", "--metadata", "other.txt"], "other.txt does not describe any of the nodes"),
        (["contacts", "school.dat", "--metadata", "o.csv"], "-o (o.csv) is the same file as --metadata"),
        (["contacts", "once.dat"], "--decay: all contacts have the same time"),
        (["contacts", "school.dat", "--columns", "1,2"], "--columns must name time, node, node"),
        (
            ["contacts", "school.dat", "--columns", "time,i,j"],
            "school.dat, line 1 is not a header with the columns 'time'",
        ),
    ],
)
def test_mistakes_are_named_in_one_line(school, capfd, options, message):
    school.joinpath("bare.dat").write_text("0 a b\n20 b c\n40 a b\n")
    school.joinpath("once.dat").write_text("7 a b\n7 b c\n")
    school.joinpath("other.txt").write_text("id,role\nann,nurse\n")
    run(*options, "-o", "o.csv", code=2)
    err = capfd.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert not school.joinpath("o.csv").exists()
