"""A stream is watched among strangers, whose connections say little or nothing: it is learnt and saved to the end."""

import re
import resource
import signal
import subprocess
import sys
import time

from strangers import crowd, write_rows
from torture.follows import wait_for
from torture.processes import finish

LIMITED = """\
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({0}, {0}))
from driftmap.cli import main
sys.exit(main(sys.argv[1:]))
"""


def run(case):
    rng, rows = case.rng, case.folder / "s.csv"
    write_rows(rows, 100)
    words = ["watch", "s.csv", "--port", "0", "--no-open", "-o", "o.csv"]
    words += ["--checkpoint", "c.ckpt", "--checkpoint-every", "0s"]
    words += rng.choice([[], ["--host", "127.0.0.1"]])
    process = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-c", LIMITED.format(rng.choice([128, 256, 1024])), *words],
        cwd=case.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    port, written = int(re.search(r":(\d+)/", process.stderr.readline().decode())[1]), 100
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    n = rng.randint(50, 1500 if allowed < 0 else min(1500, allowed - 200))
    try:
        said = rng.choice(
            [b"", b"G", b"GET / HTTP/1.1\r\nX: ", b"\r\n", b"GET /stream HTTP/1.1\r\nUpgrade: websocket\r\n"]
        )
        with crowd(port, n, said):
            for step in range(1, 6):
                write_rows(rows, 20, seed=step)
                written += 20
                time.sleep(0.1 * rng.random())
            wait_for(case.folder / "o.csv", written + 1, process)
            process.send_signal(signal.SIGINT)
            code, err = finish(process)
    finally:
        process.kill()
    assert code == 130, f"exit code {code}: {err}"
    assert "Traceback" not in err, err
    assert f"stopped after {written} rows" in err, err
    assert "state saved" in err, err
    case.count(streams=1, arrivals=written, edits=n)
