"""The curves of the live page: how they are thinned; in a browser their lines, labels, gaps, sizes and themes."""

import numpy as np
import pytest

import browser as real
from driftmap.live.curves import CURVES, MOST_SAMPLES, Curves
from driftmap.web.page import joined, page_style

NAMES = ("radius", "stress", "novelty", "rate")
chromium = real.chromium
SCRIPT = """
window.view = new EventTarget();
document.querySelector(".driftmap").append(curvePanel(view));
"""
NOON = 1_700_049_600  # 2023-11-15 12:00:00 UTC


@pytest.fixture
def curves(chromium):
    """A function that opens a page with the panel, 320 pixels wide, and shows it samples."""

    def show(times, values, zone="UTC"):
        page = real.new_page(chromium, timezone_id=zone)
        pages.append(page)
        box = "<div class='driftmap' style='width: 320px; height: auto'></div>"
        page.set_content(f"<style>{page_style()}</style>{box}")
        page.add_script_tag(content=joined("curves.js") + SCRIPT, type="module")
        page.wait_for_function("window.view")
        receive(page, times, values)
        return page

    pages = []
    yield show
    for page in pages:
        assert page.errors == []
        page.context.close()


def receive(page, times, values, names=NAMES):
    """Show samples whose curves have the same values; None is no number."""
    arrays = {"time": times, **dict.fromkeys(names, values)}
    page.evaluate(
        """(arrays) => {
          for (const name in arrays) arrays[name] = Float64Array.from(arrays[name], (value) => value ?? NaN);
          view.dispatchEvent(new CustomEvent("received", { detail: { arrays } }));
        }""",
        arrays,
    )
    real.next_picture(page)


def path(page):
    """The first curve as lists of places, one for each piece without a gap."""
    pieces = page.locator("path").first.get_attribute("d").split("M")[1:]
    return [[tuple(map(float, place.split(","))) for place in piece.split("L")] for piece in pieces]


def labels(page, selector, *, panel=False):
    part = page.locator(".panel") if panel else page.locator("svg").first
    return part.locator(selector).all_text_contents()


def last_values(page):
    return page.locator("h3 output:visible").all_text_contents()


def test_the_p_value_is_shown_where_there_is_a_monitor(curves):
    page = curves([NOON, NOON + 20], [3, 1.5])
    assert not page.get_by_text("Drift (").is_visible()
    receive(page, [NOON, NOON + 20], [3, 1.5], names=[*NAMES, "drift"])
    assert page.get_by_text("Drift (").is_visible()
    assert last_values(page) == ["1.5"] * 5


def test_thinned_curves_keep_every_peak_and_dip_and_the_last_sample():
    curves, n = Curves(), 20_000
    novelty, radius = np.full(n, 0.5), np.full(n, 2.0)
    peaks = np.arange(24) * 800 + 357
    novelty[peaks] = 10 + np.arange(24)
    radius[peaks + 3] = 1 - np.arange(24) / 100
    for i in range(n):
        curves.add(dict.fromkeys(CURVES, 0.0) | {"time": i, "rows": 7 * i, "novelty": novelty[i], "radius": radius[i]})
        assert len(curves) <= MOST_SAMPLES
    table = dict(zip(CURVES, curves.table().T, strict=True))
    assert set(table["novelty"]) == set(novelty)
    assert set(table["radius"]) == set(radius)
    for values, extreme in ((table["novelty"], novelty[peaks]), (table["radius"], radius[peaks + 3])):
        places = [table["time"][values == value][0] for value in extreme]
        np.testing.assert_allclose(places, peaks, atol=2 * n / MOST_SAMPLES * 4)
    assert (np.diff(table["time"]) > 0).all()
    assert (table["rows"] == 7 * table["time"]).all()
    assert table["time"][-1] == n - 1
    assert len(curves) > MOST_SAMPLES / 3


def test_thinning_leaves_out_what_is_no_number_where_there_is_another_one():
    curves = Curves()
    for i in range(5000):
        curves.add(dict.fromkeys(CURVES, float(i)) | {"stress": np.nan if i % 2 else 0.3, "radius": np.nan})
    table = dict(zip(CURVES, curves.table()[:-2].T, strict=True))
    assert (table["stress"] == 0.3).all()
    assert np.isnan(table["radius"]).all()


def test_each_curve_is_a_line_through_its_samples(curves):
    page = curves([NOON, NOON + 10, NOON + 20], [0, 10, 5])
    assert page.locator("path").count() == len(NAMES)
    assert page.locator("svg").first.get_attribute("aria-label") == "Radius: 5"
    [[first, second, third]] = path(page)
    assert second[0] - first[0] == pytest.approx(third[0] - second[0], abs=0.1)
    assert (first[1] - third[1]) / (first[1] - second[1]) == pytest.approx(0.5, abs=0.01)
    receive(page, [NOON, NOON + 10], [3, 4])
    assert len(path(page)[0]) == 2
    assert page.locator("svg").first.get_attribute("aria-label") == "Radius: 4"


@pytest.mark.parametrize(
    ("seconds", "zone", "expected"),
    [
        (20, "UTC", ["12:00:00", "12:00:10"]),
        (240, "UTC", ["12:00", "12:02"]),
        (240, "Asia/Kolkata", ["17:30", "17:32"]),
        (6 * 3600, "Asia/Kolkata", ["18:00", "20:00", "22:00"]),
        (8 * 86400, "UTC", ["11-16", "11-19", "11-22"]),
        (0.5, "UTC", ["12:00:00"]),
        (0, "UTC", ["12:00:00"]),
    ],
)
def test_times_are_those_of_the_readers_clock(curves, seconds, zone, expected):
    assert labels(curves([NOON, NOON + seconds], [1, 2], zone), ".times text", panel=True) == expected


@pytest.mark.parametrize(
    ("highest", "expected"),
    [(0, ["0"]), (2, ["0", "1", "2"]), (1.5e-7, ["0", "1.000e-7"]), (3210, ["0", "2,000"])],
)
def test_values_are_labelled_in_round_numbers(curves, highest, expected):
    assert labels(curves([NOON, NOON + 20], [0, highest]), ".value") == expected


def test_a_value_that_is_no_number_is_a_gap(curves):
    page = curves(list(range(NOON, NOON + 6)), [None, 1, 2, None, 3, 4])
    assert [len(piece) for piece in path(page)] == [2, 2]
    receive(page, [NOON, NOON + 1], [None, None])
    assert path(page) == []


def test_curves_follow_the_width_and_the_theme(curves):
    page = curves([NOON, NOON + 10], [1, 2])
    colour = "getComputedStyle(document.querySelector('path')).stroke"
    width, light = path(page)[0][-1][0], page.evaluate(colour)
    page.evaluate("document.querySelector('.driftmap').style.width = '620px'")
    real.eventually(lambda: path(page)[0][-1][0] == pytest.approx(width + 300, abs=0.2))
    page.evaluate("document.querySelector('.driftmap').dataset.theme = 'dark'")
    assert page.evaluate(colour) != light


def test_one_sample_is_no_curve_yet(curves):
    page = curves([NOON], [1])
    assert page.locator("path").count() == 0
    receive(page, [NOON, NOON + 1], [1, 1])
    assert page.locator("path").count() == len(NAMES)


def test_the_last_value_stands_beside_the_title_and_one_axis_below_all_curves(curves):
    page = curves([NOON, NOON + 20], [3, 1.5])
    assert last_values(page) == ["1.5"] * len(NAMES)
    assert page.locator(".times").count() == 1
    width, axis = (page.locator(part).bounding_box() for part in (".panel", ".times"))
    for label in page.locator(".times text").all():
        box = label.bounding_box()
        assert box["x"] >= width["x"]
        assert box["x"] + box["width"] <= width["x"] + width["width"]
    assert axis["y"] > page.locator(".curve path").last.bounding_box()["y"]


def test_a_burst_at_the_start_does_not_flatten_the_rate_but_every_peak_of_novelty_is_shown(curves):
    page = curves([NOON + i for i in range(40)], [200_000, 150_000, *[1000] * 38])
    heights = {}
    for name, line in zip(NAMES, page.locator(".curve path").all(), strict=True):
        heights[name] = [float(place.split(",")[1]) for place in line.get_attribute("d")[1:].split("L")]
    assert heights["rate"][0] < heights["rate"][-1] < heights["rate"][0] + 40
    assert heights["novelty"][-1] - heights["novelty"][0] > 38
    assert last_values(page) == [*["1,000"] * 3, "1,000 (peak 200,000)"]
