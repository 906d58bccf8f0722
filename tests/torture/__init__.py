"""Torture: random streams, interrupts, kills and damaged files for as long as you like, each case from a name.

    python -m tests.torture --minutes 30

A case is a kind and a number, ``learning-17``; all that it draws follows from that name. Where a case depends on the
moment of a signal, the name repeats everything but the moment.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the oracle and the streams of the tests
