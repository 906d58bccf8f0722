"""Points the tests at the recorded data sets, where a copy lies beside the repository."""

import os
from pathlib import Path

_DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"
if _DATA.is_dir():
    os.environ.setdefault("DRIFTMAP_DATA", str(_DATA))
