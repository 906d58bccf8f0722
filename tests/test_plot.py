"""Figures of maps: what is drawn, in which colours, and that files are complete and repeatable."""

import datetime
import io
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from driftmap.plot import comparison_figure, map_figure, save_figure
from driftmap.plot.coloring import PALETTE

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
    np.testing.assert_array_equal(points.get_offsets(), POINTS[:, :2])
    np.testing.assert_array_equal(landmarks.get_offsets(), LANDMARKS[:, :2])
    assert landmarks.get_zorder() > points.get_zorder()
    assert figure.axes[0].get_aspect() == 1.0


def test_one_dimension_is_drawn_against_arrival():
    figure = map_figure(POINTS[:, 0], LANDMARKS[:, :1], landmark_arrivals=np.arange(0, 60, 10))
    points, landmarks = figure.axes[0].collections
    np.testing.assert_array_equal(points.get_offsets(), np.column_stack([np.arange(60), POINTS[:, 0]]))
    np.testing.assert_array_equal(landmarks.get_offsets()[:, 0], np.arange(0, 60, 10))
    assert figure.axes[0].get_xlabel() == "arrival"


def test_without_arrivals_landmarks_of_one_dimension_stand_beyond_the_points():
    _, landmarks = map_figure(POINTS[:, :1], LANDMARKS[:, :1]).axes[0].collections
    assert landmarks.get_offsets()[:, 0].min() > 59


def test_of_more_than_three_dimensions_three_are_drawn():
    assert map_figure(RNG.standard_normal((5, 7))).axes[0].name == "3d"


def test_colour_is_the_arrival_unless_given():
    figure = map_figure(POINTS[:, :2])
    np.testing.assert_array_equal(figure.axes[0].collections[0].get_array(), np.arange(60))
    assert bar_label(figure) == "arrival"


def test_numbers_get_a_colour_bar_and_missing_ones_are_grey():
    values = np.where(np.arange(60) % 2, np.nan, POINTS[:, 2])
    figure = map_figure(POINTS[:, :2], color=values, color_label="height")
    shown = figure.axes[0].collections[0]
    assert bar_label(figure) == "height"
    np.testing.assert_array_equal(
        np.ma.getmaskarray(shown.get_array()) | np.isnan(shown.get_array().data), np.isnan(values)
    )
    save_figure(figure, io.BytesIO(), "png")
    assert len(np.unique(shown.get_facecolors()[1::2], axis=0)) == 1


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
        assert "2015" in [tick.get_text() for tick in bar.get_yticklabels()]
        assert bar.get_ylabel() == "date"


def test_text_gets_a_legend_and_one_colour_per_name():
    names = ["cat", "dog", ""] * 20
    figure = map_figure(POINTS[:, :2], LANDMARKS[:, :2], color=names, color_label="animal")
    assert legend_texts(figure) == ["(none)", "cat", "dog", "landmark"]
    assert figure.axes[0].get_legend().get_title().get_text() == "animal"
    colours = figure.axes[0].collections[0].get_facecolors()
    assert len(np.unique(colours, axis=0)) == 3
    np.testing.assert_array_equal(colours[0], colours[3])


def test_of_many_names_the_most_frequent_keep_their_colours():
    names = ["often"] * 20 + ["seldom"] * 10 + [f"name {i}" for i in range(30)]
    texts = legend_texts(map_figure(POINTS[:, :2], color=names))
    assert len(texts) == len(PALETTE)
    assert {"often", "seldom", "23 others"} <= set(texts)


def test_few_integers_are_groups_in_order():
    assert legend_texts(map_figure(POINTS[:, :2], color=np.arange(60) % 3 + 9)) == ["9", "10", "11"]


def test_names_are_not_read_as_mathematics_nor_left_out():
    figure = map_figure(POINTS[:, :2], color=["_under", "a$^b$", "x" * 50] * 20, color_label="$", title="$\\frac$")
    save_figure(figure, io.BytesIO(), "png")
    assert [text.strip() for text in legend_texts(figure)] == ["_under", "a$^b$", "x" * 25 + "..."]


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
