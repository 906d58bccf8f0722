"""Points the tests at the recorded data sets, where there is a copy next to the repository."""

import os
from pathlib import Path

_ROOT = Path(__file__).resolve().parent
_DATA = _ROOT.parent / "shared" / "data"
if _DATA.is_dir():
    os.environ.setdefault("DRIFTMAP_DATA", str(_DATA))
