"""The map by touch, by keyboard and for screen readers; with alerts, many groups, many points and two outliers."""

import contextlib

import numpy as np
import pytest

import browser as real
from driftmap.live.scene import CAPACITY, Landmarks, Scene
from driftmap.plot import html
from driftmap.web.columns import GrowingColumn
from driftmap.web.palette import GROUP_COLORS, OTHER_COLOR, palette_slots

pytest.importorskip("uvicorn", reason="the extra live is not installed")
from driftmap.live.server import serving

CORNERS = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0]])
PHONE = {"width": 390, "height": 844}
chromium = real.chromium


def new_scene(capacity=CAPACITY):
    return Scene("A stream", [GrowingColumn("kind"), GrowingColumn("v", "number")], capacity, "kind")


def add(scene, positions, kinds=None):
    n = len(positions)
    kinds = ["a", "b"] * n if kinds is None else kinds
    values = [scene.columns[0].add(list(kinds[:n])), np.arange(n) + 0.5]
    scene.append(scene.rows.next, np.asarray(positions), values, np.zeros(n, np.int64))


def alert(row, reach, quantile=1.0, time=None, **more):
    features = [{"name": "a name that is much longer than its panel is wide", "value": 3.5, "landmark": 1.0}]
    known = {"row": row, "time": time, "reach": reach, "quantile": quantile, "nearest": 0, "features": features}
    return known | more


@pytest.fixture
def watch(chromium):
    """A function that shows a scene; it returns the page."""
    pages = []
    with contextlib.ExitStack() as stack:

        def show(scene, size=None, **options):
            server = stack.enter_context(serving(scene, port=0))
            page = real.new_page(chromium, **options)
            pages.append(page)
            if size:
                page.set_viewport_size(size)
            page.goto(server.address)
            real.expect(page.locator(".time output")).to_have_text(f"row {scene.rows.next - 1:,}")
            return page

        yield show
        for page in pages:
            assert page.errors == []
            page.context.close()


@pytest.fixture
def file(chromium, tmp_path):
    """A function that shows a map as an HTML file."""
    pages = []

    def show(coordinates, **options):
        path = tmp_path / "map.html"
        path.write_text(html(coordinates, **options), "utf-8")
        page = real.new_page(chromium, offline=True)
        pages.append(page)
        page.goto(path.as_uri())
        real.expect(page.locator(".time output")).not_to_be_empty()
        return page

    yield show
    for page in pages:
        assert page.errors == []
        page.context.close()


def at(page, point, box=CORNERS):
    """Where a point of a map is on the screen."""
    corner, place = page.locator(".map").bounding_box(), real.places(page, np.array([point]), box)[0]
    return place + [corner["x"], corner["y"]]


def touch(page, *steps):
    """Put fingers down at the places of the first step, and move them to those of the others."""
    session = page.context.new_cdp_session(page)
    for kind, places in zip(["touchStart", *["touchMove"] * len(steps)], [*steps, None], strict=True):
        points = [{"x": float(x), "y": float(y), "id": i} for i, (x, y) in enumerate(places or ())]
        kind = "touchEnd" if places is None else kind
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        real.next_picture(page)


def unit(page):
    """Pixels per unit of the map, by its scale bar."""
    bar = page.locator(".scale")
    return bar.bounding_box()["width"] / float(bar.inner_text())


# --- by touch ---


def test_a_tap_hovers_two_fingers_zoom_and_one_finger_scrolls_the_page(watch):
    scene, inside = new_scene(), [2.6, 1.3]
    add(scene, [*CORNERS, inside])
    page = watch(scene, PHONE, has_touch=True, is_mobile=True)
    page.touchscreen.tap(*(at(page, CORNERS[2]) + [6, -6]))
    real.expect(page.locator(".tip")).to_be_visible()
    assert "arrival\n2" in page.locator(".tip").inner_text()
    before, (x, y), place = unit(page), at(page, [2.0, 1.5]), at(page, inside)
    apart = [(40, 0), (60, 0), (80, 0), (80, 30)]
    touch(page, *([(x - reach, y + down), (x + reach, y + down)] for reach, down in apart))
    assert unit(page) / before == pytest.approx(2, rel=0.03)
    page.touchscreen.tap(*(2 * place - [x, y - 30]))  # the middle of the fingers went down, all else away from it
    real.next_picture(page)
    assert "arrival\n4" in page.locator(".tip").inner_text()
    touch(page, *([(x, y - 20 * step)] for step in range(12)))
    real.eventually(lambda: page.evaluate("window.scrollY") > 100)


# --- by keyboard, for screen readers, with reduced motion ---


def test_everything_can_be_reached_by_keyboard_and_the_keys_are_listed(watch):
    scene = new_scene()
    add(scene, CORNERS)
    scene.add_alerts([alert(1, 3.0)])
    page = watch(scene)
    named = set()
    for _ in range(20):
        page.keyboard.press("Tab")
        named.add(page.evaluate("document.activeElement.textContent.slice(0, 9) || document.activeElement.ariaLabel"))
    assert {"Pause", "Keys", "a", "b", "Rings", "Reach 3 ·", "Time"} <= named
    page.locator(".map").press("?")
    real.expect(page.locator("dialog")).to_contain_text("lasso")
    page.keyboard.press("Escape")
    real.expect(page.locator("dialog")).to_be_hidden()


def test_a_new_alert_leaves_the_focus_where_it_is(watch):
    scene = new_scene()
    add(scene, CORNERS)
    scene.add_alerts([alert(i, 3.0) for i in range(4)])
    page = watch(scene)
    page.get_by_role("button", name="row 2").focus()
    scene.add_alerts([alert(0, 5.0)])
    real.expect(page.locator(".alerts li")).to_have_count(5)
    assert "row 2" in page.evaluate("document.activeElement.textContent")


def test_screen_readers_are_told_seldom(watch):
    scene = new_scene()
    add(scene, CORNERS)
    page = watch(scene)
    page.evaluate(
        """() => {
          window.changes = 0;
          const live = document.querySelectorAll("[role=status], [aria-live=polite], output:not([aria-live])");
          const watcher = new MutationObserver((found) => (window.changes += found.length));
          for (const node of live) watcher.observe(node, { childList: true, characterData: true, subtree: true });
          watcher.observe(document.querySelector(".map"), { attributeFilter: ["aria-label"] });
        }"""
    )
    for i in range(20):
        add(scene, CORNERS)
        scene.add_sample(
            {"time": i, "rows": 4 * i, "radius": 1.0, "stress": 0.1, "novelty": 0.0, "rate": 9.0 + i, "drift": np.nan}
        )
        page.wait_for_timeout(50)
    real.expect(page.locator(".status")).to_have_text("76 rows · 28 rows/s")
    assert page.evaluate("window.changes") <= 2


def test_with_reduced_motion_nothing_glides(watch):
    for motion, expected in (("reduce", [4]), ("no-preference", [0, 2, 4])):
        scene = new_scene()
        add(scene, CORNERS)
        seen = watch(scene, reduced_motion=motion).evaluate(
            """async () => {
              const { PointStore } = await import("/web/store.js");
              const store = new PointStore(10, 0);
              store.append(0, [0], [0], []);
              store.move(0, [4], [0], 1000);
              return [...new Set([1001, 1250, 1500].map((now) => Math.round(store.position(0, now)[0])))];
            }"""
        )
        assert seen == expected


# --- alerts ---


def test_alerts_say_what_where_and_why_and_are_filtered_and_sorted(watch):
    scene = new_scene()
    add(scene, CORNERS)
    scene.add_alerts([alert(0, 9.0, time="b"), alert(1, 0.98, 0.9995), alert(2, None), alert(3, 3.2)])
    scene.add_alerts([alert(0, None, kind="drift", size=5.0, text="Drift of v")])
    page = watch(scene)
    entries = page.locator(".alerts li")

    def first_lines():
        return [text.split("\n")[0] for text in entries.all_inner_texts()]

    rare = "Top 0.05 % of reaches · row 1"
    assert first_lines() == ["Drift of v · row 0", "Reach 3.2 · row 3", "Reach ∞ · row 2", rare, "Reach 9 · row 0 · b"]
    assert entries.last.inner_text().split("\n")[1] == "a name that is m…s panel is wide 3.5 (landmark 1)"
    for line in entries.locator("span").all():
        assert line.evaluate("(node) => node.scrollWidth <= node.clientWidth")
    page.get_by_label("Order of alerts").select_option("largest")
    assert first_lines()[:3] == ["Reach ∞ · row 2", "Reach 9 · row 0 · b", "Drift of v · row 0"]
    page.get_by_label("Kind of alerts").select_option("quantile")
    assert first_lines() == [rare]


def test_an_alert_centres_the_map_on_its_row_and_rings_can_be_hidden(watch):
    scene = new_scene()
    add(scene, CORNERS)
    scene.add_alerts([alert(1, 3.0)])
    page = watch(scene)
    ring = at(page, CORNERS[1]) - np.array([*page.locator(".map").bounding_box().values()][:2]) - [9, 0]
    real.next_picture(page)
    assert real.spot(real.pixels(page), ring, reach=1)[0] > 100
    page.get_by_role("button", name="Rings").click()
    real.next_picture(page)
    assert real.spot(real.pixels(page), ring, reach=1)[0] == 0
    page.get_by_role("button", name="row 1").click()
    real.expect(page.locator(".tip")).to_contain_text("arrival1")
    real.next_picture(page)
    size = page.locator(".map").bounding_box()
    assert real.spot(real.pixels(page), (size["width"] / 2, size["height"] / 2))[0] > 100


# --- state ---


def test_a_damaged_message_is_reported_and_the_page_goes_on(watch, monkeypatch):
    scene = new_scene()
    add(scene, CORNERS)
    page, right, damages = watch(scene), scene.message, [b'"oldest":0', b'"kind":"', b'"size":', b"[]"]

    def message(seen):
        changed = right(seen)
        if changed is None or not damages:
            return changed
        damage = damages.pop()
        assert damage in changed[0]
        return changed[0].replace(damage, damage[:-1] + b"?"), changed[1]

    page.evaluate(
        """new MutationObserver(() => (window.said = document.querySelector(".banner").textContent || window.said))
          .observe(document.querySelector(".banner"), { childList: true })"""
    )
    monkeypatch.setattr(scene, "message", message)
    add(scene, CORNERS)
    real.expect(page.locator(".time output")).to_have_text("row 7")
    assert not damages
    assert "damaged" in page.evaluate("window.said")
    real.expect(page.locator(".banner")).to_be_hidden()


# --- groups ---


def test_two_hundred_groups_can_be_searched_and_the_ten_largest_have_colours(watch):
    scene, rng = new_scene(), np.random.default_rng(0)
    names = [f"sensor in the hall number {i:03} of 200" for i in range(200)]
    kinds = [*names, *(name for name in names[50:60] for _ in range(20))]
    add(scene, rng.standard_normal((400, 2)), kinds)
    page = watch(scene)
    legend = page.locator(".legend")
    marks = legend.locator(".mark").evaluate_all("(marks) => marks.map((mark) => mark.style.background)")
    slots = palette_slots(names[50:60])
    expected = [GROUP_COLORS[slots[name]] for name in names[50:60]] + [OTHER_COLOR] * 190
    assert marks == [f"rgb{tuple(bytes.fromhex(colour[1:]))}" for colour in expected]
    assert "190 smaller groups are grey" in legend.inner_text()
    assert legend.locator("li").first.inner_text() == "sensor in the ha…mber 050 of 200"
    legend.get_by_role("searchbox").fill("077")
    assert legend.locator("li").all_inner_texts() == ["sensor in the ha…mber 077 of 200"]
    assert page.get_by_role("button", name="Trail").is_disabled()


def test_a_click_isolates_a_group_and_a_click_with_shift_hides_it(watch):
    scene = new_scene()
    add(scene, CORNERS, list("abca"))
    page = watch(scene)

    def shown():
        real.next_picture(page)
        image = real.pixels(page)
        return [bool(real.spot(image, place)[0] > 60) for place in real.places(page, CORNERS, CORNERS)]

    page.get_by_role("button", name="Trail").click()
    assert shown() == [True] * 4
    a, b, _ = page.locator(".legend li button").all()
    a.click()
    assert shown() == [True, False, False, True]
    page.mouse.move(*at(page, CORNERS[1]))
    real.expect(page.locator(".tip")).to_be_hidden()
    a.click()
    assert shown() == [True] * 4
    b.click(modifiers=["Shift"])
    assert shown() == [True, False, True, True]
    assert b.get_attribute("aria-pressed") == "false"


def test_the_page_colours_groups_by_the_rule_of_the_figures(watch):
    scene = new_scene()
    add(scene, CORNERS)
    page = watch(scene)
    for names in (list("abcdefghij"), ["Müller", "名前", "", "0", "1"], [f"name {i}" for i in range(10)]):
        script = "async (names) => Object.fromEntries((await import('/web/colours.js')).paletteSlots(names))"
        assert page.evaluate(script, names) == palette_slots(names)
    colours = page.evaluate("async () => (await import('/web/colours.js')).GROUPS")
    assert colours == [list(bytes.fromhex(colour[1:])) for colour in GROUP_COLORS]


@pytest.mark.parametrize("values", [[0, 1, 1, 0], [True, False, False, True]])
def test_zeros_and_ones_and_booleans_are_groups(file, values):
    page = file(CORNERS, columns={"flag": values}, color="flag")
    names = page.locator(".legend li").all_inner_texts()
    assert names == [str(value) for value in sorted(set(values))]


def test_whole_numbers_stay_exact_in_a_large_file():
    values = np.random.default_rng(0).integers(0, 7, 120_000)
    text = html(np.zeros((120_000, 2)), columns={f"c{i}": values for i in range(9)})
    assert '"step"' not in text


# --- outliers, many points, diamonds ---


def test_two_outliers_do_not_shrink_the_map_and_are_counted(file):
    points = np.random.default_rng(0).uniform(0, 1, (300, 2))
    points[[7, 9]] = -95.0
    page = file(points)
    count = page.get_by_role("button", name="2 rows outside")
    assert count.is_visible()
    near = unit(page)
    assert near > 300
    assert real.spot(real.pixels(page), (6, page.locator(".map").bounding_box()["height"] - 8), reach=4)[0] > 100
    count.click()
    real.next_picture(page)
    assert unit(page) < near / 50
    assert count.is_hidden()
    page.locator(".map").press("0")
    real.next_picture(page)
    assert unit(page) == pytest.approx(near)
    assert unit(file(points, limits="all")) < near / 50


def test_a_hundred_thousand_points_are_a_density(file):
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.uniform(-4, 4, (20_000, 2)), 0.3 * rng.standard_normal((80_000, 2))])
    page = file(points, columns={"v": np.full(100_000, 0.5)}, color="v")
    real.next_picture(page)
    image = real.pixels(page)
    corner = np.array([[-4.0, -4.0], [4.0, 4.0]])
    places = real.places(page, np.array([[0.0, 0.0], [0.7, 0.0], [2.5, 2.5]]), corner)
    ink = [255 - image[round(y) - 12 : round(y) + 12, round(x) - 12 : round(x) + 12].mean() for x, y in places]
    assert ink[0] > 1.3 * ink[1] > 1.3 * 1.3 * ink[2] > 0


def test_many_landmarks_leave_the_points_visible(watch):
    scene, rng = new_scene(), np.random.default_rng(0)
    points = np.concatenate([rng.uniform(0, 1, (2000, 2)), [[0, 0], [1, 1]]])
    add(scene, points, ["a"] * 2002)
    scene.set_landmarks(Landmarks(np.arange(500), points[:500], rng.uniform(1, 9, 500)))
    page = watch(scene)
    page.get_by_role("button", name="Trail").click()
    colour = bytes.fromhex(GROUP_COLORS[palette_slots(["a"])["a"]][1:])

    def share():
        real.next_picture(page)
        return (np.abs(real.pixels(page) - list(colour)).max(axis=2) < 40).mean()

    with_diamonds = share()
    page.get_by_role("button", name="Landmarks").click()
    assert with_diamonds > 0.7 * share()
