"""Drift in the live view, in recordings and in the page of a comparison."""

import io

import numpy as np
import pytest

import browser as real
from driftmap import compare
from driftmap.live.messages import read_message
from driftmap.live.recording import Recorder, records
from driftmap.live.watching import Watcher
from driftmap.map import StreamMap
from driftmap.map.drift import DriftMonitor
from driftmap.pipeline import MapOperator
from driftmap.web.protocol import decode

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((1500, 3))
ROWS[900:, 1] += 3.0
chromium = real.chromium


@pytest.fixture
def watched():
    """A watcher that has seen a drift, and the drift."""
    watcher = Watcher("rows", ["a", "b", "c"])
    operator = MapOperator(StreamMap(2, n_landmarks=20), monitor=DriftMonitor(80))
    updates = []
    for i in range(0, 1100, 50):
        updates.append(operator.on_batch(ROWS[i : i + 50]))
        watcher.observe(updates[-1], operator.mapper)
        watcher.refresh()
    (drift,) = [drift for update in updates for drift in update.drifts]
    return watcher, operator, drift


def test_a_drift_is_an_alert_and_its_cells_are_on_the_map(watched):
    watcher, operator, drift = watched
    header, arrays = decode(watcher.scene.message(None)[0])
    (alert,) = [alert for alert in header["alerts"] if alert.get("kind") == "drift"]
    assert (alert["row"], alert["began"], alert["p_value"]) == drift[:3]
    assert alert["text"] == f"Drift since row {drift.began:,}"
    assert header["change"] == alert
    assert arrays["change"].tolist() == pytest.approx(drift.log_ratios(), abs=1e-5)
    assert arrays["change"].max() > 1
    engine = operator.mapper._landmark_engine()
    points = engine.stored_points(np.array([one.landmark for one in drift.landmarks]))
    placed = operator.mapper.given_frame()[1].place_queries(engine.store, points)
    assert np.column_stack([arrays["change_x"], arrays["change_y"]]) == pytest.approx(placed, abs=1e-3)


def test_the_change_is_sent_once_and_again_when_its_cells_move(watched):
    watcher, operator, drift = watched
    seen = watcher.scene.message(None)[1]
    assert watcher.scene.message(seen) is None
    for i in range(1100, 1500, 50):
        watcher.observe(operator.on_batch(4 * ROWS[i : i + 50]), operator.mapper)
        watcher.refresh()
    header, arrays = decode(watcher.scene.message(seen)[0])
    assert operator.mapper.given_frame()[0] > 1
    assert header["change"]["began"] >= drift.began
    assert len(arrays["change_x"]) == len(arrays["change"]) > 0


def test_a_recording_holds_the_drift(watched):
    watcher = watched[0]
    file = io.BytesIO()
    Recorder(watcher.scene, file).write()
    ((_, message),) = records(file, "it")
    header, arrays = read_message(message, n_columns=None)
    assert header["change"]["kind"] == "drift"
    with pytest.raises(ValueError, match="not both there"):
        from driftmap.web.protocol import encode

        read_message(encode({key: part for key, part in header.items() if key != "change"}, arrays), n_columns=None)


def test_the_page_of_a_comparison_says_what_changed(chromium, tmp_path):
    found = compare(ROWS[:600], ROWS[900:], n_landmarks=20, names=("before <b>", "now"))
    path = tmp_path / "change.html"
    found.save(path)
    page = real.new_page(chromium, offline=True)
    page.goto(path.as_uri())
    panel = page.locator(".change")
    real.expect(panel).to_contain_text("now against before <b>: p = 1e-4")
    rows = panel.locator("tr").all_inner_texts()
    assert rows[1].split()[0] == "x1"
    assert page.locator("select").first.input_value() == "change of the cell (log2)"
    low, high = page.locator(".ends span").all_inner_texts()
    assert float(low) == -float(high)
    assert page.errors == []
    page.context.close()
