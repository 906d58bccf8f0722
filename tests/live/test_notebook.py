"""The live view in a notebook, in a real Jupyter server and a real browser."""

import base64
import contextlib
import json
import os
import socket
import subprocess
import sys
import urllib.request
from importlib.util import find_spec
from xml.etree import ElementTree

import numpy as np
import pytest

import browser as real
from driftmap import DriftMap
from driftmap.utils.errors import InputError
from driftmap.web.page import style
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
THIRD = """\
print("selected", len(view.selection), "of", 400)
view.selection = [7, 9]"""
LAST = "view.close()"


def test_a_view_learns_as_the_map_alone_does_and_shows_the_last_rows():
    mapper, alone = DriftMap(n_landmarks=10), DriftMap(n_landmarks=10)
    with contextlib.closing(mapper.watch(points=150)) as view:
        for rows in np.split(ROWS, 4):
            arrivals, expected = view.update(rows, labels=["a"] * 100), alone.update(rows)
        widget = view._screen.widget
        real.eventually(lambda: widget.scene and decode(widget.scene)[0]["first"] == 250)
        header, arrays = decode(widget.scene)
        bundle = view._repr_mimebundle_()[0]
        assert set(bundle) == {"text/plain", "image/svg+xml", "application/vnd.jupyter.widget-view+json"}
        picture = ElementTree.fromstring(bundle["image/svg+xml"])
        assert picture.tag == "{http://www.w3.org/2000/svg}svg"
        assert len(bundle["image/svg+xml"]) < 30_000
        assert len(json.dumps(widget.get_state(), default=str)) < 100_000  # what a notebook stores
    np.testing.assert_array_equal(arrivals.coordinates, expected.coordinates)
    np.testing.assert_array_equal(mapper.landmark_indices_, alone.landmark_indices_)
    np.testing.assert_array_equal(arrays["x"][50:], expected.coordinates[:, 0].astype(np.float32))
    assert [column["name"] for column in header["columns"]] == ["label", "novelty", "x0", "x1", "x2", "x3"]


def test_the_selection_is_a_list_of_arrival_numbers_that_can_be_set_and_followed():
    with contextlib.closing(DriftMap(n_landmarks=10).watch()) as view:
        view.update(ROWS)
        seen = []
        view.on_selection(seen.append)
        view.selection = np.array([3, 5])
        assert view.selection == [3, 5]
        assert seen == [[3, 5]]
        for wrong in (["a"], [-1], [[1]], [0.5]):
            with pytest.raises(InputError, match="selection must be arrival numbers"):
                view.selection = wrong
        assert view.selection == [3, 5]


@pytest.mark.parametrize(
    ("option", "hint"), [("labels", "give color, a value for each row"), ("tilte", "did you mean 'title'")]
)
def test_a_wrong_option_of_plot_is_named_with_the_right_one(option, hint):
    with pytest.raises(TypeError, match=rf"DriftMap.plot\(\) has no option '{option}'.*{hint}"):
        DriftMap(n_landmarks=10).fit(ROWS).plot(**{option: ["a"] * 400})


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
        for i, source in enumerate((FIRST, SECOND, THIRD, LAST))
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


MODEL = """async ([code, data]) => {
  const widget = (await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })))).default;
  const heard = {};
  window.state = { selection: [] };
  window.sent = [];
  window.model = { get: (name) => state[name], set: (name, value) => (state[name] = value), save_changes() {},
                   send: (message) => sent.push(message), on: (name, call) => (heard[name] = call), off() {} };
  window.hear = (name) => heard[name]();
  widget.render({ model, el: document.body });
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  heard["msg:custom"]({ kind: "scene" }, [new DataView(bytes.buffer)]);
}"""


def test_the_widget_tells_what_is_selected_and_highlights_what_it_is_told(chromium):
    with contextlib.closing(DriftMap(n_landmarks=10).watch()) as view:
        view.update(ROWS)
        real.eventually(lambda: view._screen.widget.scene)
        code, scene = view._screen.widget._esm, view._screen.widget.scene
    page = real.new_page(chromium)
    page.set_content(f"<style>{style()}</style>")
    page.evaluate(MODEL, [str(code), base64.b64encode(scene).decode()])
    assert page.evaluate("sent") == [{"kind": "opened"}]
    selection = page.locator(".driftmap .panel", has_text="Selection")
    page.evaluate("state.selection = [7, 9, 12]; hear('change:selection')")
    real.expect(selection).to_contain_text("3 rows")
    selection.get_by_role("button", name="Clear").click()
    assert page.evaluate("state.selection") == []
    draw_around_everything(page)
    assert page.evaluate("state.selection") == list(range(400))
    assert page.errors == []
    page.context.close()


def draw_around_everything(page):
    corner = page.locator(".driftmap .map").bounding_box()
    page.keyboard.down("Shift")
    page.mouse.move(corner["x"] + 2, corner["y"] + 2)
    page.mouse.down()
    for x, y in ((0, 1), (1, 1), (1, 0)):
        page.mouse.move(corner["x"] + 2 + x * (corner["width"] - 4), corner["y"] + 2 + y * (corner["height"] - 4))
    page.mouse.up()
    page.keyboard.up("Shift")


def run(page, cell):
    page.locator(".jp-CodeCell").nth(cell).locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")


def test_the_widget_runs_in_a_real_notebook(jupyter, chromium):
    page = real.new_page(chromium)
    page.goto(jupyter)
    first = page.locator(".jp-CodeCell").first
    first.wait_for(timeout=60_000)
    page.get_by_text("| Idle").wait_for(timeout=60_000)  # else there is no kernel yet that could run a cell
    first.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    page.locator(".driftmap .map").wait_for(timeout=60_000)
    run(page, 1)
    page.get_by_text("four batches").wait_for(timeout=30_000)
    real.expect(page.locator(".driftmap .time output")).to_have_text("row 399")
    assert page.get_by_label("Colour by").locator("option").all_inner_texts()[:3] == ["arrival", "<script>", "novelty"]
    page.wait_for_timeout(1000)
    image = real.pixels(page, ".driftmap .map")
    background = image[8, -9]
    assert (np.abs(image - background).sum(axis=2) > 100).mean() > 0.003
    assert [error for error in page.errors if "driftmap" in error.lower()] == []
    draw_around_everything(page)
    run(page, 2)
    page.get_by_text("selected 400 of 400").wait_for(timeout=30_000)
    real.expect(page.locator(".driftmap .panel", has_text="Selection")).to_contain_text("2 rows")
    run(page, 3)
    page.locator(".jp-OutputArea-output svg, .jp-RenderedSVG img").first.wait_for(timeout=30_000)
    assert page.locator(".driftmap .map").count() == 0


@pytest.mark.parametrize("closes", [True, False])
def test_an_exported_notebook_has_a_picture_of_the_map(chromium, tmp_path, closes):
    nbformat, nbconvert = (
        pytest.importorskip(name, reason=f"{name} is not installed") for name in ("nbformat", "nbconvert")
    )
    code = [FIRST, SECOND, LAST] if closes else [FIRST.removesuffix("view"), SECOND, "view"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(part) for part in code])
    # As --NotebookClient.store_widget_state=False: pages of widgets need the network.
    runs = nbconvert.preprocessors.ExecutePreprocessor(store_widget_state=closes)
    runs.preprocess(notebook, {"metadata": {"path": str(tmp_path)}})
    path = tmp_path / "map.html"
    path.write_text(nbconvert.HTMLExporter(embed_images=True).from_notebook_node(notebook)[0], "utf-8")
    page = real.new_page(chromium, offline=True)
    page.goto(path.as_uri())
    image = real.pixels(page, ".jp-OutputArea-output svg, .jp-OutputArea-output img")
    assert (np.abs(image - image[0, 0]).sum(axis=2) > 100).mean() > 0.01
    page.context.close()
    assert len(json.dumps(notebook.metadata.get("widgets", {}))) < 100_000
