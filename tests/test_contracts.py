"""Every estimator keeps every promise: the checks of ``checks.py`` for each subject that they are about."""

import pytest

from checks import CHECKS, SUBJECTS

CONTRACTS = [
    pytest.param(check, subject, id=f"{name}-{check.__name__.removeprefix('check_')}")
    for name, subject in SUBJECTS.items()
    for check in CHECKS
    if not hasattr(check, "applies") or check.applies(subject)
]


@pytest.mark.filterwarnings("ignore:the landmarks so far span", "ignore:the graph of")
@pytest.mark.parametrize(("check", "subject"), CONTRACTS)
def test_contract(check, subject, tmp_path):
    check(subject, tmp_path)
