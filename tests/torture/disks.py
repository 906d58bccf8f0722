"""A disk that is full at any byte: one line, the old files as they were, and a run that can go on."""

import os
import resource
import signal

from torture.inputs import embed
from torture.processes import KINDS, options, without_warnings, write_input


def run(case):
    rng, folder = case.rng, case.folder
    online, rows = case.chance(0.5), rng.randint(50, 300)
    source = write_input(case, rows, rng.choice(KINDS))
    output = folder / f"o.{rng.choice(['csv', 'jsonl', 'npy'])}"
    command = [folder / source[0], *source[1:], *options(case, online=online), "-o", output]
    code, err = embed(command)
    assert code == 0, err
    expected = output.read_bytes()
    output.write_bytes(b"old")
    saving = ["--checkpoint", folder / "c.ckpt", "--checkpoint-every", "0s"] if case.chance(0.6) else []
    case.count(streams=1, arrivals=rows)
    size = rng.choice([len(expected), 20_000]) * 1.2
    code, err = limited(int(rng.random() * size), [*command, *saving])
    if code == 0:
        assert output.read_bytes() == expected
    else:
        case.count(edits=1)
        assert code == 2
        assert err.count("driftmap: error: ") == without_warnings(err).count("\n") == 1, err
        assert "File too large" in err, err
        assert output.read_bytes() == b"old"
    names = set(os.listdir(folder)) - {source[0], output.name}
    assert names <= {"c.ckpt", f".{output.name}.partial"} if saving else not names, names
    code, err = embed([*command, *saving, *(["--resume"] if saving else [])])
    assert code == 0, err
    assert output.read_bytes() == expected
    assert not [name for name in os.listdir(folder) if name.endswith((".partial", ".tmp"))]


def limited(size, command):
    """The command where no file may have more bytes."""
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        return embed(command)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
