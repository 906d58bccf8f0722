"""Recordings of the live view that were cut, flipped or edited: refused in one line, or played to their end."""

import copy
import functools
import struct
import tempfile
from pathlib import Path

import numpy as np

from driftmap.live.recording import FILE_MAGIC, RECORD_HEADER, Recorder, Replay
from driftmap.live.scene import CURVES, Landmarks, Scene
from driftmap.utils.errors import InputError
from driftmap.web.columns import GrowingColumn
from driftmap.web.protocol import decode, encode
from torture.edits import damage, edit_array, edit_tree

TIMES = [0.0, -1.0, 1e300, float("nan"), float("inf")]


@functools.cache
def original():
    """The bytes of a recording."""
    rng = np.random.default_rng(0)
    columns = [GrowingColumn("kind"), GrowingColumn("v", "number")]
    scene = Scene("A stream", columns, 30)
    alert = {"row": 3, "time": "noon", "reach": None, "quantile": 0.99, "nearest": 2}
    alert["features"] = [{"name": "v", "value": 1.5, "landmark": 0.5}]
    with tempfile.TemporaryDirectory() as folder, Path(folder, "r.dmr").open("w+b") as file:
        recorder = Recorder(scene, file)
        for i in range(6):
            values = [columns[0].add(["a", f"b{i}"] * 5), rng.random(10)]
            scene.append(10 * i, rng.random((10, 2)), values, np.arange(10))
            scene.set_landmarks(Landmarks(np.arange(3), rng.random((3, 2)), np.ones(3)))
            scene.add_sample(dict.fromkeys(CURVES, float(i)))
            scene.add_alerts([alert] if i % 2 else [])
            if i == 3:
                scene.move(10, rng.random((30, 2)))
            recorder.write()
        file.seek(0)
        return file.read()


def parts(data):
    """The times and messages of a recording."""
    place, found = len(FILE_MAGIC), []
    while place < len(data):
        seconds, length = RECORD_HEADER.unpack_from(data, place)
        place += RECORD_HEADER.size
        found.append((seconds, data[place : place + length]))
        place += length
    return found


def edit(data, rng):
    """Change a header, an array or the time of a message."""
    found = parts(data)
    i = rng.randrange(len(found))
    seconds, message = found[i]
    header, arrays = decode(message)
    how = rng.random()
    if how < 0.6:
        header = copy.deepcopy(header)
        edit_tree(header, rng)
    elif how < 0.9 and arrays:
        name = rng.choice(sorted(arrays))
        arrays[name] = edit_array(arrays[name], rng)
        if rng.random() < 0.2:
            arrays[rng.choice([*sorted(arrays), "strange"])] = arrays.pop(name)
    else:
        seconds = rng.choice(TIMES)
    try:
        message = encode(header, arrays)
    except (TypeError, ValueError, OverflowError):  # it is no message
        message = damage(message, rng)
    found[i] = seconds, message
    return FILE_MAGIC + b"".join(RECORD_HEADER.pack(t, len(m)) + m for t, m in found)


def run(case):
    data = original()
    data = damage(data, case.rng) if case.chance(0.4) else edit(data, case.rng)
    path = case.folder / "r.dmr"
    path.write_bytes(data)
    refused = ""
    try:
        replay = Replay(path)
    except InputError as error:
        refused = str(error)
    else:
        replay.play(1e12)
        assert replay.scene.message(None) is not None
    assert "\n" not in refused
    case.count(edits=1, refused=bool(refused), played=not refused)


def bomb(capacity):
    """A recording of a scene of this many rows."""
    seconds, message = parts(original())[0]
    header, arrays = decode(message)
    message = encode(header | {"capacity": capacity}, arrays)
    return FILE_MAGIC + struct.pack("<dI", seconds, len(message)) + message
