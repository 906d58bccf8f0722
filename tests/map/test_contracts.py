"""Every estimator keeps every promise: the checks of ``checks.py`` for each subject that they are about."""

import pytest

from checks import SUBJECTS, contracts


@pytest.mark.filterwarnings("ignore:the landmarks so far span", "ignore:the graph of")
@pytest.mark.parametrize(("check", "subject"), contracts(SUBJECTS))
def test_contract(check, subject, tmp_path):
    check(subject, tmp_path)
