"""Checkpoints and states with contents that somebody has made up, under checksums that are right.

They are refused, or they are states like any other: they pass every invariant, then learn, map and save.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from streams import EXAMPLES

EDITS = EXAMPLES * 5 // 4
"""150 in the suite; DRIFTMAP_STREAMS=8000 tries 10,000."""


@pytest.mark.skipif(sys.platform == "win32", reason="memory and time are limited in the way of other systems")
@pytest.mark.parametrize("what", ["files", "states"])
def test_edited_contents_are_refused_or_whole(what):
    """In a process of its own: nothing may crash it or make it hang."""
    program = Path(__file__).with_name("hostile.py")
    done = subprocess.run([sys.executable, str(program), what, str(EDITS)], capture_output=True, text=True)
    last = done.stdout.splitlines()[-1] if done.stdout else "the start"
    assert done.returncode == 0, f"exit code {done.returncode} at: {last}\n{done.stderr[-3000:]}"
    _, tried, refused = last.split()
    assert int(tried) == EDITS
    assert 0.2 * EDITS < int(refused) < EDITS
