"""Points the tests at the recorded data sets, where a copy lies beside the repository."""

import os
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_DATA = _ROOT.parent / "shared" / "data"
if _DATA.is_dir():
    os.environ.setdefault("DRIFTMAP_DATA", str(_DATA))

# numba looks only at a kernel's own file to tell whether its cached code is out of date, not at what it calls.
_KERNELS = _ROOT / "src" / "driftmap" / "_kernels"
_newest = max(path.stat().st_mtime for path in _KERNELS.glob("*.py"))
for _cached in _KERNELS.glob("__pycache__/*.nb?"):
    if _cached.stat().st_mtime < _newest:
        _cached.unlink(missing_ok=True)
