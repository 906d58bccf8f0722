"""Every estimator keeps every promise: the checks of ``checks.py`` for each of its subjects."""

import pytest

from checks import CHECKS, SUBJECTS


@pytest.mark.filterwarnings("ignore:the landmarks so far span", "ignore:the graph of")
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", SUBJECTS)
def test_contract(name, check, tmp_path):
    check(SUBJECTS[name], tmp_path)
