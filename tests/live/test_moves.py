"""The live view says when the map moves, and why; between two frames rows stay where they are."""

import io

import numpy as np
import pytest

import browser as real
from driftmap.live.messages import read_message
from driftmap.live.recording import Recorder, records
from driftmap.live.scene import Move, Scene
from driftmap.live.server import serving
from driftmap.live.watching import Watcher
from driftmap.map import StreamMap
from driftmap.pipeline import MapOperator
from driftmap.web.columns import GrowingColumn
from driftmap.web.protocol import decode, encode

chromium = real.chromium
CORNERS = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0]])


def test_rows_are_sent_again_only_when_the_map_has_moved():
    rng = np.random.default_rng(0)
    operator, watcher, seen, frame = MapOperator(StreamMap(n_landmarks=10)), Watcher("t", ["a", "b", "c"]), None, 0
    n_moves = n_stays = 0
    places = {}
    for i in range(80):
        watcher.observe(operator.on_batch(rng.standard_normal((5, 3)) * (1 + i / 10)), operator.mapper)
        watcher.refresh()
        message, seen = watcher.scene.message(seen)
        header, arrays = decode(message)
        now = operator.mapper.given_frame()[0]
        at = dict(
            zip(arrays["landmark"].tolist(), zip(arrays["landmark_x"], arrays["landmark_y"], strict=True), strict=True)
        )
        if now == frame:
            n_stays += 1
            assert "moved_x" not in arrays
            assert "moved" not in header
            assert all(at[arrival] == places[arrival] for arrival in at.keys() & places.keys())
        elif frame:
            n_moves += 1
            change = operator.mapper.frames_[-1]
            assert len(arrays["moved_x"]) == 5 * i
            assert header["moved"] == Move(now, change.arrival, change.reason, change.displacement.median)._asdict()
        frame, places = now, at
    assert n_moves > 2 < n_stays
    assert decode(watcher.scene.message(None)[0])[0]["moved"]["frame"] == frame  # also for one who comes later


def test_a_recording_keeps_it_and_refuses_what_is_none():
    scene = scene_of(CORNERS)
    scene.move(0, 2 * CORNERS, Move(2, 3, "stress", 0.5))
    file = io.BytesIO()
    Recorder(scene, file).write()
    ((_, message),) = records(file, "it")
    header, arrays = read_message(message, n_columns=None)
    copy = Scene("t", [GrowingColumn("v", "number")], capacity=10)
    copy.apply(header, arrays)
    assert decode(copy.message(None)[0])[0]["moved"] == {"frame": 2, "row": 3, "reason": "stress", "median": 0.5}
    for wrong in ({"frame": -1}, {"reason": 3}, {"median": "far"}, {"other": 1}):
        with pytest.raises(ValueError, match="moved"):
            read_message(encode(header | {"moved": header["moved"] | wrong}, arrays), n_columns=None)


def scene_of(points):
    scene = Scene("t", [GrowingColumn("v", "number")], capacity=10)
    scene.append(0, points, [np.zeros(len(points))])
    return scene


def test_the_page_says_why_and_points_glide_only_then(chromium):
    scene = scene_of(CORNERS)
    inside = np.array([[2.0, 1.0]])
    with serving(scene, port=0) as server:
        page = real.new_page(chromium)
        page.goto(server.address)
        panel = page.locator(".panel", has_text="It moved after row")
        real.expect(page.locator(".time output")).to_have_text("row 3")
        page.get_by_role("button", name="Trail").click()
        assert not panel.is_visible()
        scene.append(4, inside, [np.zeros(1)])  # without a new frame
        real.expect(page.locator(".time output")).to_have_text("row 4")
        page.wait_for_timeout(100)
        images = []
        for _ in range(3):  # during what would be a glide
            images.append(real.pixels(page))
            page.wait_for_timeout(150)
        at = [*real.places(page, CORNERS, CORNERS), *real.places(page, inside, CORNERS)]
        assert all(real.spot(image, place)[0] > 60 for image in images for place in at)
        assert not panel.is_visible()
        scene.move(0, np.concatenate([CORNERS, inside + [0, 1]]), Move(7, 1234, "recent points", 0.034))
        real.expect(panel).to_contain_text(
            "Frame 7. It moved after row 1,234, because recent rows had no good place; half of"
        )
        real.expect(panel).to_contain_text("moved 3.4 % of its width or less.")
        assert page.errors == []
        page.context.close()
