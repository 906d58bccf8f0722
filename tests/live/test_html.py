"""Maps as HTML files, looked at in a real browser without a network."""

import re

import numpy as np
import pytest

import browser as real
from driftmap.cli import main
from driftmap.plot import html
from driftmap.web.columns import column_of
from driftmap.web.page import WEB, joined
from driftmap.web.palette import GROUP_COLORS, palette_slots
from driftmap.web.protocol import PROTOCOL_VERSION, Quantized, decode, encode, quantize

POINTS = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0], [2.0, 1.0]])
COLOUR = {name: tuple(bytes.fromhex(GROUP_COLORS[slot][1:])) for name, slot in palette_slots(["a", "b"]).items()}
NO_WEBGL = """const get = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
    return kind === "webgl2" ? null : get.call(this, kind, ...more); };"""
chromium = real.chromium


@pytest.fixture
def shown(chromium, tmp_path):
    pages = []

    def show(text, scripts=()):
        path = tmp_path / "map.html"
        path.write_text(text, "utf-8")
        page = real.new_page(chromium, offline=True, scripts=scripts)
        page.goto(path.as_uri())
        real.expect(page.locator(".time output")).not_to_be_empty()
        pages.append((page, path.as_uri()))
        return page

    yield show
    for page, address in pages:
        assert page.errors == []
        assert all(url == address or url.startswith("blob:") for url in page.requests)
        page.context.close()


def places(page, points=POINTS):
    return real.places(page, points, POINTS)


def test_points_are_where_they_should_be_in_the_colours_of_their_groups(shown):
    page = shown(html(POINTS, columns={"kind": list("aabba")}, color="kind"))
    image = real.pixels(page)
    for place, kind in zip(places(page), "aabba", strict=True):
        assert np.abs(real.spot(image, place)[1] - COLOUR[kind]).max() < 12
    between = (places(page)[0] + places(page)[1]) / 2
    assert real.spot(image, between)[0] == 0
    page.locator("select").select_option("")
    real.next_picture(page)
    assert np.abs(real.spot(real.pixels(page), places(page)[0])[1] - COLOUR["a"]).max() > 40


@pytest.mark.parametrize("kind", ["number", "date"])
def test_numbers_and_dates_are_coloured_on_a_scale(shown, kind):
    values = np.array([10.5, 20.5, 30.5, 30.5, 20.5])
    column = values if kind == "number" else np.datetime64("2026-01-01") + values.astype("timedelta64[D]")
    page = shown(html(POINTS, columns={"v": column}, color="v"))
    image, at = real.pixels(page), places(page)
    colours = np.array([real.spot(image, place)[1] for place in at])
    assert np.abs(colours - [(68, 1, 84), (33, 143, 141), (240, 228, 36), (240, 228, 36), (33, 143, 141)]).max() < 25
    ends = page.locator(".ends span").all_inner_texts()
    assert ends == (["10.5", "30.5"] if kind == "number" else ["2026-01-11", "2026-01-31"])


@pytest.mark.parametrize("lost", [False, True])
def test_without_webgl_the_points_are_drawn_as_well_and_a_lost_context_comes_back(shown, lost):
    page = shown(html(POINTS, columns={"kind": list("aabba")}, color="kind"), scripts=[] if lost else [NO_WEBGL])
    if lost:
        page.evaluate("""async () => {
          const canvas = document.querySelector("canvas.points");
          const event = (type) => new Promise((done) => canvas.addEventListener(type, () => setTimeout(done)));
          const loss = canvas.getContext("webgl2").getExtension("WEBGL_lose_context");
          const [isLost, isBack] = [event("webglcontextlost"), event("webglcontextrestored")];
          loss.loseContext();
          await isLost;
          loss.restoreContext();
          await isBack; }""")
        real.next_picture(page)
    image = real.pixels(page)
    for place, kind in zip(places(page), "aabba", strict=True):
        assert np.abs(real.spot(image, place)[1] - COLOUR[kind]).max() < 12


@pytest.mark.parametrize("scripts", [[], [NO_WEBGL]])
def test_landmarks_are_diamonds_of_paper_with_a_line_around_them(shown, scripts):
    landmarks = np.array([[1.0, 2.0], [3.0, 2.0]])
    page = shown(html(POINTS, landmarks, landmark_arrivals=[0, 1], landmark_mass=[1, 4]), scripts=scripts)
    image = real.pixels(page)
    for place, radius in zip(places(page, landmarks), 4 * np.sqrt([1 / 2.5, 4 / 2.5]), strict=True):
        assert real.spot(image, place, reach=0)[0] < 60
        for side in ([radius, 0], [0, -radius]):
            assert real.spot(image, place + side, reach=1)[0] > 250
        assert real.spot(image, place + radius + 2, reach=1)[0] == 0
    page.locator(".map").press("m")
    real.next_picture(page)
    assert real.spot(real.pixels(page), places(page, landmarks)[0], reach=6)[0] == 0


def test_the_scale_bar_is_as_long_as_it_says(shown):
    page = shown(html(POINTS))
    bar, unit = page.locator(".scale"), places(page)[1, 0] - places(page)[0, 0]
    assert bar.bounding_box()["width"] == pytest.approx(float(bar.inner_text()) * unit / 4, abs=1)
    page.locator(".map").press("-")
    real.expect(bar).to_have_css("width", f"{round(float(bar.inner_text()) * 0.8 * unit / 4)}px")


def test_hover_shows_the_row_its_text_as_text_and_its_nearest_landmark(shown):
    columns = {
        "<script>window.hacked = 1</script>": ["<img src=x onerror='window.hacked=1'>", *"bcde"],
        "v": np.arange(5) / 3,
    }
    page = shown(html(POINTS, POINTS[[1, 3]], columns=columns, title="</title><script>window.hacked = 1</script>",
                      landmark_arrivals=[1, 3], landmark_mass=[2, 3]))  # fmt: skip
    box = page.locator(".map").bounding_box()
    x, y = places(page)[0]
    page.mouse.move(box["x"] + x + 3, box["y"] + y - 3)
    real.next_picture(page)
    said = page.locator("dl").inner_text()
    for text in ("arrival\n0", "<script>window.hacked = 1</script>\n<img src=x onerror='window.hacked=1'>", "v\n0"):
        assert text in said
    assert "nearest landmark\nrow 3, mass 3" in said
    assert page.evaluate("window.hacked") is None
    page.locator(".map").press("n")
    assert "arrival\n1" in page.locator("dl").inner_text()


def test_the_lasso_selects_rows_and_exports_them(shown):
    columns = {"name": ['quoted "a", b', "b", "c", "d", "e"], "v": [0.1, 1 / 3, 2e10, -1, np.nan]}
    page = shown(html(POINTS, columns=columns))
    box = page.locator(".map").bounding_box()
    around = places(page)[[0, 3]] + [box["x"], box["y"]]
    corners = [(around[0] + [-12, 12]), around[0] + [12, 12], around[1] + [12, -12], around[1] + [-12, -12]]
    page.keyboard.down("Shift")
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=3)
    inside = (corners[0] + corners[2]) / 2 - [box["x"], box["y"]]
    real.next_picture(page)
    assert 40 < real.spot(real.pixels(page), inside)[0] < 120
    page.mouse.up()
    page.keyboard.up("Shift")
    real.expect(page.locator(".lasso")).to_be_hidden()
    assert "2 rows" in page.locator(".panel", has_text="Selection").inner_text()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export CSV").click()
    assert download.value.path().read_text().splitlines() == [
        "arrival,x1,x2,name,v",
        '0,0,0,"quoted ""a"", b",0.1',
        "3,0,3,d,-1",
    ]
    page.get_by_role("button", name="Clear").click()
    assert page.locator(".panel", has_text="Selection").is_hidden()


def test_the_slider_takes_back_arrivals_and_play_brings_them_again(shown):
    page = shown(html(POINTS, columns={"kind": list("aabba")}, color="kind"))
    last = places(page)[4]
    assert real.spot(real.pixels(page), last)[0] > 100
    page.locator("input[type=range]").fill("4")
    real.next_picture(page)
    assert real.spot(real.pixels(page), last)[0] == 0
    assert real.spot(real.pixels(page), places(page)[3])[0] > 100
    assert page.locator(".time output").inner_text() == "row 3"
    page.locator(".map").press("]")
    real.next_picture(page)
    assert real.spot(real.pixels(page), last)[0] > 100


def test_zoom_pan_and_fit(shown):
    page = shown(html(POINTS))
    place, box = places(page)[1], page.locator(".map").bounding_box()
    page.mouse.move(box["x"] + place[0], box["y"] + place[1])
    page.mouse.wheel(0, -300)
    real.next_picture(page)
    image = real.pixels(page)
    assert real.spot(image, place)[0] > 100  # the place under the pointer stays
    assert real.spot(image, places(page)[4])[0] == 0
    page.mouse.down()
    page.mouse.move(box["x"] + place[0] - 80, box["y"] + place[1] - 60)
    page.mouse.up()
    real.next_picture(page)
    assert real.spot(real.pixels(page), place - [80, 60])[0] > 100
    page.locator(".map").press("0")
    real.next_picture(page)
    assert real.spot(real.pixels(page), places(page)[4])[0] > 100


def test_a_hundred_thousand_points_with_a_dozen_columns_take_less_than_two_and_a_half_megabytes(shown):
    n, rng = 100_000, np.random.default_rng(0)
    columns = {f"c{i}": rng.standard_normal(n) for i in range(11)} | {"kind": rng.integers(0, 3, n).astype(str)}
    text = html(rng.standard_normal((n, 2)), columns=columns)
    assert len(text.encode()) < 2_500_000
    page = shown(text)
    assert "100,000 rows" in page.locator("header").inner_text()


def test_embed_writes_a_page_with_every_column(shown, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = [f"2026-01-{i % 28 + 1:02},{x},{y},{z}" for i, (x, y, z) in enumerate(rng.standard_normal((60, 3)))]
    (tmp_path / "t.csv").write_text("day,<script>,b,c\n" + "\n".join(lines) + "\n")
    assert main(["embed", "t.csv", "--label", "day", "--plot", "m.html", "-o", "o.csv", "--novelty"]) == 0
    page = shown((tmp_path / "m.html").read_text("utf-8"))
    options = page.locator("select option").all_inner_texts()
    assert options == ["arrival", "day", "<script>", "b", "c", "reach", "quantile", "residual"]
    assert page.locator("select").input_value() == "day"
    assert re.search(r"2026-01-04 · row 59", page.locator(".time output").inner_text())


def test_nothing_of_the_data_is_markup():
    text = html(POINTS, columns={"</script><script>alert(1)": list("abcde")}, title="<script>alert(2)</script>")
    assert "alert(1)" not in text
    assert text.count("alert(2)") == text.count("<title>&lt;script&gt;alert(2)&lt;/script&gt;</title>") == 1


def test_the_modules_go_into_one_without_a_name_twice():
    for entry in ("file.js", "widget.js"):
        text = joined(entry)
        found = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+|\[.*?\])", text, re.MULTILINE)
        names = [name for names in found for name in re.findall(r"\w+", names)]
        assert len(names) == len(set(names)) > 10
        assert "import " not in re.sub(r"(?s)/\*.*?\*/|//.*", "", text)
        assert "</script" not in text
    assert {path.suffix for path in WEB.iterdir() if path.is_file()} == {".js", ".css", ".html"}


@pytest.mark.parametrize(
    ("change", "problem"), [(lambda m: b"no" + m, "not a message"), (lambda m: m[:3] + b"\x07" + m[4:], "version 7")]
)
def test_a_message_of_another_kind_is_refused(change, problem):
    message = encode({"kind": "delta"}, {"x": np.zeros(3)})
    assert message[3] == PROTOCOL_VERSION
    with pytest.raises(ValueError, match=problem):
        decode(change(message))


def test_codes_are_within_half_a_step():
    values = np.random.default_rng(0).standard_normal(1000)
    values[7] = np.nan
    for kind, steps in (("u1", 254), ("u2", 65534)):
        quantized = quantize(values, kind)
        header, arrays = decode(encode({}, {"v": quantized, "codes": Quantized(np.array([0, 255], "u1"), 0.0, 1.0)}))
        assert quantized.step == pytest.approx(np.nanmax(values) / steps - np.nanmin(values) / steps)
        assert np.nanmax(np.abs(arrays["v"] - values)) < 0.51 * quantized.step
        assert np.isnan(arrays["v"]).nonzero()[0].tolist() == [7]
        assert header == {}


def test_groups_beyond_the_palette_are_ordered_by_how_many_they_are():
    column = column_of("c", [str(i) for i in range(12) for _ in range(i + 1)])
    assert column.names[:3] == ("11", "10", "9")
    assert column.values[-1] == 0
