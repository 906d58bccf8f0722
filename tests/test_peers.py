"""The benchmark against peers, on tiny streams, with the methods that need no extra."""

import importlib.util
import json

import numpy as np
import pytest
from benchmarks import sheets
from benchmarks.peers import __main__ as peers
from benchmarks.peers import child, data, figures, manifolds, methods, report, run, scores
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.spatial.distance import pdist

from driftmap import quality

LIMITS = (60.0, 8.0, 1)


@pytest.fixture(scope="module")
def stream():
    rng = np.random.default_rng(0)
    return data.Stream("walk", np.cumsum(rng.standard_normal((120, 4)), axis=0))


@pytest.fixture(scope="module")
def row(stream):
    """Rows by method, each measured once."""
    known = {}

    def measured(key):
        if key not in known:
            known[key] = run.halves(key, stream, *LIMITS)
        return known[key]

    return measured


class Stuck(methods.Refitted):
    """A stand-in for a peer, whose operations can be made to fail."""

    label, package = "stuck", "stuck"

    def fit(self, X):
        return X[:, :2]

    def place(self, X):
        raise methods.Cannot("cannot map new points")

    def add(self, new, everything):
        raise ZeroDivisionError("division by zero")


def answers(tmp_path, method, stream):
    child.halves(method, stream.points, stream.half, child.Answers(tmp_path / "answers.jsonl"), tmp_path)
    lines = (tmp_path / "answers.jsonl").read_text().splitlines()
    return {line["stage"]: line for line in map(json.loads, lines)}


def test_sigma_of_a_known_map(stream):
    X = stream.points
    Y = 3 * X[:, :2]
    measured = scores.sigma(pdist(X), Y)
    assert measured["as_is"] == pytest.approx(quality.stress(X, Y), rel=1e-12)
    by_hand = [quality.stress(X, factor * Y) for factor in np.linspace(0.2, 1.2, 1001)]
    assert measured["scaled"] == pytest.approx(min(by_hand), rel=1e-5)
    assert measured["scaled"] <= min(by_hand)
    assert scores.sigma(pdist(X), 7 * X)["scaled"] == pytest.approx(0, abs=1e-12)
    assert scores.sigma(pdist(X), 7 * X)["as_is"] == pytest.approx(6)


def test_a_map_of_one_spot_has_all_its_stress():
    X = np.arange(6.0)[:, None]
    assert scores.sigma(pdist(X), np.zeros((6, 2))) == {"as_is": 1.0, "scaled": 1.0}


@pytest.mark.parametrize("key", ["driftmap", "ipca"])
def test_every_cell_of_a_method_that_can_do_everything_is_a_number(row, key):
    measured = row(key)
    assert all(np.isfinite(measured[column]) for _, column, _ in report.COLUMNS)
    assert measured["final_sigma_scaled"] <= measured["final_sigma"]


def test_the_measured_map_is_the_map(row, stream):
    mapper = methods.Driftmap()
    before = mapper.fit(stream.points[: stream.half])
    after = mapper.add(stream.points[stream.half :], stream.points)
    measured = row("driftmap")
    assert measured["final_sigma"] == pytest.approx(quality.stress(stream.points, after), rel=1e-9)
    assert measured["moved_max"] == pytest.approx(quality.displacement(before, after[: stream.half]).max, rel=1e-9)


def test_what_a_method_cannot_do_is_no_with_the_reason(tmp_path, stream):
    found = answers(tmp_path, Stuck(), stream)
    assert "seconds" in found["fit"]
    assert found["place"]["no"] == "cannot map new points"
    assert found["add"]["no"] == "ZeroDivisionError: division by zero"
    assert "single" not in found
    assert run.outcome("single", found) == {"no": "cannot map new points"}
    late = {"fit": found["fit"], "place": found["place"], "end": {"no": "too slow (> 1 s)"}}
    assert run.outcome("single", late) == {"no": "cannot map new points"}
    assert run.outcome("add", late) == {"no": "too slow (> 1 s)"}


def test_a_map_that_is_not_finite_is_no_map(tmp_path, stream):
    method = Stuck()
    method.fit = lambda X: np.full((len(X), 2), np.nan)
    found = answers(tmp_path, method, stream)
    assert "not finite" in found["fit"]["no"]
    assert set(found) == {"fit"}


def test_a_method_that_is_too_slow_says_so(stream):
    long = data.Stream("long", np.tile(stream.points, (40, 1)) + np.arange(4800)[:, None])
    slow = run.halves("naive", long, 0.5, 8.0, 1)
    assert all(slow[column] == {"no": "too slow (> 0.5 s)"} for _, column, _ in report.COLUMNS)


@pytest.mark.skipif(importlib.util.find_spec("tapkee") is not None, reason="tapkee is installed here")
def test_a_missing_peer_says_so(stream):
    missing = run.halves("tapkee", stream, *LIMITS)
    assert all("not installed" in missing[column]["no"] for _, column, _ in report.COLUMNS)


def test_the_table_has_all_cells_and_a_note_for_every_no(row):
    no = {"no": "cannot map new points"}
    text = report.table([row("driftmap"), row("ipca") | {"place_rate": no, "place_ms": no}])
    lines = text.splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 4
    assert {line.count("|") for line in table} == {len(report.COLUMNS) + 3}
    assert table[3].count("no [1]") == 2
    assert "no" not in table[2]
    assert lines[-1] == "[1] cannot map new points"


def test_following_a_stream_places_its_latest_points(stream):
    followed = run.follow("ipca", stream, *LIMITS)
    assert followed["seen"] == child.moments(len(stream.points))
    assert followed["seen"][-1] == len(stream.points)
    assert len(followed["sigma"]) == child.MOMENTS
    assert followed["no"] is None


def test_long_streams_are_judged_by_a_sample():
    long = data.Stream("long", np.zeros((data.ALL_PAIRS + 1, 1)))
    assert len(np.unique(long.sample)) == data.SAMPLE
    assert len(data.Stream("short", np.zeros((50, 1))).sample) == 50


def test_names_in_the_figure_do_not_overlap():
    figure = Figure(figsize=(5, 4))
    canvas, axes = FigureCanvasAgg(figure), figure.subplots()
    crowd = [(0.5, 0.5 + 0.01 * i, {"label": f"a method, {i}"}) for i in range(6)]
    canvas.draw()
    figures._label_points(axes, crowd, canvas.get_renderer())
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in axes.texts if text.get_text()]
    assert len(boxes) == 6
    assert all(box.count_overlaps(boxes) == 1 for box in boxes)  # only with itself


def test_lines_under_drift_are_shown_whole_with_driftmap_and_its_window_in_each_panel(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, path, **how: drawn.append(figure))
    keys = ("driftmap", "driftmap-window", "ipca", "umap")
    rows = [
        {"method": key, "label": key, "learns": True, "has_scale": True, "seen": [1, 2], "sigma": [0.1, 0.2 + i]}
        for i, key in enumerate(keys)
    ]
    figures.recent_sigma(rows, tmp_path / "drift.png")
    panels = drawn[0].axes
    assert [[line.get_ydata()[1] for line in axes.lines] for axes in panels] == [[2.2, 0.2, 1.2], [3.2, 0.2, 1.2]]
    assert all(axes.get_ylim()[0] == 0 and axes.get_ylim()[1] > 3.2 for axes in panels)
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()][:2] == ["driftmap", "driftmap-window"]


def test_the_window_forgets():
    method = methods.DriftmapWindow()
    method.fit(np.random.default_rng(0).standard_normal((methods.WINDOW + 100, 2)))
    assert method.model.landmark_mass_.sum() == methods.WINDOW


def test_the_command_writes_its_files(tmp_path, capsys):
    options = ["--quick", "--data", "s-curve", "--methods", "driftmap-lmds", "ipca", "--limit", "60"]
    peers.main([*options, "-o", str(tmp_path)])
    results = json.loads((tmp_path / "peers.json").read_text())
    assert [line["method"] for line in results["streams"][0]["rows"]] == ["driftmap-lmds", "ipca"]
    assert results["machine"]["threads"] == 1
    assert capsys.readouterr().out.strip() == (tmp_path / "peers.md").read_text().strip()
    assert (tmp_path / "peers-rate.png").stat().st_size > 10_000


# --- sheets, loops, classes -------------------------------------------------------------------------------------------


def test_errors_on_sheets_loops_and_classes():
    rng = np.random.default_rng(0)
    sheet, angle = rng.random((200, 2)), np.linspace(0, 2 * np.pi, 200)[:, None]
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    assert manifolds.sheet_error(sheet, 3 * sheet[:, ::-1] + 1) == pytest.approx(0, abs=1e-7)
    assert manifolds.loop_error(angle, 5 * circle + 2) == pytest.approx(0, abs=1e-12)
    assert manifolds.loop_error(angle, sheet) > 0.9
    classes = np.repeat([0, 1], 3)
    assert manifolds.class_error(classes, np.array([[0.0], [1], [2], [9], [10], [1.4]])) == pytest.approx(3 / 6)


def test_a_method_learns_a_stream_and_places_new_points():
    few = manifolds.Case("few", lambda seed: sheets.s_curve(seed, 300, 60), manifolds.sheet_error, "error")
    placed = manifolds.measure("driftmap-isomap", few, 60.0, 8.0)
    assert all(np.isfinite(placed[name]) for name in ("fit_seconds", "place_rate", "memory_mb", "error", "trust"))
    assert placed["error"] < 0.1
    slow = placed | {"error": {"no": "too slow (> 1 s)"}}
    assert "| no [1] |" in manifolds.table(few, [placed, slow])
    assert manifolds.table(few, [placed, slow]).endswith("[1] too slow (> 1 s)")


def test_the_answers_of_a_method_that_maps_only_what_it_is_fitted_to(tmp_path, stream):
    method = Stuck()
    method.needs_all = True
    child.once(method, stream.points, 100, child.Answers(tmp_path / "answers.jsonl"), tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "place.npy"), stream.points[100:, :2])


def test_a_later_run_replaces_its_rows_only():
    old = {"streams": [{"name": "SPY", "rows": [{"method": "umap", "n": 1}, {"method": "ipca", "n": 1}]}]}
    new = {"streams": [{"name": "S-curve", "rows": []}, {"name": "SPY", "rows": [{"method": "ipca", "n": 2}]}]}
    rest = {"followed": [], "missing": {"SPY": "no file", "Hospital": "no file"}}
    results = peers.updated(old | rest, new | rest)
    assert [stream["name"] for stream in results["streams"]] == ["S-curve", "SPY"]
    assert results["streams"][1]["rows"] == [{"method": "ipca", "n": 2}, {"method": "umap", "n": 1}]
    assert results["missing"] == {"Hospital": "no file"}
