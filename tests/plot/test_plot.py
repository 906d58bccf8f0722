"""Figures of maps: what is drawn, in which colours, and that files are complete and repeatable."""

import datetime
import io
import itertools
import pickle
import subprocess
import sys
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from driftmap.plot import comparison_figure, map_figure, save_figure
from driftmap.plot.animation import Scene, Screen
from driftmap.plot.coloring import coloring_of
from driftmap.plot.points import drawing_order
from driftmap.web.palette import GROUP_COLORS, MISSING_COLOR, OTHER_COLOR, palette_slots

ORDER = drawing_order(60)
RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((60, 3))
LANDMARKS = POINTS[::10]


def bar_label(figure: Figure) -> str:
    """The label of the colour bar: axes next to the map, or within it."""
    inside = [child for axes in figure.axes for child in axes.child_axes]
    return [*figure.axes, *inside][-1].get_ylabel()


def legend_texts(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes if axes.get_legend() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_every_dimension_in_every_format_twice_the_same(tmp_path, k, suffix):
    files = [tmp_path / f"{i}.{suffix}" for i in range(2)]
    for file in files:
        save_figure(map_figure(POINTS[:, :k], LANDMARKS[:, :k], title="a map"), file)
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert files[0].read_bytes().startswith(start)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_points_and_landmarks_are_where_they_belong():
    figure = map_figure(POINTS[:, :2], LANDMARKS[:, :2])
    points, landmarks = figure.axes[0].collections
    np.testing.assert_array_equal(points.get_offsets(), POINTS[ORDER, :2])
    np.testing.assert_array_equal(landmarks.get_offsets(), LANDMARKS[:, :2])
    assert landmarks.get_zorder() > points.get_zorder()
    assert figure.axes[0].get_aspect() == 1.0


def test_one_dimension_is_drawn_against_arrival():
    figure = map_figure(POINTS[:, 0], LANDMARKS[:, :1], landmark_times=np.arange(0, 60, 10))
    points, landmarks = figure.axes[0].collections
    np.testing.assert_array_equal(points.get_offsets(), np.column_stack([np.arange(60), POINTS[:, 0]])[ORDER])
    np.testing.assert_array_equal(landmarks.get_offsets()[:, 0], np.arange(0, 60, 10))
    assert figure.axes[0].get_xlabel() == "arrival"
    assert not figure.axes[0].child_axes  # a colour bar would only repeat the axis


def test_one_dimension_over_time_shows_gaps():
    hours = np.r_[np.arange(30), 1000 + np.arange(30)]
    times = np.datetime64("2024-02-28T23:00") + hours.astype("timedelta64[h]")
    figure = map_figure(POINTS[:, 0], LANDMARKS[:, :1], times=times, landmark_times=times[::10])
    points, landmarks = figure.axes[0].collections
    first = np.datetime64("2024-02-28T23:00").astype("datetime64[s]").astype(float) / 86400
    np.testing.assert_allclose(points.get_offsets()[:, 0], (first + hours / 24)[ORDER])
    np.testing.assert_allclose(landmarks.get_offsets()[:, 0], first + hours[::10] / 24)
    assert figure.axes[0].get_xlabel() == "date (2024)"
    assert map_figure(POINTS[:, 0], times=hours).axes[0].get_xlabel() == "time"
    with pytest.raises(ValueError, match="times must have 60 entries"):
        map_figure(POINTS[:, 0], times=hours[:5])
    with pytest.raises(ValueError, match="times must be finite"):
        map_figure(POINTS[:, 0], times=np.where(hours == 3, np.nan, hours))


def test_in_the_plane_times_are_the_colour():
    figure = map_figure(POINTS[:, :2], times=np.arange(60) * 0.5, time_label="hours")
    assert bar_label(figure) == "hours"
    assert bar_label(map_figure(POINTS[:5, :2], times=np.arange(5))) == "time"  # few of them are no classes


def test_without_arrivals_landmarks_of_one_dimension_stand_beyond_the_points():
    _, landmarks = map_figure(POINTS[:, :1], LANDMARKS[:, :1]).axes[0].collections
    assert landmarks.get_offsets()[:, 0].min() > 59


def test_of_more_than_three_dimensions_three_are_drawn():
    assert map_figure(RNG.standard_normal((5, 7))).axes[0].name == "3d"


def test_colour_is_the_arrival_unless_given():
    figure = map_figure(POINTS[:, :2])
    expected = matplotlib.colormaps["viridis"](np.arange(60) / 59)
    np.testing.assert_allclose(figure.axes[0].collections[0].get_facecolors()[:, :3], expected[ORDER, :3])
    assert bar_label(figure) == "arrival"


@pytest.mark.parametrize("k", [1, 2, 3])
def test_points_without_a_value_are_drawn_in_grey(k):
    missing = np.arange(60) % 2 == 1
    for values in (
        np.where(missing, np.nan, POINTS[:, 2]),
        np.where(missing, np.inf, POINTS[:, 2]),
        np.where(missing, np.nan, np.arange(60) % 6),
        np.where(missing, "", "name"),
        np.where(missing, None, "name"),
        np.where(missing, None, 1.5),
        np.where(missing, np.datetime64("NaT"), np.datetime64("2024-01-01")),
        [None if lacks else datetime.date(2024, 1, 1) for lacks in missing],
    ):
        figure = map_figure(POINTS[:, :k], color=values, color_label="height")
        (points,) = figure.axes[0].collections
        if k == 3:  # where colours are sorted by depth as they are drawn
            figure.draw_without_rendering()
        is_grey = (np.abs(points.get_facecolors()[:, :3] - to_rgb(MISSING_COLOR)) < 1e-6).all(axis=1)
        assert (len(is_grey), is_grey.sum()) == (60, 30)
        if k < 3:
            np.testing.assert_array_equal(is_grey, missing[ORDER])
        assert "no value" in legend_texts(figure)


def test_all_values_missing_or_equal_can_be_drawn():
    for values in (np.full(60, np.nan), np.full(60, 0.5)):
        save_figure(map_figure(POINTS[:, :2], color=values), io.BytesIO(), "png")


def test_dates_get_a_colour_bar_with_years():
    days = np.datetime64("2013-01-01") + (60 * np.arange(60)).astype("timedelta64[D]")
    figures = [
        map_figure(POINTS[:, :2], color=days),
        map_figure(
            POINTS[:, :2], color=[datetime.date(2013, 1, 1) + datetime.timedelta(int(60 * i)) for i in range(60)]
        ),
    ]
    for figure in figures:
        save_figure(figure, io.BytesIO(), "png")
        (bar,) = figure.axes[0].child_axes
        assert "2016" in [tick.get_text() for tick in bar.get_yticklabels()]
        assert bar.get_ylabel() == "date"  # with the year, where all of them share it


def test_text_gets_a_legend_and_one_colour_per_name():
    names = ["cat", "dog", ""] * 20
    figure = map_figure(POINTS[:, :2], LANDMARKS[:, :2], color=names, color_label="animal")
    assert legend_texts(figure) == ["cat", "dog", "no value", "landmark"]
    assert figure.axes[0].get_legend().get_title().get_text() == "animal"
    colours = figure.axes[0].collections[0].get_facecolors()
    assert len(np.unique(colours, axis=0)) == 3
    for name in ("cat", "dog", ""):
        of_name = colours[[names[i] == name for i in ORDER]]
        np.testing.assert_array_equal(of_name, np.broadcast_to(of_name[0], of_name.shape))


def test_of_many_names_the_ten_largest_have_colours():
    large = [f"name {i}" for i in range(0, 30, 3)]
    names = large * 3 + [f"name {i}" for i in range(30)]
    figure = map_figure(POINTS[:, :2], color=names)
    assert legend_texts(figure) == [*sorted(large), "20 others"]
    colours = dict(zip(names, coloring_of(names, None, 60).rgba()[:, :3], strict=True))
    slots = palette_slots(large)
    for name in names:
        np.testing.assert_allclose(colours[name], to_rgb(GROUP_COLORS[slots[name]] if name in large else OTHER_COLOR))


def test_a_class_has_the_colour_of_its_name_whatever_comes_first_and_whoever_else_is_there():
    def colour(names, name):
        return coloring_of(names, None, len(names)).rgba()[names.index(name)].tolist()

    for names in (["walk", "run", "sit"], ["sit", "run", "walk"], ["run", "walk"]):
        assert colour(names, "walk") == colour(["walk"], "walk")
        assert colour(names, "run") != colour(names, "walk")


@pytest.mark.parametrize("values", [np.arange(60) % 10 + 9, np.arange(60) % 10 + 9.0, list(map(int, range(9, 19))) * 6])
def test_integers_with_up_to_10_values_are_classes_in_order(values):
    figure = map_figure(POINTS[:, :2], color=values)
    assert legend_texts(figure) == [str(i) for i in range(9, 19)]
    assert len(np.unique(figure.axes[0].collections[0].get_facecolors(), axis=0)) == 10


@pytest.mark.parametrize("values", [np.arange(60) % 2, np.arange(60) % 2 == 0, [0.0, 1.0] * 30, [True, False] * 30])
def test_zeros_and_ones_and_booleans_are_classes(values):
    assert len(legend_texts(map_figure(POINTS[:, :2], color=values))) == 2


def test_more_integers_and_fractions_are_a_scale():
    for values in (np.arange(60) % 11, np.arange(60) % 3 / 2):
        assert bar_label(map_figure(POINTS[:, :2], color=values, color_label="v")) == "v"


def test_colours_are_shown_in_the_order_of_no_one():
    """Of many points in one place, the youngest must not hide the others: half of those on top are old."""
    on_top = drawing_order(10_000)[-1000:]
    assert abs((on_top < 5000).mean() - 0.5) < 0.05


def test_landmarks_leave_the_colour_beneath_visible():
    _, landmarks = map_figure(POINTS[:, :2], LANDMARKS[:, :2]).axes[0].collections
    assert len(landmarks.get_facecolors()) == 0


def test_many_points_are_shaded_by_density():
    points = np.r_[np.zeros((29_999, 2)), [[9.0, 4.0]]]
    figure = map_figure(points, color=["a"] * 29_999 + ["b"])
    (image,) = figure.axes[0].get_images()
    opacity = image.get_array()[..., 3]
    assert sorted(opacity[opacity > 0]) == pytest.approx([0.45, 1.0])
    left, right, bottom, top = image.get_extent()
    row, column = np.argwhere(opacity == opacity[opacity > 0].min())[0]
    rows, columns = opacity.shape
    assert left + (column + 0.5) * (right - left) / columns == pytest.approx(9.0, abs=0.1)
    assert bottom + (row + 0.5) * (top - bottom) / rows == pytest.approx(4.0, abs=0.1)
    assert legend_texts(figure) == ["a", "b", "1 point", "29,999 points"]
    np.testing.assert_allclose(image.get_array()[row, column, :3], to_rgb(GROUP_COLORS[palette_slots(["a", "b"])["b"]]))


def test_independent_points_look_alike_in_the_middle_and_at_the_rim():
    points = RNG.standard_normal((60_000, 2))
    image = np.asarray(map_figure(points).axes[0].get_images()[0].get_array())
    scale = matplotlib.colormaps["viridis"](np.linspace(0, 1, 256))[:, :3]
    shown = image[image[..., 3] > 0]
    age = np.abs(shown[:, None, :3] - scale).sum(axis=2).argmin(axis=1) / 255
    dense = shown[:, 3] > np.median(shown[:, 3])
    assert abs(age[dense].mean() - age[~dense].mean()) < 0.02


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_densities_in_one_and_two_dimensions_are_repeatable(suffix):
    points = RNG.standard_normal((20_001, 2))
    for k in (1, 2):
        files = [io.BytesIO(), io.BytesIO()]
        for file in files:
            save_figure(map_figure(points[:, :k], points[:10, :k]), file, suffix)
        assert files[0].getvalue() == files[1].getvalue()


def overlaps(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts that are printed over each other."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    hidden = set()  # labels of ticks beyond the limits, which are not drawn
    for axes in figure.findobj(Axes):
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            hidden |= {tick.label1 for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high}
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    texts = [text for text in texts if text not in hidden]
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts]
    boxes = [(text, box) for text, box in boxes if box.width > 0 and box.height > 0]
    return [
        (a, b)
        for (a, one), (b, other) in itertools.combinations(boxes, 2)
        if min(one.x1, other.x1) - max(one.x0, other.x0) > 1 and min(one.y1, other.y1) - max(one.y0, other.y0) > 1
    ]


LONG = "a title that is much longer than its panel is wide"
DAYS = np.datetime64("2024-03-01T08:00") + np.arange(60).astype("timedelta64[m]")


@pytest.mark.parametrize("color", [1e9 + np.arange(60), DAYS, np.arange(60) % 10])
def test_no_label_is_printed_over_another(color):
    points, marks = 1e9 * POINTS, 1e9 * LANDMARKS
    for k in (1, 2):
        figure = map_figure(points[:, :k], marks[:, :k], color=color, color_label="some value", title=LONG)
        assert overlaps(figure) == []
    figure = comparison_figure(dict.fromkeys("abc", (points[:, :2], marks[:, :2])), color=color, title=LONG)
    assert overlaps(figure) == []
    titles = {axes.title.get_window_extent().y0.round(6) for axes in figure.axes}
    assert len(titles) == 1  # they stand at one height


@pytest.mark.parametrize("scale", [1e-4, 1e9])
@pytest.mark.parametrize("color", [None, ["a long name of a class", "b"] * 30])
def test_animations_clip_no_label(scale, color):
    scene = Scene(60, scale * POINTS[:, :2], scale * LANDMARKS[:, :2], np.arange(0, 60, 10), scale)
    screen = Screen([scene], np.arange(60), coloring_of(color, "name", 60), "A title")
    picture = screen.picture(0)
    assert (picture[[0, -1]] == 255).all()  # what reaches the rim may be cut
    assert (picture[:, [0, -1]] == 255).all()
    assert overlaps(screen._canvas.figure) == []


def test_a_notebook_shows_a_figure_that_a_cell_ends_with():
    figure = map_figure(POINTS[:, :2])
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert pickle.loads(pickle.dumps(figure))._repr_png_() == figure._repr_png_()


def test_names_are_not_read_as_mathematics_nor_left_out():
    figure = map_figure(POINTS[:, :2], color=["_under", "a$^b$", "x" * 50] * 20, color_label="$", title="$\\frac$")
    save_figure(figure, io.BytesIO(), "png")
    assert [text.strip() for text in legend_texts(figure)] == ["_under", "a$^b$", "x" * 13 + "..." + "x" * 12]


def test_names_are_escaped_in_vector_files(tmp_path):
    """SVG is XML: no element, entity or comment comes from the data, and control characters are shown."""
    names = ["<script>alert(1)</script>", "a&b;]]>", "--><g/>", "\x00\x1b[2J", "\ufffe"]
    figure = map_figure(POINTS[:, :2], color=names * 12, color_label="<c>\x07", title="<t>&\x01")
    save_figure(figure, tmp_path / "map.svg")
    root = ElementTree.parse(tmp_path / "map.svg").getroot()
    elements = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not elements & {"script", "c", "t"}
    assert [text.strip() for text in legend_texts(figure)] == ["\\x00\\x1b[2J", "--><g/>", *names[:2], "\\ufffe"]


def test_panels_have_one_scale_and_one_colouring():
    figure = comparison_figure(
        {"whole": (POINTS[:, :2], LANDMARKS[:, :2]), "half": (POINTS[:, :2] / 2, None)}, title="T"
    )
    first, second = figure.axes[:2]
    assert [axes.get_title(loc="left") for axes in (first, second)] == ["whole", "half"]
    np.testing.assert_allclose(np.diff(first.get_xlim()), np.diff(second.get_xlim()))
    np.testing.assert_allclose(np.diff(first.get_ylim()), np.diff(second.get_ylim()))


def test_panels_in_space_have_one_scale():
    figure = comparison_figure({"whole": (POINTS, LANDMARKS), "half": (POINTS / 2, None)}, color=["a", "b"] * 30)
    first, second = figure.axes[:2]
    np.testing.assert_allclose(np.diff(first.get_zlim()), np.diff(second.get_zlim()))


@pytest.mark.parametrize("points", [np.zeros((4, 2)), np.zeros((1, 3)), np.column_stack([np.arange(9), np.zeros(9)])])
def test_degenerate_maps_can_be_drawn(points):
    save_figure(map_figure(points, points[:1]), io.BytesIO(), "png")


def test_many_points_are_an_image_in_vector_files():
    file = io.BytesIO()
    save_figure(map_figure(RNG.standard_normal((30_000, 2))), file, "svg")
    assert len(file.getvalue()) < 2_000_000


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="one entry for each of the 60 points"):
        map_figure(POINTS, color=[1, 2])
    with pytest.raises(ValueError, match="2 columns, but coordinates has 3"):
        map_figure(POINTS, LANDMARKS[:, :2])
    with pytest.raises(ValueError, match="different shapes"):
        comparison_figure({"a": (POINTS, None), "b": (POINTS[:, :2], None)})
    with pytest.raises(ValueError, match="at least one map"):
        comparison_figure({})
    with pytest.raises(ValueError, match="at least one row"):
        map_figure(np.empty((0, 2)))
    with pytest.raises(ValueError, match="'gif'"):
        save_figure(map_figure(POINTS), "map.gif")


def test_missing_matplotlib_is_named_with_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "driftmap\[plot\]"'):
        map_figure(POINTS)


def test_importing_does_not_load_matplotlib_and_drawing_does_not_load_pyplot():
    code = (
        "import sys, driftmap.plot as plot; assert 'matplotlib' not in sys.modules; "
        "plot.map_figure([[0.0, 1.0], [1.0, 2.0]]); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("n", [100, 300, 1000])
def test_a_few_values_far_outside_do_not_take_all_colours(n):
    points, values = RNG.standard_normal((n, 2)), RNG.uniform(0, 1, n)
    for outside, drawn in (([], "neither"), ([1e6] * (n // 100), "max"), ([50.0, *[-50.0] * (n // 100)], "both")):
        values[: len(outside)] = outside
        bar = map_figure(points, color=values).axes[0].child_axes[0]._colorbar
        assert bar.extend == drawn
        assert bar.norm.vmax - bar.norm.vmin <= 1.0


# --- limits ---

OUTLIERS = np.concatenate([RNG.uniform(0, 1, (298, 3)), np.full((2, 3), -95.0)])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_two_outliers_are_marked_at_the_border_and_counted(k):
    figure = map_figure(OUTLIERS[:, :k], OUTLIERS[::-30, :k])
    axes = figure.axes[0]
    limits = [getattr(axes, f"get_{name}lim")() for name in ("y" if k == 1 else "xyz"[:k])]
    assert all(-0.5 < low < high < 1.5 for low, high in limits)
    assert "2 points outside" in [text.get_text() for text in axes.texts]
    points, landmarks, border = axes.collections[0], axes.collections[-1], axes.collections[1]
    if k < 3:
        assert len(points.get_offsets()) == 298
        assert len(border.get_offsets()) == 2
        np.testing.assert_allclose(border.get_offsets()[0, -1], limits[-1][0])
        np.testing.assert_allclose(landmarks.get_offsets()[:, -1].min(), limits[-1][0])
    everything = map_figure(OUTLIERS[:, :k], limits="all").axes[0]
    assert everything.get_ylim()[0] < -95
    assert not everything.texts


def test_a_picture_with_two_outliers_has_the_size_of_one_without():
    heights = []
    for points in (OUTLIERS[:, :2], OUTLIERS[:298, :2]):
        file = io.BytesIO()
        save_figure(map_figure(points), file, "png")
        heights.append(matplotlib.image.imread(io.BytesIO(file.getvalue()), "png").shape[0])
    assert heights[0] == pytest.approx(heights[1], rel=0.02)


@pytest.mark.parametrize("n", [10, 60, 500, 5000])
def test_points_of_one_bulk_are_all_within_the_limits(n):
    for points in (RNG.standard_normal((n, 2)), RNG.uniform(0, 1, (n, 2)) * [1, 50], np.zeros((n, 2))):
        assert not map_figure(points).axes[0].texts
    cluster = np.concatenate([RNG.uniform(0, 1, (n, 2)), RNG.uniform(50, 51, (max(4, n // 20), 2))])
    assert not map_figure(cluster).axes[0].texts  # that is no outlier


def test_many_points_with_outliers_are_a_density_of_the_others():
    figure = map_figure(np.concatenate([RNG.uniform(0, 1, (20_500, 2)), [[99.0, 0.5]]]))
    left, right, _, _ = figure.axes[0].get_images()[0].get_extent()
    assert -0.5 < left < right < 1.5
    assert "1 point outside" in [text.get_text() for text in figure.axes[0].texts]


def test_animations_hold_the_bulk_too():
    scene = Scene(300, OUTLIERS[:, :2], OUTLIERS[::-30, :2], np.arange(0, 300, 30), 1.0)
    screen = Screen([scene], np.arange(300), coloring_of(None, None, 300), "")
    screen.picture(0)
    assert screen._map.get_xlim()[0] > -1
    assert "2 points outside" in [text.get_text() for text in screen._map.texts]
    screen.picture(0)
    assert len(screen._map.texts) == 1
    assert Screen([scene], np.arange(300), coloring_of(None, None, 300), "", "all")._map.get_xlim()[0] < -95


def test_of_many_landmarks_a_hundred_are_drawn_and_said():
    points = RNG.standard_normal((500, 2))
    figure = map_figure(points, points[:300])
    assert len(figure.axes[0].collections[1].get_offsets()) == 100
    assert "100 of 300 landmarks" in legend_texts(figure)


def test_a_wrong_limit_is_named():
    with pytest.raises(ValueError, match="limits must be one of 'bulk', 'all'; got 'al'"):
        map_figure(POINTS, limits="al")
