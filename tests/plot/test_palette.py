"""Colours for everybody: differences by CIEDE2000 for three kinds of colour vision, contrasts by WCAG 2.1."""

import itertools
import re

import numpy as np
import pytest

from driftmap.web.page import style
from driftmap.web.palette import GROUP_COLORS, OTHER_COLOR

# How a colour looks to readers without one kind of cone: Machado, Oliveira and Fernandes (2009), severity 1.
SEEN = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)
WHITE = TO_XYZ.sum(axis=1)
THEMES = dict(zip(("light", "dark"), re.findall(r"(--ink: [^}]*?);\n(?:  display|})", style()), strict=True))


def linear(colour):
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIELAB of linear red, green and blue."""
    t = TO_XYZ @ np.clip(rgb, 0, 1) / WHITE
    x, y, z = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one, other):
    """CIEDE2000, after Sharma, Wu and Dalal (2005)."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + 25**7))
    c1, c2 = np.hypot(stretch * a1, b1), np.hypot(stretch * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, stretch * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = 0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2))
    lm, cm = (l1 + l2) / 2, (c1 + c2) / 2
    hm = h1 + h2 if c1 * c2 == 0 else (h1 + turn / 2) % 360
    t = 1 - 0.17 * cos(hm - 30) + 0.24 * cos(2 * hm) + 0.32 * cos(3 * hm + 6) - 0.2 * cos(4 * hm - 63)
    sl = 1 + 0.015 * (lm - 50) ** 2 / np.sqrt(20 + (lm - 50) ** 2)
    sc, sh = 1 + 0.045 * cm, 1 + 0.015 * cm * t
    angle = 60 * np.exp(-(((hm - 275) / 25) ** 2))
    rt = -2 * np.sqrt(cm**7 / (cm**7 + 25**7)) * np.sin(np.radians(angle))
    dl, dc, dh = (l2 - l1) / sl, (c2 - c1) / sc, dh / sh
    return np.sqrt(dl**2 + dc**2 + dh**2 + rt * dc * dh)


def cos(degrees):
    return np.cos(np.radians(degrees))


def contrast(one, other):
    low, high = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def theme(name):
    return dict(re.findall(r"--(\w+): (#\w{6})", THEMES[name]))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, -1.0, 2.0), (50.0, 0.0, 0.0), 2.3669),
        ((50.0, 2.5, 0.0), (50.0, 3.2592, 0.335), 1.0),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((22.7233, 20.0904, -46.694), (23.0331, 14.973, -42.5619), 2.0373),
    ],
)
def test_the_difference_is_that_of_the_published_examples(one, other, expected):
    assert difference(one, other) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("vision", SEEN)
def test_no_two_groups_look_alike(vision):
    seen = {colour: lab(np.array(SEEN[vision]) @ linear(colour)) for colour in (*GROUP_COLORS, OTHER_COLOR)}
    for one, other in itertools.combinations(seen, 2):
        assert difference(seen[one], seen[other]) >= 8, (one, other)


def test_groups_stand_out_on_white_and_on_dark():
    for colour in (*GROUP_COLORS, OTHER_COLOR):
        assert contrast(colour, theme("light")["paper"]) >= 2.2
        assert contrast(colour, theme("dark")["paper"]) >= 3


@pytest.mark.parametrize("name", ["light", "dark"])
def test_texts_and_marks_can_be_read(name):
    colours = theme(name)
    for text, ground in itertools.product(("ink", "soft"), ("paper", "back")):
        assert contrast(colours[text], colours[ground]) >= 4.5
    for mark in ("alarm", "accent"):
        assert contrast(colours[mark], colours["paper"]) >= 4.5  # paper is the colour of the text on them
