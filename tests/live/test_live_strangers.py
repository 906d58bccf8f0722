"""The live view among strangers: connections that say nothing, tokens of all kinds, failures of the view."""

import contextlib
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest

import browser as real
from driftmap.cli import main, watch
from driftmap.cli import serving as page_of
from driftmap.live.scene import Scene
from driftmap.tables.writers import _csv_cell
from driftmap.web.columns import GrowingColumn

pytest.importorskip("uvicorn", reason="the extra live is not installed")
from driftmap.live import connections, server
from driftmap.live.server import serving
from strangers import crowd, get, write_rows

chromium = real.chromium


def new_scene():
    scene = Scene("A stream", [GrowingColumn("kind", "category")], 50, "kind")
    scene.append(0, np.zeros((3, 2)), [scene.columns[0].add(["a", "b", "a"])], np.zeros(3, np.int64))
    return scene


# --- connections ---


@pytest.mark.skipif(sys.platform == "win32", reason="limits are those of other systems")
def test_half_open_connections_do_not_end_a_run_with_few_descriptors(tmp_path):
    write_rows(tmp_path / "s.csv", 300)
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)); from driftmap.cli import main; "
    )
    words = ["watch", "s.csv", "--host", "127.0.0.1", "--port", "0", "--no-open", "--checkpoint", "c.ckpt"]
    process = subprocess.Popen(
        [sys.executable, "-c", f"{limited}sys.exit(main({[*words, '--checkpoint-every', '0s']!r}))"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    address = re.search(r"http\S+", process.stderr.readline())[0]
    rows, saved = tmp_path / "s.csv", tmp_path / "c.ckpt"
    with contextlib.ExitStack() as stack:
        stack.callback(process.kill)
        n = stack.enter_context(crowd(urlsplit(address).port, 1500))
        assert n > 300
        for _ in range(5):
            before = saved.stat().st_mtime_ns if saved.exists() else 0

            def is_saved(before=before):
                write_rows(rows, 5)
                return process.poll() is not None or (saved.exists() and saved.stat().st_mtime_ns > before)

            real.eventually(is_saved)
            assert process.poll() is None, process.communicate()[1]
        assert get(address).status == 303  # an honest browser is let in
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=real.PATIENCE)[1]
    assert process.returncode == 130, said
    assert int(re.search(r"stopped after ([\d,]+) rows", said)[1].replace(",", "")) > 300
    assert "Traceback" not in said
    assert "page" not in said


def test_a_connection_that_says_nothing_is_closed(monkeypatch):
    monkeypatch.setattr(connections, "PATIENCE", 0.2)
    with serving(new_scene(), host="127.0.0.1", port=0) as live:
        for said in (b"", b"GET / HTTP/1.1\r\nHost: x\r\n"):
            with socket.create_connection((live.host, live.port), real.PATIENCE) as stranger:
                stranger.sendall(said)
                assert stranger.recv(1000) == b""
        half = f"GET /?token={live.token} HTTP/1.1\r\nHost: {live.host}\r\n\r\nGET / HTTP/1.1\r\n".encode()
        with socket.create_connection((live.host, live.port), real.PATIENCE) as stranger:
            stranger.sendall(half)
            assert b"303" in stranger.recv(1000)
            while stranger.recv(1000):
                pass


def test_a_browser_that_never_answers_is_closed_and_one_that_is_hidden_is_not(monkeypatch):
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    monkeypatch.setattr(server, "PATIENCE", 0.3)
    scene = new_scene()
    with serving(scene, port=0) as live:
        where = {"uri": f"ws://127.0.0.1:{live.port}/stream", "origin": f"http://127.0.0.1:{live.port}"}
        with connect(**where) as silent, connect(**where) as hidden:
            hidden.send("open")
            silent.recv()
            hidden.recv()
            with pytest.raises(ConnectionClosed):
                silent.recv(timeout=real.PATIENCE)
            scene.append(3, np.ones((1, 2)), [scene.columns[0].add(["a"])], np.zeros(1, np.int64))
            with pytest.raises(TimeoutError):  # it has not drawn, so it is sent nothing
                hidden.recv(timeout=0.3)
            hidden.send("3")
            hidden.recv(timeout=real.PATIENCE)


def test_the_oldest_stranger_goes_first_and_those_that_were_let_in_stay(monkeypatch):
    from websockets.sync.client import connect

    monkeypatch.setattr(connections, "MOST_STRANGERS", 5)
    with serving(new_scene(), port=0) as live, contextlib.ExitStack() as stack:
        where = {"uri": f"ws://127.0.0.1:{live.port}/stream", "origin": f"http://127.0.0.1:{live.port}"}
        known = stack.enter_context(connect(**where))
        strangers = [stack.enter_context(socket.create_connection((live.host, live.port))) for _ in range(30)]
        for stranger in strangers[:25]:
            stranger.settimeout(real.PATIENCE)
            with contextlib.suppress(ConnectionResetError):
                assert stranger.recv(1) == b""
        assert get(live.address).status == 200
        known.recv(timeout=real.PATIENCE)


# --- tokens ---


@pytest.mark.parametrize("token", ["a&b+c%d", "%41", 'a b#c?d/e;f=g"h', "pässwörd", "\udcff", "x" * 200])
def test_every_token_gives_an_address_that_works(token):
    with serving(new_scene(), host="127.0.0.1", port=0, token=token) as live:
        assert live.address.isascii()
        assert unquote(urlsplit(live.address).query, errors="surrogateescape") == f"token={token}"
        response = get(live.address)
        assert response.status == 303
        cookie = response.getheader("Set-Cookie").split(";")[0]
        assert get(f"http://{live.host}:{live.port}/", Cookie=cookie).status == 200
        assert get(f"http://{live.host}:{live.port}/?token=a").status == 403
        assert get(f"http://{live.host}:{live.port}/", Cookie=f"{cookie}0").status == 403


def test_two_servers_of_one_machine_have_cookies_of_two_names():
    with serving(new_scene(), host="127.0.0.1", port=0) as one, serving(new_scene(), host="127.0.0.1", port=0) as two:
        cookies = [get(live.address).getheader("Set-Cookie").split(";")[0] for live in (one, two)]
        assert cookies[0].split("=")[0] != cookies[1].split("=")[0]
        for live in (one, two):
            assert get(f"http://{live.host}:{live.port}/", Cookie="; ".join(cookies)).status == 200


def test_a_browser_is_opened_without_the_token_in_its_arguments(chromium, monkeypatch, capsys):
    opened = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("DRIFTMAP_TOKEN", "a&b")
    monkeypatch.setattr(webbrowser, "open", opened.append)
    for host in ("127.0.0.1", None):
        with page_of.serving(host, 0, new_scene(), opens=True) as live:
            real.eventually(lambda: opened)
            address = opened.pop()
            if host is None:
                assert address == live.address
                continue
            assert live.token not in unquote(address)
            file = Path(urlsplit(address).path)
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
            page = chromium.new_page()
            page.goto(address)
            real.expect(page.locator("h1")).to_have_text("A stream")
            assert page.url == f"http://127.0.0.1:{live.port}/"
            page.close()
        assert not file.parent.exists()


# --- failures ---


def test_a_view_that_fails_is_reported_once_and_the_run_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "s.csv", 50)
    monkeypatch.setattr(watch.Watcher, "show", lambda *rows: 1 / 0)
    monkeypatch.setattr(threading.Event, "wait", _stop_when_the_stream_has_ended(threading.Event.wait))
    with (tmp_path / "s.csv").open() as rows:
        monkeypatch.setattr(sys, "stdin", rows)
        assert main(["watch", "-", "--no-open", "--port", "0", "-o", "o.csv"]) == 130
    said = capsys.readouterr().err
    assert said.count("the page stops showing the stream: division by zero; the run goes on") == 1
    assert "the stream has ended" in said
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 51


def _stop_when_the_stream_has_ended(wait):
    def waits(event, timeout=None):
        if (
            timeout is None
            and threading.current_thread() is threading.main_thread()
            and sys._getframe(1).f_code.co_name == "_view"
        ):
            signal.raise_signal(signal.SIGINT)
        return wait(event, timeout)

    return waits


def test_a_server_that_fails_says_so_once(monkeypatch):
    said = []
    monkeypatch.setattr(server.Scene, "message", lambda *seen: 1 / 0)
    with serving(new_scene(), port=0, report=said.append) as live:
        live.fail(OSError(24, "Too many open files"))
        live.fail(ValueError("again"))
    assert said == ["the page is not available to all browsers: Too many open files; the run goes on"]


def test_a_server_that_cannot_start_is_reported(monkeypatch):
    said = []

    def fails(*_):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(server.uvicorn.Server, "serve", fails)
    with serving(new_scene(), port=0, report=said.append):
        real.eventually(lambda: said)
    assert said == ["the page is not available to all browsers: Too many open files; the run goes on"]


# --- the table that is exported ---


def test_exported_cells_are_escaped_as_those_of_the_command_line(chromium):
    cells = [
        "=1+2",
        "+1",
        "-1.5e-7",
        "-.5",
        "-5.",
        "-",
        "-x",
        "@a",
        "\ta",
        "\r",
        "a=b",
        '=a"b',
        "-inf",
        "+NaN",
        "-1_000",
    ]
    cells += ["-1__0", '=HYPERLINK("x","y")', "1,2", "", "- 1", "-1 ", "+Infinity", "-0x10", "-1e", "-e5", "+1e+5"]
    page = chromium.new_page()
    with serving(new_scene(), port=0) as live:
        page.goto(live.address)
        found = page.evaluate(
            'async (cells) => { const { csvCell } = await import("/web/table.js"); return cells.map(csvCell); }', cells
        )
    page.close()
    assert found == [_csv_cell(cell).decode() for cell in cells]
