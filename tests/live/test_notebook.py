"""The live view in a notebook, in a real Jupyter server and a real browser."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import urllib.request
from importlib.util import find_spec

import numpy as np
import pytest

import browser as real
from driftmap import DriftMap
from driftmap.utils.errors import InputError
from driftmap.web.protocol import decode

pytest.importorskip("anywidget", reason="the extra notebook is not installed")
chromium = real.chromium
ROWS = np.random.default_rng(0).standard_normal((400, 4))
FIRST = """\
import numpy as np
from driftmap import DriftMap
view = DriftMap(n_landmarks=20).watch(label="<script>")
view"""
SECOND = """\
for i in range(4):
    rows = np.random.default_rng(i).standard_normal((100, 4)) + i
    view.update(rows, labels=["ab"[j % 2] for j in range(100)])
print("four", "batches")"""


def test_a_view_learns_as_the_map_alone_does_and_shows_the_last_rows():
    mapper, alone = DriftMap(n_landmarks=10), DriftMap(n_landmarks=10)
    with contextlib.closing(mapper.watch(points=150)) as view:
        for rows in np.split(ROWS, 4):
            arrivals, expected = view.update(rows, labels=["a"] * 100), alone.update(rows)
        widget = view._screen.widget
        real.eventually(lambda: widget.scene and decode(widget.scene)[0]["first"] == 250)
        header, arrays = decode(widget.scene)
        assert {"text/plain", "application/vnd.jupyter.widget-view+json"} <= set(view._repr_mimebundle_()[0])
    np.testing.assert_array_equal(arrivals.coordinates, expected.coordinates)
    np.testing.assert_array_equal(mapper.landmark_indices_, alone.landmark_indices_)
    np.testing.assert_array_equal(arrays["x"][50:], expected.coordinates[:, 0].astype(np.float32))
    assert [column["name"] for column in header["columns"]] == ["label", "novelty", "x0", "x1", "x2", "x3"]


def test_what_cannot_be_shown_is_named_and_not_learnt():
    mapper = DriftMap(n_landmarks=10)
    with contextlib.closing(mapper.watch()) as view:
        with pytest.raises(InputError, match="X must be rows of numbers"):
            view.update([["a", "b"]])
        with pytest.raises(InputError, match="labels must have one entry for each of the 400 rows"):
            view.update(ROWS, labels=["a"])
        assert not mapper.__sklearn_is_fitted__()
    with pytest.raises(InputError, match="points must be at least 10"):
        mapper.watch(points=1)


@pytest.fixture
def jupyter(tmp_path):
    """The address of a notebook that a Jupyter server shows."""
    if find_spec("jupyterlab") is None:
        pytest.skip("JupyterLab is not installed")
    cells = [
        {"cell_type": "code", "id": str(i), "execution_count": None, "metadata": {}, "outputs": [], "source": source}
        for i, source in enumerate((FIRST, SECOND))
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "map.ipynb").write_text(json.dumps(notebook))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = [
        f"--ServerApp.port={port}",
        "--ServerApp.ip=127.0.0.1",
        "--IdentityProvider.token=secret",
        "--no-browser",
    ]
    settings += [
        "--allow-root",
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    environment = os.environ | {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    command = [sys.executable, "-m", "jupyterlab", *settings]
    server = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def answers():
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/api?token=secret") as reply:
            return reply.status == 200

    try:
        real.eventually(answers, 120)
        yield f"http://127.0.0.1:{port}/lab/tree/map.ipynb?token=secret"
    finally:
        server.terminate()
        server.wait()


def test_the_widget_runs_in_a_real_notebook(jupyter, chromium):
    page = real.new_page(chromium)
    page.goto(jupyter)
    first = page.locator(".jp-CodeCell").first
    first.wait_for(timeout=60_000)
    page.get_by_text("| Idle").wait_for(timeout=60_000)  # else there is no kernel yet that could run a cell
    first.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    page.locator(".driftmap .map").wait_for(timeout=60_000)
    page.locator(".jp-CodeCell").nth(1).locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    page.get_by_text("four batches").wait_for(timeout=30_000)
    real.expect(page.locator(".driftmap .time output")).to_have_text("row 399")
    assert page.locator(".driftmap select option").all_inner_texts()[:3] == ["arrival", "<script>", "novelty"]
    page.wait_for_timeout(1000)
    image = real.pixels(page, ".driftmap .map")
    background = image[8, -9]
    assert (np.abs(image - background).sum(axis=2) > 100).mean() > 0.003
    assert [error for error in page.errors if "driftmap" in error.lower()] == []
