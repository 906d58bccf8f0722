"""Examples in docs run in a temporary folder. DRIFTMAP_FIGURES=FOLDER keeps the figures that tutorials save."""

import os
import shutil
from pathlib import Path

import pytest

NEEDS_DATA = {"stocks.md": "spy10_adjclose.csv", "hospital.md": "hospital_lyon_contacts.dat.gz"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tutorials whose recorded data are not at hand."""
    folder = os.environ.get("DRIFTMAP_DATA", "")
    for item in items:
        name = NEEDS_DATA.get(item.path.name) if item.path.parent.name == "tutorials" else None
        if name is not None and not Path(folder, name).is_file():
            item.add_marker(pytest.mark.skip(reason=f"{name} is not in the folder DRIFTMAP_DATA"))


@pytest.fixture(autouse=True)
def in_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Examples write their files there."""
    folder = os.environ.get("DRIFTMAP_FIGURES")
    target = None if folder is None else Path(folder).resolve()
    monkeypatch.chdir(tmp_path)
    yield
    for figure in tmp_path.glob("*.png") if target is not None else ():
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(figure, target)
