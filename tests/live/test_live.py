"""The live view: its scene, protocol, server, recordings and command, and its page in a real browser."""

import contextlib
import http.client
import itertools
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import browser as real
from driftmap import DriftMap
from driftmap.cli import main
from driftmap.live.recording import Recorder, Replay
from driftmap.live.scene import CURVES, Landmarks, Scene
from driftmap.live.ticker import Ticker
from driftmap.live.watching import Watcher
from driftmap.map import StreamMap
from driftmap.pipeline.observer import Update
from driftmap.sources.generated import NEW, OUTLIER, GeneratedRows, generated_row
from driftmap.tables.table import Chunk
from driftmap.utils.errors import InputError
from driftmap.web.columns import GrowingColumn
from driftmap.web.protocol import decode

pytest.importorskip("uvicorn", reason="the extra live is not installed")
from driftmap.live.server import Server, serving

CORNERS = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0]])
SCRIPT = "<script>window.hacked = 1</script>"
ALARM = (200, 50, 31)
COUNT_MESSAGES = """window.received = 0;
  const dispatch = EventTarget.prototype.dispatchEvent;
  EventTarget.prototype.dispatchEvent = function (event) {
    if (event.type === "received") window.received++;
    return dispatch.call(this, event); };"""
chromium = real.chromium


def new_scene(title="A stream", capacity=50, names=("kind", "v")):
    return Scene(title, [GrowingColumn(names[0], "category"), GrowingColumn(names[1], "number")], capacity, names[0])


def add(scene, positions, first=None):
    n = len(positions)
    values = [scene.columns[0].add(["a", "b"] * n)[:n], np.arange(n, dtype=float)]
    scene.append(scene.rows.next if first is None else first, np.asarray(positions), values, np.zeros(n, np.int64))


def shown(scene):
    """Everything that a scene shows, by a message to a new browser."""
    header, arrays = decode(scene.message(None)[0])
    return header | {name: array.tolist() for name, array in arrays.items()}


# --- scene and protocol ---


def test_a_browser_that_asks_at_any_times_ends_with_what_a_new_one_sees():
    rng = np.random.default_rng(0)
    scene = new_scene(capacity=20)
    seen, mirror = None, new_scene(capacity=20)
    for _ in range(300):
        what = rng.integers(5)
        if what == 0:
            add(scene, rng.standard_normal((rng.integers(1, 30), 2)))
        elif what == 1:
            scene.move(scene.rows.oldest, rng.standard_normal((scene.rows.next - scene.rows.oldest, 2)))
        elif what == 2:
            m = int(rng.integers(1, 4))
            scene.set_landmarks(Landmarks(np.arange(m), rng.standard_normal((m, 2)), np.ones(m)))
        elif what == 3:
            scene.add_sample(dict.fromkeys(CURVES, float(rng.random())))
            scene.add_alerts([{"row": int(rng.integers(100))}] * int(rng.integers(3)))
        elif rng.random() < 0.5 and (changed := scene.message(seen)) is not None:
            message, seen = changed
            mirror.apply(*decode(message))
            assert shown(mirror) == shown(scene)
    assert seen.next > 500


def test_the_scene_and_its_messages_are_bounded():
    scene = new_scene(capacity=100)
    _, seen = scene.message(None)
    for _ in range(50):
        add(scene, np.zeros((30, 2)))
        scene.add_sample(dict.fromkeys(CURVES, 0.0))
        scene.add_alerts([{"row": 0}] * 30)
    header, arrays = decode(scene.message(seen)[0])
    assert (header["kind"], header["first"], len(arrays["x"]), len(header["alerts"])) == ("delta", 1400, 100, 100)
    for _ in range(2000):
        scene.add_sample(dict.fromkeys(CURVES, 0.0))
    assert len(decode(scene.message(None)[0])[1]["time"]) < 600
    texts = scene.columns[0].add([str(i) for i in range(5000)])
    assert len(scene.columns[0].names) == 1000
    assert np.isnan(texts).sum() > 3000


@pytest.mark.parametrize(
    ("labels", "kind", "values"),
    [
        (["1", "2.5", "x"], "number", [1, 2.5, np.nan]),
        (["", "2026-01-01", "2026-01-01T00:01:00+00:00"], "date", [np.nan, 0, 60]),
        (["x", "1", "x"], "category", [0, 1, 0]),
        (np.array([3.0, 4.0]), "number", [3, 4]),
        (np.array(["2026-01-01", "2026-01-02"], "datetime64[D]"), "date", [0, 86400]),
    ],
)
def test_labels_of_a_stream_are_numbers_dates_or_text(labels, kind, values):
    column = GrowingColumn("c")
    np.testing.assert_array_equal(column.add(labels), values)
    assert column.kind == kind


def test_a_watcher_places_all_rows_again_when_the_landmarks_change():
    rng = np.random.default_rng(0)
    mapper, watcher, rows = StreamMap(n_landmarks=5), Watcher("t", ["a", "b", "c"], capacity=100), []
    for first in range(0, 300, 50):
        X = rng.standard_normal((50, 3)) * (1 + first / 100)
        rows.append(X)
        arrivals = mapper.update(X)
        watcher.observe(Update("mapping", first, Chunk(X), True, arrivals.coordinates), mapper)
    watcher.refresh()
    header, arrays = decode(watcher.scene.message(None)[0])
    expected = mapper.transform(np.concatenate(rows)[-100:]).astype(np.float32)
    np.testing.assert_array_equal(np.column_stack([arrays["x"], arrays["y"]]), expected)
    assert header["first"] == 200
    assert arrays["landmark"].tolist() == mapper.landmark_indices_.tolist()
    assert [column["name"] for column in header["columns"]] == ["novelty", "a", "b", "c"]


def test_a_recording_is_played_as_it_was_and_a_cut_one_up_to_the_cut(tmp_path):
    path, scene, rng = tmp_path / "r.driftmap", new_scene(capacity=30), np.random.default_rng(0)
    with path.open("wb") as file:
        recorder = Recorder(scene, file)
        for _ in range(5):
            add(scene, rng.standard_normal((10, 2)))
            recorder.write()
            scene.move(scene.rows.oldest, rng.standard_normal((scene.rows.next - scene.rows.oldest, 2)))
            recorder.write()
    replay = Replay(path)
    replay.play(1e9)
    assert shown(replay.scene) == shown(scene)
    path.write_bytes(path.read_bytes()[:-3])
    replay = Replay(path)
    replay.play(1e9)
    assert replay.scene.rows.next == 50
    assert shown(replay.scene) != shown(scene)
    path.write_bytes(b"something else")
    with pytest.raises(InputError, match=r"r\.driftmap is not a recording"):
        Replay(path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_recorded_message_may_say_that_it_has_no_names():
    shown = new_scene()
    before = [list(column.names) for column in shown.columns]
    shown.apply({"names": None, "alerts": []}, {})
    assert [list(column.names) for column in shown.columns] == before


def test_a_full_disk_ends_the_recording_and_is_said_once():
    said, scene = [], new_scene()
    with contextlib.suppress(OSError), open("/dev/full", "wb") as file:
        recorder = Recorder(scene, file, said.append)
        for _ in range(3):
            add(scene, CORNERS)
            recorder.write()
    assert said == ["the recording ends here: No space left on device"]


def test_generated_lines_are_the_same_from_every_position_and_have_what_is_promised():
    source = GeneratedRows(rate=1e9)
    lines, position = source.read(0, 100)
    while position < 400:
        more, position = source.read(position, 100)
        lines += more
    assert GeneratedRows(rate=1e9).read(250, 20)[0] == lines[250:270]
    assert {generated_row(i)[0] for i in range(NEW)} == {0, 1, 2, 4}
    assert 3 in {generated_row(i)[0] for i in range(NEW, NEW + 50)}
    assert generated_row(OUTLIER)[0] == 4


# --- server ---


def request(server, path="/", host=None, **headers):
    connection = http.client.HTTPConnection(server.host, server.port, timeout=5)
    connection.request("GET", path, headers={"Host": host or f"{server.host}:{server.port}", **headers})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response, text


def test_the_server_refuses_foreign_hosts_origins_and_paths():
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    with serving(new_scene(), port=0) as server:
        response, page = request(server)
        policy = response.getheader("Content-Security-Policy")
        assert response.status == 200
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"https?://", page)
        assert request(server, host=f"localhost:{server.port}")[0].status == 200
        for host in (f"evil.example:{server.port}", "[", "127.0.0.1.evil.example", "localhost@evil.example"):
            assert request(server, host=host)[0].status == 403
        assert request(server, Origin="http://evil.example")[0].status == 403
        assert request(server, "/web/../server.py")[0].status == 404
        assert request(server, "/web/%2e%2e/server.py")[0].status == 404
        for origin in ("http://evil.example", "null", None):
            with pytest.raises(InvalidStatus, match="403"):
                connect(f"ws://127.0.0.1:{server.port}/stream", origin=origin)
        with connect(f"ws://127.0.0.1:{server.port}/stream", origin=f"http://127.0.0.1:{server.port}") as browser:
            assert decode(browser.recv())[0]["kind"] == "whole"


def test_with_a_host_everything_needs_the_token():
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    with serving(new_scene(), host="127.0.0.1", port=0) as server:
        assert len(server.token) > 15
        assert server.token in server.address
        for path in ("/", "/web/page.js", "/?token=wrong", "/?token=é"):
            assert request(server, path.encode("ascii", "ignore").decode())[0].status == 403
        response, _ = request(server, f"/?token={server.token}")
        cookie = response.getheader("Set-Cookie").split(";")[0]
        assert (response.status, response.getheader("Location")) == (303, "/")
        assert "HttpOnly" in response.getheader("Set-Cookie")
        assert request(server, "/web/page.js", Cookie=cookie)[0].status == 200
        assert (
            request(server, "/", Cookie=f"{cookie}x")[0].status
            == request(server, "/", Cookie="\x01=[")[0].status
            == 403
        )
        own = f"http://127.0.0.1:{server.port}"
        with pytest.raises(InvalidStatus, match="403"):
            connect(f"ws://127.0.0.1:{server.port}/stream", origin=own)
        with connect(
            f"ws://127.0.0.1:{server.port}/stream", origin=own, additional_headers={"Cookie": cookie}
        ) as browser:
            assert decode(browser.recv())[0]["kind"] == "whole"


def test_a_browser_that_has_not_drawn_is_sent_nothing_and_then_only_the_newest():
    from websockets.sync.client import connect

    scene = new_scene(capacity=100)
    add(scene, np.zeros((10, 2)))
    with contextlib.ExitStack() as stack:
        own = f"127.0.0.1:{stack.enter_context(serving(scene, port=0)).port}"
        browser = stack.enter_context(connect(f"ws://{own}/stream", origin=f"http://{own}"))
        browser.recv()
        for _ in range(20):
            add(scene, np.zeros((50, 2)))
        with pytest.raises(TimeoutError):
            browser.recv(timeout=0.3)
        assert browser.recv(timeout=5) == "1010"  # how far it is behind
        browser.send("10")
        header, arrays = decode(browser.recv(timeout=5))
    assert (header["first"], len(arrays["x"])) == (910, 100)


def test_a_port_in_use_is_named():
    with (
        serving(new_scene(), port=0) as server,
        pytest.raises(InputError, match=f"port {server.port}, cannot be listened"),
    ):
        Server(new_scene(), port=server.port)


# --- the page ---


@pytest.fixture
def watch(chromium):
    pages = []

    def open_page(server, **options):
        page = real.new_page(chromium, **options)
        page.server = server.port
        page.goto(server.address)
        page.locator(".map").wait_for()
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        assert [error for error in page.errors if "ERR_CONNECTION_REFUSED" not in error] == []
        assert all(url.startswith((f"http://127.0.0.1:{page.server}/", "blob:", "data:")) for url in page.requests)
        assert page.evaluate("window.hacked") is None
        page.context.close()


def places(page, points=CORNERS):
    return real.places(page, points, CORNERS)


def test_javascript_reads_what_python_writes(watch):
    rng, scene = np.random.default_rng(0), new_scene(capacity=40)
    add(scene, rng.standard_normal((25, 2)))
    with serving(scene, port=0) as server:
        page = watch(server)
        page.evaluate(
            """async () => {
              const { decodeMessage } = await import("/web/protocol.js");
              const { PointStore } = await import("/web/store.js");
              window.socket = new WebSocket(`ws://${location.host}/stream`);
              window.socket.binaryType = "arraybuffer";
              window.socket.onmessage = ({ data }) => {
                const { header, arrays } = decodeMessage(data);
                if (header.kind === "whole") {
                  window.store = new PointStore(header.capacity, header.columns.length);
                  window.store.next = window.store.oldest = header.first;
                }
                if (arrays.moved_x) window.store.move(header.oldest, arrays.moved_x, arrays.moved_y, -1e9);
                const { x, y, v0, v1, nearest } = arrays;
                if (x) window.store.append(header.first, x, y, [v0, v1], nearest);
                window.socket.send("drawn");
              };
            }"""
        )
        for step in range(12):
            add(scene, rng.standard_normal((7, 2)))
            if step % 3 == 0:
                scene.move(scene.rows.oldest, rng.standard_normal((scene.rows.next - scene.rows.oldest, 2)))
            page.wait_for_timeout(30)
        real.eventually(lambda: page.evaluate("window.store?.next") == scene.rows.next)
        page.wait_for_timeout(50)
        places_, values = page.evaluate(
            """() => { const { store } = window; const slots = [];
              for (let i = store.oldest; i < store.next; i++) slots.push(store.slot(i));
              return [slots.map((slot) => [store.to[2 * slot], store.to[2 * slot + 1]]),
                      slots.map((slot) => store.values[1][slot])]; }"""
        )
    _, arrays = decode(scene.message(None)[0])
    np.testing.assert_array_equal(np.array(places_, np.float32), np.column_stack([arrays["x"], arrays["y"]]))
    np.testing.assert_array_equal(values, arrays["v1"])


def test_landmarks_that_get_new_masses_only_go_on_gliding_as_they_did(watch):
    with serving(new_scene(), port=0) as server:
        places_ = watch(server).evaluate(
            """async () => {
              const { LandmarkHistory, LandmarkSet } = await import("/web/landmarks.js");
              const history = new LandmarkHistory();
              const add = (x, mass, now) => history.add(new LandmarkSet([7], [x], [0], [mass], 9), now);
              add(0, 1, 0);
              add(0, 2, 1000);
              const still = history.latest.blend(1000);
              add(8, 2, 2000);
              for (let now = 2100; now < 2500; now += 100) add(8, 3, now);
              return [still, ...[2000, 2250, 2500].map((now) => history.latest.position(0, now)[0])];
            }"""
        )
    assert places_ == [1, 0, 4, 8]


def test_nothing_lies_over_anything_else_on_a_phone(watch):
    with serving(new_scene()) as server:
        page = watch(server)
        page.set_viewport_size({"width": 390, "height": 844})
        boxes = [page.locator(part).bounding_box() for part in ("header", ".map", "aside", "footer")]
    for above, below in itertools.pairwise(boxes):
        assert above["y"] + above["height"] <= below["y"] + 1


def test_points_appear_glide_and_are_the_same_in_two_browsers(watch):
    scene = new_scene(names=(SCRIPT, "v"), title=SCRIPT)
    add(scene, CORNERS)
    with serving(scene, port=0) as server:
        pages = [watch(server, scripts=[COUNT_MESSAGES]) for _ in range(2)]
        for page in pages:
            page.bring_to_front()
            page.get_by_role("button", name="Trail").click()
            real.expect(page.locator(".time output")).to_have_text("row 3")
            assert all(real.spot(real.pixels(page), place)[0] > 60 for place in places(page))
        page = pages[1]
        assert page.locator("h1").inner_text() == SCRIPT
        page.clock.install()
        page.clock.pause_at(time.time() + 3600)
        inside = np.array([[2.0, 1.0]])
        add(scene, inside)
        real.eventually(lambda: page.evaluate("window.received") == 2)
        page.clock.run_for(100)
        assert real.spot(real.pixels(page), places(page, inside)[0])[0] > 60
        goal = np.array([[2.0, 2.0]])
        scene.move(0, np.concatenate([CORNERS, goal]))
        real.eventually(lambda: page.evaluate("window.received") == 3)
        page.clock.run_for(250)
        image, halfway = real.pixels(page), (inside + goal) / 2
        gliding = [real.spot(image, places(page, halfway + [[0, y]])[0])[0] for y in (-0.15, 0, 0.15)]
        assert max(gliding) > 60
        assert real.spot(image, places(page, goal)[0])[0] == 0
        page.clock.run_for(600)
        image = real.pixels(page)
        assert real.spot(image, places(page, goal)[0])[0] > 60
        assert real.spot(image, places(page, inside)[0])[0] == 0
        page.clock.resume()


def test_the_trail_and_rings_around_alerts_lie_over_the_points(watch):
    scene = new_scene()
    add(scene, CORNERS)
    alert = {"row": 1, "time": None, "reach": None, "quantile": 1.0, "nearest": 0, "features": []}
    scene.add_alerts([alert])
    with serving(scene, port=0) as server:
        page = watch(server)
        real.expect(page.locator(".time output")).to_have_text("row 3")
        image, (middle, at) = real.pixels(page), places(page, np.array([[2.0, 1.5], [4.0, 0.0]]))
        assert real.spot(image, middle, reach=1)[0] > 100  # every group has its trail: a diagonal
        assert np.abs(real.spot(image, at - [9, 0], reach=1)[1] - ALARM).max() < 40
        assert real.spot(image, at - [14, 0], reach=1)[0] == 0
        page.get_by_role("button", name="Trail").click()
        real.next_picture(page)
        assert real.spot(real.pixels(page), middle, reach=1)[0] == 0


def test_a_paused_page_stays_and_then_catches_up(watch):
    scene = new_scene(capacity=50)
    add(scene, CORNERS)
    with serving(scene, port=0) as server:
        page = watch(server)
        time_shown = page.locator(".time output")
        real.expect(time_shown).to_have_text("row 3")
        page.get_by_role("button", name="Pause").click()
        add(scene, np.tile(CORNERS, (30, 1)))
        page.wait_for_timeout(300)
        add(scene, np.tile(CORNERS, (30, 1)))
        page.wait_for_timeout(300)
        assert int(re.sub(r"\D", "", time_shown.inner_text())) <= 123
        real.expect(page.locator(".status")).to_have_text("Paused, 120 rows behind")
        page.get_by_role("button", name="Resume").click()
        real.expect(time_shown).to_have_text("row 243")
        assert page.locator("input[type=range]").get_attribute("min") == "195"
        page.locator("input[type=range]").fill("220")
        real.expect(time_shown).to_have_text("row 219")
        assert page.get_by_role("button", name="Resume").is_visible()


def test_a_page_connects_again_when_the_server_is_back(watch):
    scene = new_scene("Before")
    add(scene, CORNERS)
    with serving(scene, port=0) as server:
        page = watch(server)
        real.expect(page.locator("h1")).to_have_text("Before")
        port = server.port
    real.expect(page.locator(".banner")).to_contain_text("connection is lost")
    real.expect(page.locator(".map")).to_have_css("filter", "grayscale(1)")
    after = new_scene("After")
    add(after, CORNERS)
    with serving(after, port=port):
        real.expect(page.locator("h1")).to_have_text("After")
        real.expect(page.locator(".time output")).to_have_text("row 3")
        real.expect(page.locator(".banner")).to_be_hidden()
        real.expect(page.locator(".map")).to_have_css("filter", "none")


# --- the command ---


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def start_watching(folder):
    """Starts the command in a process of its own, with this on standard input, and says where it serves."""
    processes = []

    def start(*arguments, given=None):
        command = [sys.executable, "-m", "driftmap", "watch", *arguments, "--no-open", "--port", "0"]
        stdin = None if given is None else subprocess.PIPE
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=stdin, text=True)
        processes.append(process)
        if given is not None:
            process.stdin.write(given)
            process.stdin.close()
            process.stdin = None
        line = process.stderr.readline()
        assert "live at http://127.0.0.1:" in line, line + process.stderr.read()
        process.port = int(re.search(r":(\d+)/", line)[1])
        process.host, process.address = "127.0.0.1", f"http://127.0.0.1:{process.port}/"
        return process

    yield start
    for process in processes:
        if process.returncode is None:
            process.kill()
            process.communicate()


def stop(process):
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=real.PATIENCE)[1]


def write_rows(path, n, seed=0):
    rng = np.random.default_rng(seed)
    with path.open("a") as file:
        for i, (a, b, c) in enumerate(rng.standard_normal((n, 3)).round(4)):
            file.write(f"{'ab'[i % 2]},{a},{b},{c}\n")


def test_a_growing_file_is_watched_recorded_saved_and_replayed(folder, watch, start_watching):
    path = folder / "s.csv"
    path.write_text(f"kind,{SCRIPT},y,z\n")
    write_rows(path, 300)
    process = start_watching("s.csv", "--label", "kind", "--record", "r.driftmap", "--checkpoint", "c.ckpt")
    page = watch(process)
    real.expect(page.locator(".time output")).to_have_text("row 299")
    assert page.get_by_label("Colour by").locator("option").all_inner_texts() == [
        "arrival",
        "kind",
        "novelty",
        SCRIPT,
        "y",
        "z",
    ]
    write_rows(path, 200, seed=1)
    real.expect(page.locator(".time output")).to_have_text("row 499")
    real.expect(page.locator(".curve path").first).to_be_visible()
    page.wait_for_timeout(300)
    said = stop(process)
    assert "stopped after 500 rows" in said
    assert "state saved in c.ckpt" in said
    assert re.search(r"\d+ alerts?", said)  # --alert is 0.999 by default
    assert "--record" not in said  # the command to go on with cannot write that file again
    assert main(["embed", "s.csv", "--label", "kind", "-o", "o.csv", "--landmarks-out", "l.csv"]) == 0
    alone = [int(line.split(",")[0]) for line in (folder / "l.csv").read_text().splitlines()[1:]]
    assert DriftMap.load("c.ckpt").landmark_indices_.tolist() == alone
    process = start_watching("--replay", "r.driftmap", "--speed", "100")
    page = watch(process)
    real.expect(page.locator("h1")).to_have_text("s.csv")
    real.expect(page.locator(".time output")).to_have_text("row 499")
    stop(process)
    write_rows(path, 10, seed=2)
    process = start_watching("s.csv", "--label", "kind", "--checkpoint", "c.ckpt", "--resume")
    said = stop(process)
    assert "stopped after 510 rows" in said or "stopped after 500 rows" in said


def test_a_pipe_that_ends_stays_in_view(watch, start_watching):
    process = start_watching("-", given="a,b,c\n" + "".join(f"{i % 7},{i % 5},{i % 3}\n" for i in range(50)))
    page = watch(process)
    real.expect(page.locator(".time output")).to_have_text("row 49")
    assert "the stream has ended" in process.stderr.readline()
    stop(process)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "watch shows one thing"),
        (["t.csv", "--demo"], "watch shows one thing"),
        (["t.csv", "--speed", "2"], "--speed is for --replay"),
        (["none.csv", "--no-open"], "none.csv"),
        (["--replay", "t.csv", "--no-open"], "t.csv is not a recording"),
        (["--replay", "none.driftmap", "--no-open"], "none.driftmap"),
        (["t.csv", "--record", "t.csv", "--no-open"], "--record (t.csv) is the same file as the input"),
        (["t.csv", "--components", "1"], "--components 1 is a line"),
        (["t.parquet"], "cannot be followed"),
        (["t.csv", "--port", "70000"], "must be at most 65535"),
        (["t.csv", "--format", "jsonl"], "where watch writes none"),
        (["--replay", "r.driftmap", "-o", "o.csv"], "--replay shows what was recorded: leave out -o"),
        (["--replay", "r.driftmap", "--record", "s.driftmap"], "leave out --record"),
        (["--replay", "r.driftmap", "--checkpoint", "c.ckpt"], "leave out --checkpoint"),
        (["--replay", "r.driftmap", "--landmarks", "9"], "leave out --landmarks"),
        (["--replay", "r.driftmap", "--alert", "3"], "leave out --alert"),
        (["--replay", "r.driftmap", "--points", "50"], "leave out --points"),
        (["t.csv", "--host", "203.0.113.1", "--no-open"], "cannot be listened on"),
    ],
)
def test_mistakes_are_named(folder, capfd, arguments, problem):
    (folder / "t.csv").write_text("a,b,c\n1,2,3\n4,5,6\n7,8,1\n")
    assert main(["watch", *arguments]) == 2
    error = capfd.readouterr().err
    assert problem in error
    assert len(error.splitlines()) <= 2


def test_without_the_extra_it_is_named(folder, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "driftmap.live.server")
    assert main(["watch", "--demo"]) == 2
    assert 'pip install "driftmap[live]"' in capfd.readouterr().err


def test_a_ticker_takes_no_more_than_a_third_of_the_time():
    calls = []
    ticker = Ticker(lambda: (calls.append(time.monotonic()), time.sleep(0.02)), 0.001)
    real.eventually(lambda: len(calls) > 4)
    ticker.stop()
    n = len(calls)
    time.sleep(0.1)
    assert len(calls) == n
    assert np.diff(calls[:4]).min() > 0.055


def test_a_killed_recorder_leaves_a_recording(folder, start_watching):
    process = start_watching("--demo", "--record", "r.driftmap")
    real.eventually(lambda: os.path.getsize("r.driftmap") > 20_000)
    process.kill()
    process.communicate()
    replay = Replay(folder / "r.driftmap")
    replay.play(1e9)
    assert replay.scene.rows.next > 50
