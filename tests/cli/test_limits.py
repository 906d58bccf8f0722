"""``--limits``: what pictures hold; and suggestions for what other tools call otherwise."""

import base64
import re
import zlib

import matplotlib.image
import numpy as np
import pytest

from driftmap.cli import main
from driftmap.web.protocol import decode


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table with two outliers."""
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).uniform(0, 1, (300, 3))
    rows[[7, 150]] = [0.5, 0.5, -95.0]
    np.savetxt("t.csv", rows, delimiter=",", header="a,b,c", comments="", fmt="%.4f")
    return tmp_path


def test_two_outliers_leave_the_picture_its_shape_unless_all_is_asked_for(table):
    shapes = {}
    for limits in ([], ["--limits", "all"]):
        assert main(["embed", "t.csv", "--plot", "m.png", *limits]) == 0
        shapes[bool(limits)] = matplotlib.image.imread(table / "m.png").shape
    tall, wide = (max(shape[0] / shape[1], shape[1] / shape[0]) for shape in (shapes[True], shapes[False]))
    assert wide < 1.8 < tall


@pytest.mark.parametrize(("given", "expected"), [([], "bulk"), (["--limits", "all"], "all")])
def test_a_page_is_told_its_limits(table, given, expected):
    assert main(["embed", "t.csv", "--plot", "m.html", *given]) == 0
    data = re.search(r'id="data">(.*?)<', (table / "m.html").read_text("utf-8"))[1]
    assert decode(zlib.decompress(base64.b64decode(data)))[0]["limits"] == expected


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["embed", "t.csv", "-o", "o.csv", "--limits", "all"], "--limits is for figures: add --plot or --animate"),
        (["embed", "t.csv", "--plot", "m.png", "--limits", "bulks"], "did you mean 'bulk'?"),
        (["embed", "t.csv", "--embedding", "umap"], "(instead: 'tsne')"),
        (["watch", "t.csv", "--contacts"], "driftmap contacts FILE --follow"),
        (["contacts", "t.csv", "--folow"], "did you mean '--follow'?"),
    ],
)
def test_mistakes_are_named_with_the_right_option(table, capfd, arguments, problem):
    assert main(arguments) == 2
    error = capfd.readouterr().err
    assert problem in error
    assert len(error.splitlines()) == 1
