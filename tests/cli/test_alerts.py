"""Alerts of the command line: one line of JSON for each, as rows are learnt, whichever way they are mapped."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from driftmap import DriftMap
from driftmap.cli import main
from driftmap.map.novelty import NoveltyDetector
from driftmap.tables import table as tables

ROWS = np.random.default_rng(0).standard_normal((600, 3))
ROWS[500] = 40.0
HEADER = "day,a,b,c\n"
LINES = [f"d{i},{','.join(map(repr, row))}\n" for i, row in enumerate(ROWS.tolist())]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tables, "CHUNK_ROWS", 64)
    tmp_path.joinpath("t.csv").write_text(HEADER + "".join(LINES))
    return tmp_path


def lines(text):
    """The lines of JSON, and all others."""
    lines = text.splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")], [line for line in lines if line[0] != "{"]


@pytest.mark.parametrize("mode", [[], ["--online"], ["--normalize", "minmax"], ["--novelty", "--json"]])
def test_the_row_that_is_far_from_all_others_is_the_only_alert(folder, capfd, mode):
    assert main(["embed", "t.csv", "--label", "day", "--alert", "3", "-o", "o.csv", "--quiet", *mode]) == 0
    out, err = capfd.readouterr()
    (alert,), others = lines(err)
    assert others == ["driftmap: 1 alert (1 novel row)"]
    assert (alert["row"], alert["time"]) == (500, "d500")
    assert alert["reach"] > 50
    assert alert["quantile"] > 0.99
    assert {feature["name"] for feature in alert["features"]} == {"a", "b", "c"}
    for feature in alert["features"]:  # in the units of the table
        assert feature["value"] == pytest.approx(40.0)
        assert feature["landmark"] == pytest.approx(ROWS[alert["nearest"], "abc".index(feature["name"])])
    if "--json" in mode:
        summary = json.loads(out)
        assert (summary["n_alerts"], summary["n_novel"]) == (1, 1)


@pytest.mark.parametrize("mode", [[], ["--online"]])
@pytest.mark.parametrize("alert", ["0.8", "0.9"])
def test_alerts_go_to_a_file_and_are_those_of_the_library(folder, capfd, mode, alert):
    command = ["embed", "t.csv", "--label", "day", "--alert", alert, "--alerts", "a.jsonl", "-o", "o.csv"]
    assert main([*command, *mode, "--quiet"]) == 0
    detector = NoveltyDetector(float(alert))
    expected = DriftMap().update(ROWS, detector=detector).alerts
    written = [json.loads(line) for line in folder.joinpath("a.jsonl").read_text().splitlines()]
    assert len(written) == len(expected) > 2
    for line, one in zip(written, expected, strict=True):
        assert (line["row"], line["reach"], line["quantile"], line["nearest"]) == (one.row, *one[2:5])
        assert [(f["value"], f["landmark"]) for f in line["features"]] == [f[1:] for f in one.features]
    n, novel = detector.n_alerts, detector.n_novel
    assert capfd.readouterr().err == f"driftmap: {n} alerts ({novel} novel rows)\n"


def test_alerts_are_written_though_coordinates_are_not(folder, capfd):
    assert main(["embed", "t.csv", "--label", "day", "--alert", "3", "--alerts", "a.ndjson", "--json"]) == 0
    assert json.loads(folder.joinpath("a.ndjson").read_text())["row"] == 500


def test_a_run_that_fails_leaves_no_alerts(folder, capfd):
    folder.joinpath("t.csv").write_text(HEADER + "".join(LINES) + "d600,1,2,x\n")
    assert main(["embed", "t.csv", "--label", "day", "--alert", "3", "--alerts", "a.jsonl", "-o", "o.csv"]) == 2
    assert os.listdir() == ["t.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--alert", "0"], "--alert must be positive"),
        (["--alert", "0.99999"], "--alert=1 cannot be|--alert=0.99999 cannot be resolved with 2,000 recent arrivals"),
        (["--alert", "many"], "'many' is not a number"),
        (["--alerts", "a.jsonl"], "--alerts needs to know which rows are worth an alert: add --alert"),
        (["--alert", "3", "--alerts", "a.csv"], "must end in .jsonl or .ndjson"),
        (["--alert", "3", "--alerts", "o.jsonl", "-o", "o.jsonl"], "is the same file as"),
    ],
)
def test_options_that_mean_nothing(folder, capfd, options, message):
    assert main(["embed", "t.csv", *options]) == 2
    err = capfd.readouterr().err
    assert any(part in err for part in message.split("|"))


def test_a_followed_file_and_a_run_that_goes_on(folder):
    """Alerts are seen immediately, and a run that is killed and resumed ends with the same lines."""
    command = [sys.executable, "-m", "driftmap", "follow", "f.csv", "--label", "day", "--alert", "3"]
    command += ["--landmarks", "20", "-o", "o.csv", "--alerts", "a.jsonl", "--checkpoint", "c.ckpt", "--resume"]
    command += ["--checkpoint-every", "0s"]
    growing, alerts = folder / "f.csv", folder / "a.jsonl"
    growing.write_text(HEADER + "".join(LINES[:400]))
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: folder.joinpath("o.csv").exists() and rows_in(folder / "o.csv") == 400)
    with growing.open("a") as file:
        file.write("".join(LINES[400:550]))
    wait_for(lambda: rows_in(folder / "o.csv") == 550)
    assert json.loads(alerts.read_text().splitlines()[-1])["row"] == 500
    process.kill()
    process.communicate()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    with growing.open("a") as file:
        file.write("".join(LINES[550:]))
    wait_for(lambda: rows_in(folder / "o.csv") == 600)
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=60)[1]
    expected = DriftMap(n_landmarks=20).update(ROWS, detector=(detector := NoveltyDetector(3))).alerts
    assert [json.loads(line)["row"] for line in alerts.read_text().splitlines()] == [alert.row for alert in expected]
    assert f"{detector.n_alerts} alert" in err


def rows_in(path):
    return path.read_text().count("\n") - 1


def wait_for(condition):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
