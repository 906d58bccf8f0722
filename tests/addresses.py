"""Addresses of brokers with a marked password, damaged in many ways; nothing that is written may show the mark."""

import contextlib
import io
import os
import traceback
from pathlib import Path

from driftmap import sources
from driftmap.cli import main
from driftmap.sources.brokers import open_broker, open_sink
from driftmap.utils.errors import InputError, MissingDependencyError

MARK = "Zq7marK"
STRAY = [*"/?#@:[]%&=+;,. \t\n\\'\"-~u9", "://", "%40", "%2", "%ff", "%00", "℀", "é", "\udcff", "\x1b", "\u200b", "//"]
POSITIONS = (
    ["embed", "{}"],
    ["follow", "{}", "--sink", "redis://"],
    ["follow", "none.csv", "--sink", "{}"],
    ["follow", "none.csv", "--sink={}"],
    ["embed", "none.csv", "-o", "{}"],
    ["embed", "none.csv", "-o{}"],
    ["embed", "t.csv", "-o", "o.csv", "--checkpoint", "{}"],
    ["embed", "t.csv", "--landmarks={}"],
    ["embed", "t.csv", "--metric", "{}"],
    ["embed", "t.csv", "--unknown", "{}"],
    ["follow", "{}", "--query", "SELECT 1"],
    ["follow", "none.csv", "--alert", "3", "--alert-webhook", "{}"],
    ["follow", "none.csv", "--alert", "3", "--alert-webhook={}"],
    ["watch", "--replay", "{}"],
    ["info", "{}"],
    ["{}"],
)


def damaged(rng):
    """An address with up to three faults, with a marked password.

    The colon before the password and the @ behind it stay: without them, it cannot be told from a host or a file.
    """
    before = [rng.choice(["redis", "kafka", "nats", "mqtt", "postgresql"]), ":", "/", "/", "u"]
    after = ["host", ":", "6379", "/", "x", "?", "payload", "=", "csv"][: rng.choice([1, 3, 5, 9])]
    password = ["", MARK, ""]
    for _ in range(rng.randint(0, 3)):
        stray, what = rng.choice(STRAY), rng.randrange(4)
        if what == 0:
            password[rng.choice([0, 2])] += stray
            continue
        parts = rng.choice([part for part in (before, after) if part])
        place = rng.randrange(len(parts))
        if what == 1:
            parts.insert(place, stray)
        else:
            parts[place : place + 1] = [stray] if what == 2 else []
    url = "".join([*before, ":", *password, "@", *after])
    return url.removeprefix(".") if url.startswith("./") else url  # by which a user says that it is a file


def written(url, position, folder):
    """All that is written where an address is used: by the library, by the command, and into files."""
    said = io.StringIO()
    for use in (sources.open, open_broker, open_sink):
        try:
            said.write(repr(use(url).name))
        except (InputError, MissingDependencyError, OSError) as error:
            said.write("".join(traceback.format_exception(error)))
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said), contextlib.chdir(folder):
        Path("t.csv").write_text("a,b\n1,2\n3,4\n5,7\n")
        before = said.tell()
        code = main([word.replace("{}", url) for word in position])
        message = said.getvalue()[before:]
        assert code == 2, f"{code}: {message}"
        assert message.count("\n") == 1, message
        for root, folders, files in os.walk("."):
            said.write("".join([*folders, *files]))
            said.write("".join(Path(root, name).read_bytes().decode("latin-1") for name in files))
    return said.getvalue()
