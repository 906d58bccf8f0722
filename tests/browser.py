"""A real browser for tests of what it shows: Chromium by Playwright, drawing in software."""

import contextlib
import io
import shutil
import time

import numpy as np
import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VIEWPORT = {"width": 1000, "height": 640}
PATIENCE = 30
"""Seconds to wait for what should happen soon: other work may take the processors."""


@contextlib.contextmanager
def running():
    """A browser as long as the block lasts, or a skipped test with the reason."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as manager:
        browser = manager.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture(scope="module")
def chromium():
    """A browser for the tests of a module."""
    with running() as browser:
        yield browser


def expect(locator):
    """Playwright's assertions, which wait until they hold."""
    from playwright.sync_api import expect as expected

    expected.set_options(timeout=1000 * PATIENCE)
    return expected(locator)


def eventually(condition, seconds=PATIENCE):
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def next_picture(page):
    """Wait until what has changed is drawn."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def new_page(browser, *, scripts=(), **options):
    """A page in a context of its own, whose console errors and requests are recorded."""
    page = browser.new_context(viewport=VIEWPORT, accept_downloads=True, **options).new_page()
    page.errors, page.requests = [], []
    page.on("console", lambda message: page.errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("request", lambda request: page.requests.append(request.url))
    for script in scripts:
        page.add_init_script(script)
    return page


def places(page, points, box):
    """Where points are on the screen, in the map's element, when the map shows a box."""
    size = page.locator(".map").bounding_box()
    low, high = box.min(axis=0), box.max(axis=0)
    scale = 0.9 * min(size["width"] / (high - low)[0], size["height"] / (high - low)[1])
    return (points - (low + high) / 2) * scale * [1, -1] + [size["width"] / 2, size["height"] / 2]


def pixels(page, selector=".map"):
    """What an element shows, as an array of colours from 0 to 255."""
    from matplotlib.image import imread

    image = imread(io.BytesIO(page.locator(selector).screenshot()))
    return np.rint(255 * image[:, :, :3]).astype(int)


def spot(image, at, reach=2):
    """How far the colours near a place are from the background, at most, and the colour that is farthest."""
    x, y = (round(value) for value in at)
    near = image[max(0, y - reach) : y + reach + 1, max(0, x - reach) : x + reach + 1].reshape(-1, 3)
    background = image[8, image.shape[1] - 9]
    gaps = np.abs(near - background).sum(axis=1)
    return int(gaps.max()), near[gaps.argmax()]
