"""The logic of the check of speed, with ratios made up: nothing is timed here."""

import json

import pytest
from benchmarks import speed

KNOWN = {"here": {"one": 2.0, "two": 10.0}, "there": {"one": 3.0, "two": 5.0}}


@pytest.fixture
def ratios(monkeypatch, tmp_path):
    """Two cases, a baseline, and the ratios to be measured, in turn, for each."""
    path, coming = tmp_path / "baseline.json", {"one": [2.0], "two": [10.0]}
    path.write_text(json.dumps(KNOWN))
    monkeypatch.setattr(speed, "BASELINE", path)
    monkeypatch.setattr(speed, "ATTEMPTS", 3)
    monkeypatch.setattr(speed, "CASES", dict.fromkeys(coming))
    monkeypatch.setattr(speed, "processor", lambda: "here")
    monkeypatch.setattr(speed, "measure", lambda name: coming[name].pop(0))
    return coming


def test_ratios_as_they_were_pass(ratios, capsys):
    assert speed.check() == []
    assert "one: 2.00 times its reference, baseline 2.00 ok" in capsys.readouterr().out


def test_a_busy_moment_is_measured_again(ratios):
    ratios["one"] = [9.0, 3.1, 2.9]
    assert speed.check() == []


def test_a_kernel_that_stays_slow_is_named(ratios):
    ratios["two"] = [15.1, 20.0, 16.0]
    assert speed.check() == ["two: 15.10 times its reference at best, the baseline is 10.00"]


def test_an_unknown_processor_is_held_to_a_generous_limit(ratios, monkeypatch):
    monkeypatch.setattr(speed, "processor", lambda: "elsewhere")
    assert speed.expected(KNOWN, "elsewhere") == {"one": 12.0, "two": 40.0}
    ratios["one"], ratios["two"] = [17.9], [61.0, 61.0, 61.0]
    assert speed.check() == ["two: 61.00 times its reference at best, the baseline is 40.00"]


def test_a_case_without_a_baseline_is_reported(ratios, monkeypatch):
    monkeypatch.setitem(speed.CASES, "three", None)
    assert speed.check() == ["three: it has no baseline yet"]


def test_a_new_baseline_replaces_that_of_this_processor_only(ratios):
    ratios["one"], ratios["two"] = [4.0, 1.0, 2.5], [8.0, 9.0, 7.0]
    speed.write()
    assert json.loads(speed.BASELINE.read_text()) == {"here": {"one": 2.5, "two": 8.0}, "there": KNOWN["there"]}
