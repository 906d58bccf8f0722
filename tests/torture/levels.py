"""Landmarks, masses, radius and coordinates are the same bits on every processor level."""

import os
import pickle
import subprocess
import sys
import warnings

from driftmap._core import _level
from streams import facts
from torture.case import Case
from torture.draws import draw
from torture.learning import new

LEVELS = [level for level in _level.built.split() if level == "generic" or int(level[1:]) <= _level.processor]
STREAMS = 20


def run(case):
    found = {}
    for level in LEVELS:
        environment = os.environ | {"DRIFTMAP_LEVEL": level, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "torture.levels", case.name, str(case.folder)]
        found[level] = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
    case.count(streams=STREAMS)
    first = found[LEVELS[0]]
    assert all(same == first for same in found.values()), "another result on another level"


def results(case):
    """What is learnt of some streams, and where points are placed."""
    for _ in range(STREAMS):
        stream = draw(case)
        fitted = new(stream).partial_fit(stream.part(0, len(stream)), **stream.time(0, len(stream)))
        placed = None if stream.components is None else fitted.transform(stream.queries(len(stream))).tobytes()
        yield facts(fitted), placed


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.stdout.buffer.write(pickle.dumps(list(results(Case(*sys.argv[1:])))))
