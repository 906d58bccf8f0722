"""Measure latency, rates, frames per second and memory of the live view: ``python -m benchmarks.live``.

A row has arrived when it is in the file. It is drawn when the browser (Chromium with software rendering) has finished a
frame with it, which is detected by reading back a pixel. Both times are from the clock of this machine.
"""

import argparse
import contextlib
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from tests import browser as real
from websockets.sync.client import connect

from driftmap.live.scene import Scene
from driftmap.live.server import serving
from driftmap.live.watching import Watcher
from driftmap.map import StreamMap
from driftmap.map.novelty import NoveltyDetector
from driftmap.pipeline.observer import Update
from driftmap.tables.table import Chunk
from driftmap.web.columns import GrowingColumn
from driftmap.web.protocol import decode

FEATURES = 8
POINTS = 10_000
PARTS = ("latency", "rate", "pictures", "hover", "memory")
WAIT_FOR_PIXELS = "gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));"
NOTE_DRAWN = """
window.drawn = [];
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (text) {
  const gl = document.querySelector("canvas.points").getContext("webgl2");
  %s
  window.drawn.push([performance.timeOrigin + performance.now(), Number(text)]);
  send.call(this, text);
};
"""
COUNT_PICTURES = """
window.pictures = 0;
const clear = WebGL2RenderingContext.prototype.clear;
WebGL2RenderingContext.prototype.clear = function (mask) {
  const gl = this;
  if (!gl.getParameter(gl.FRAMEBUFFER_BINDING)) {
    %s
    window.pictures++;
  }
  clear.call(this, mask);
};
"""
HOVER = """async (moves) => {
  const map = document.querySelector(".map");
  const box = map.getBoundingClientRect();
  const times = [];
  for (let i = 0; i < moves; i++) {
    const [clientX, clientY] = [box.left + box.width * Math.random(), box.top + box.height * Math.random()];
    const start = performance.now();
    map.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY, pointerType: "mouse" }));
    times.push(performance.now() - start);
    await new Promise(requestAnimationFrame);
  }
  return times;
}"""


def process_time(pid):
    """Return the CPU seconds that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def browser_time():
    """Return the CPU seconds that the browsers of this process have used so far."""
    parents, times = {}, {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            name, fields = (entry / "stat").read_text().rsplit(")", 1)
            parents[int(entry.name)] = int(fields.split()[1])
            if "chrom" in name:
                times[int(entry.name)] = sum(map(int, fields.split()[11:13])) / os.sysconf("SC_CLK_TCK")

    def is_ours(pid):
        return pid == os.getpid() or (pid in parents and is_ours(parents[pid]))

    return sum(seconds for pid, seconds in times.items() if is_ours(pid))


def rows_of_a_drift(n, rng, at):
    """Return rows around a slowly moving point."""
    steps = np.cumsum(rng.standard_normal((n, FEATURES)), axis=0) * 0.01
    return at + steps + rng.standard_normal((n, FEATURES))


@contextlib.contextmanager
def watched_file():
    """Yield a file that ``driftmap watch`` follows, opened for appending, the process, and its address."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.csv"
        with path.open("a", buffering=1 << 20) as file:
            file.write(",".join(f"c{i}" for i in range(FEATURES)) + "\n")
            file.write(_text(rows_of_a_drift(POINTS, np.random.default_rng(0), 0.0)))
            file.flush()
            command = [sys.executable, "-m", "driftmap", "watch", str(path), "--no-open", "--port", "0"]
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            try:
                address = re.search(r"http://\S+", process.stderr.readline())[0]
                time.sleep(4)
                yield file, process, address
            finally:
                process.terminate()
                process.communicate()


class Writer(threading.Thread):
    """Appends rows to a file 100 times a second, and records the time and number of rows after each write."""

    def __init__(self, file, rate, seconds):
        super().__init__()
        rng, n = np.random.default_rng(1), max(1, rate // 100)
        self.file, self.n, self.times = file, n, []
        self.texts = [_text(rows_of_a_drift(n, rng, 0.002 * k)) for k in range(int(rate * seconds / n))]

    def run(self):
        """Write at the requested rate."""
        start, written = time.monotonic(), POINTS
        for k, text in enumerate(self.texts):
            wait = start + k / 100 - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            self.file.write(text)
            self.file.flush()
            written += self.n
            self.times.append((time.time(), written))

    def latencies(self, seen):
        """Return the milliseconds from arrival until rows were seen, given pairs of a time in seconds and row count."""
        seen = np.array(seen)
        place = np.minimum(np.searchsorted(seen[:, 1], [number for _, number in self.times]), len(seen) - 1)
        return 1000 * (seen[place, 0] - [moment for moment, _ in self.times])


def watch_in_browser(browser, rate, seconds):
    """Return the latencies from arrival to pixels, in ms."""
    with watched_file() as (file, _, address):
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.add_init_script(NOTE_DRAWN % WAIT_FOR_PIXELS)
        page.goto(address)
        page.wait_for_timeout(2000)
        writer = Writer(file, rate, seconds)
        writer.start()
        while writer.is_alive():
            page.wait_for_timeout(200)
        page.wait_for_timeout(3000)
        drawn = page.evaluate("window.drawn.map(([time, rows]) => [time / 1000, rows])")
        page.close()
    return writer.latencies(drawn)


def watch_by_program(rate, seconds):
    """Return latencies from arrival to a program that reads messages, in ms, and the CPU share of the server."""
    seen, done = [], threading.Event()

    def read(address):
        with connect(f"ws{address[4:]}stream", origin=address.rstrip("/"), max_size=None) as socket:
            while not done.is_set():
                with contextlib.suppress(TimeoutError):
                    header, arrays = decode(socket.recv(timeout=0.5))
                    seen.append((time.time(), header["first"] + len(arrays.get("x", ()))))
                    socket.send("drawn")

    with watched_file() as (file, process, address):
        reader, writer = threading.Thread(target=read, args=[address]), Writer(file, rate, seconds)
        reader.start()
        time.sleep(1)
        spent, start = process_time(process.pid), time.monotonic()
        writer.start()
        writer.join()
        share = (process_time(process.pid) - spent) / (time.monotonic() - start)
        time.sleep(2)
        done.set()
        reader.join()
    return writer.latencies(seen), share


def _text(rows):
    return "".join(",".join(f"{value:.5g}" for value in row) + "\n" for row in rows)


def frames_per_second(browser, n, seconds):
    """Return frames per second and CPU time per frame, with n gliding points and 1,000 new ones per message."""
    rng = np.random.default_rng(0)
    scene = Scene("speed", [GrowingColumn("v", "number")], n)
    scene.append(0, rng.standard_normal((n, 2)), [rng.random(n)])
    stopped = threading.Event()

    def change():
        while not stopped.wait(0.1):
            scene.append(scene.rows.next, rng.standard_normal((1000, 2)), [rng.random(1000)])
            scene.move(scene.rows.oldest, rng.standard_normal((n, 2)))

    with serving(scene, port=0) as server:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.add_init_script(COUNT_PICTURES % WAIT_FOR_PIXELS)
        page.goto(server.address)
        page.wait_for_timeout(2000)
        thread = threading.Thread(target=change)
        thread.start()
        page.wait_for_timeout(1000)
        before, start, spent = page.evaluate("window.pictures"), time.monotonic(), browser_time()
        page.wait_for_timeout(1000 * seconds)
        pictures, passed = page.evaluate("window.pictures") - before, time.monotonic() - start
        spent = browser_time() - spent
        stopped.set()
        thread.join()
        page.close()
    return pictures / passed, spent / pictures


def hover_times(browser, n, moves=300):
    """Return the milliseconds that the page takes for each move of the pointer over n points."""
    rng = np.random.default_rng(0)
    scene = Scene("hover", [GrowingColumn("v", "number")], n)
    scene.append(0, rng.standard_normal((n, 2)), [rng.random(n)])
    with serving(scene, port=0) as server:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(server.address)
        page.wait_for_timeout(2000)
        times = page.evaluate(HOVER, moves)
        page.close()
    return times


def memory(n_rows):
    """Learn, map and show rows; return the peak memory in MB after each tenth of them, rows/s, and number of frames.

    The rows follow a random walk, so that the landmarks keep changing.
    """
    rng, at, batch = np.random.default_rng(0), np.zeros(FEATURES), 1000
    mapper, detector = StreamMap(), NoveltyDetector()
    watcher, seen = Watcher("memory", [f"c{i}" for i in range(FEATURES)]), None
    peaks, start = [], time.process_time()
    for first in range(0, n_rows, batch):
        at += 0.1 * rng.standard_normal(FEATURES)
        rows = rows_of_a_drift(batch, rng, at)
        arrivals = mapper.update(rows, detector=detector)
        update = Update("mapping", first, Chunk(rows), True, arrivals.coordinates, reach=arrivals.reach)
        watcher.observe(update._replace(alerts=arrivals.alerts, nearest=arrivals.nearest), mapper)
        if first // batch % 10 == 0:
            watcher.refresh()
            changed = watcher.scene.message(seen)
            seen = seen if changed is None else changed[1]
        if (first + batch) % (n_rows // 10) == 0:
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return peaks, n_rows / (time.process_time() - start), mapper.frame_


def show_latency(browser, rate, seconds):
    """Print the latency of pixels."""
    median, high = np.percentile(watch_in_browser(browser, rate, seconds), [50, 99])
    print(
        f"{rate:,} rows/s for {seconds} s, {POINTS:,} points shown: from arrival to pixels median {median:.0f} ms, "
        f"p99 {high:.0f} ms",
        flush=True,
    )


def show_rate(rate, seconds):
    """Print the latency of messages, without drawing."""
    late, share = watch_by_program(rate, seconds)
    median, high = np.percentile(late, [50, 99])
    print(
        f"{rate:,} rows/s for {seconds} s: from arrival to message median {median:.0f} ms, p99 {high:.0f} ms, "
        f"in the last second {np.median(late[-100:]):.0f} ms; driftmap watch takes {share:.0%} of a processor",
        flush=True,
    )


def show_pictures(browser, n, seconds):
    """Print the frames per second with n points."""
    speed, spent = frames_per_second(browser, n, seconds)
    print(
        f"{n:,} gliding points, 1,000 more with each message: {speed:.1f} pictures/s, "
        f"{1000 * spent:.0f} ms of processor time each",
        flush=True,
    )


def show_hover(browser, n):
    """Print the time of a hover over n points."""
    median, high = np.percentile(hover_times(browser, n), [50, 99])
    print(f"{n:,} points, hover: median {median:.1f} ms, p99 {high:.1f} ms", flush=True)


def show_memory(n_rows):
    """Print the memory used for a long stream."""
    peaks, rate, frames = memory(n_rows)
    print(f"{n_rows:,} rows learnt, mapped and shown in {frames} frames: {rate:,.0f} rows per second of processor time")
    print("peak memory after each tenth, MB: " + " ".join(f"{peak:.0f}" for peak in peaks), flush=True)


def main():
    """Print the requested parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", help="a tenth of the rows, a third of the time")
    length.add_argument("--long", action="store_true", help="ten times the rows: memory takes about ten minutes")
    args = parser.parse_args()
    seconds = 10 if args.quick else 30
    n_rows = 10**6 if args.quick else 10**8 if args.long else 10**7
    parts = args.parts or PARTS
    if {*parts} & {"latency", "pictures", "hover"}:
        with real.running() as browser:
            if "latency" in parts:
                show_latency(browser, 1000, seconds)
            if "pictures" in parts:
                show_pictures(browser, 100_000, seconds / 3)
            if "hover" in parts:
                show_hover(browser, 100_000)
    if "rate" in parts:
        show_rate(1000, seconds)
        show_rate(10_000, seconds)
    if "memory" in parts:
        show_memory(n_rows)


if __name__ == "__main__":
    main()
