"""Points the tests at the recorded data sets, where a copy lies next to the repository; lets children be stopped."""

import os
import signal
from pathlib import Path

_ROOT = Path(__file__).resolve().parent
_DATA = _ROOT.parent / "shared" / "data"
if _DATA.is_dir():
    os.environ.setdefault("DRIFTMAP_DATA", str(_DATA))
# A shell ignores Ctrl-C for what it runs in the background, and so would the commands that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
