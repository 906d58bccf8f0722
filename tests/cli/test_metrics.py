"""``--metrics``: what Prometheus reads of a run is what the run did."""

import contextlib
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from brokers import free_port
from driftmap.cli import main
from driftmap.cli.monitoring import Metrics
from driftmap.map import StreamMap
from driftmap.map.drift import DriftMonitor
from driftmap.map.novelty import NoveltyDetector
from driftmap.pipeline import MapOperator
from driftmap.tables.rejected import RejectedLines

pytest.importorskip("prometheus_client", reason="metrics need pip install driftmap[metrics]")

ROOT = Path(__file__).parents[2]
X = np.cumsum(np.random.default_rng(1).standard_normal((300, 3)), axis=0)
LINES = "".join(f"{a!r},{b!r},{c!r}\n" for a, b, c in X.tolist())


def values(metrics):
    """Each sample by its name and labels."""
    return {
        sample.name + "".join(f"/{value}" for value in sample.labels.values()): sample.value
        for family in metrics.collect()
        for sample in family.samples
    }


def read(port):
    from prometheus_client.parser import text_string_to_metric_families

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found = {
        sample.name + "".join(f"/{value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    return found, text


def test_metrics_are_the_attributes_of_the_map():
    operator = MapOperator(StreamMap(2, n_landmarks=10), detector=NoveltyDetector(0.9), monitor=DriftMonitor(50))
    metrics = Metrics(operator, None, RejectedLines())
    before = values(metrics)
    assert before["driftmap_rows_total"] == 0
    assert "driftmap_radius" not in before
    update = operator.on_batch(X)
    metrics.observe(update, operator.mapper)
    found, mapper = values(metrics), operator.mapper
    expected = {
        "driftmap_rows_total": 300,
        "driftmap_radius": mapper.radius_,
        "driftmap_coverage_bound": mapper.coverage_bound_,
        "driftmap_landmarks": 10,
        "driftmap_stored_points": 300,
        "driftmap_frames_total": mapper.frames.count,
        "driftmap_replacements_total": mapper.n_replacements_,
        "driftmap_alerts_total/novelty": operator.detector.n_alerts,
        "driftmap_alerts_total/drift": operator.monitor.n_drifts,
        "driftmap_drift_p_value": operator.monitor.p_value,
        "driftmap_bad_lines_total": 0,
    }
    assert {name: found[name] for name in expected} == expected
    assert 0 < found["driftmap_sigma"] < 0.2
    assert found["driftmap_memory_bytes"] > 2**20
    assert found["driftmap_lag_seconds"] > 0
    metrics.idle()
    assert values(metrics)["driftmap_lag_seconds"] == 0
    assert "driftmap_checkpoint_age_seconds" not in found
    frames = mapper.frames.count
    values(metrics)
    assert mapper.frames.count == frames  # to look makes no frame


def test_prometheus_scrapes_a_run(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,c\n" + LINES)
    port = free_port()
    words = ["follow", "rows.csv", "-o", "map.csv", "--metrics", str(port), "--alert", "0.9", "--drift", "50"]
    words += ["--landmarks", "10", "--checkpoint", "map.ckpt", "--checkpoint-every", "0s"]
    run = subprocess.Popen([sys.executable, "-m", "driftmap", *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        found = {}
        for _ in range(600):
            with contextlib.suppress(OSError):
                found, text = read(port)
            if found.get("driftmap_rows_total") == 300 and found["driftmap_lag_seconds"] == 0:
                break
            time.sleep(0.05)
        assert found["driftmap_rows_total"] == 300
        names = set(re.findall(r"^([a-z_]+)", text, re.MULTILINE))
        assert {name for name in names if not name.startswith("driftmap_")} == set()
        assert 0 <= found["driftmap_checkpoint_age_seconds"] < 60
        board = (ROOT / "docs/grafana.json").read_text()
        shown = set(re.findall(r"driftmap_[a-z_]+", " ".join(one["expr"] for one in targets(json.loads(board)))))
        assert shown <= names
        documented = (ROOT / "docs/how-to/monitor.md").read_text()
        assert {name for name in names if f"`{name}`" not in documented} == set()
        if (checker := shutil.which("promtool")) is not None:
            checked = subprocess.run([checker, "check", "metrics"], input=text, capture_output=True, text=True)
            assert (checked.returncode, checked.stderr) == (0, "")
        if (server := shutil.which("prometheus")) is None:
            pytest.skip("prometheus is not installed: apt-get install prometheus")
        assert scraped(server, port, tmp_path) == "300"
    finally:
        run.send_signal(signal.SIGINT)
        _, said = run.communicate()
    assert f"driftmap: metrics at http://127.0.0.1:{port}/metrics" in said
    assert "Traceback" not in said


def targets(board):
    return [target for panel in board["panels"] for target in panel["targets"]]


def scraped(server, port, folder):
    """The number of rows, as a server of Prometheus has read it."""
    own = free_port()
    config = folder / "prometheus.yml"
    job = f"{{job_name: driftmap, scrape_interval: 1s, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}"
    config.write_text(f"scrape_configs: [{job}]\n")
    words = [f"--config.file={config}", f"--storage.tsdb.path={folder}/tsdb", f"--web.listen-address=127.0.0.1:{own}"]
    process = subprocess.Popen([server, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError, LookupError):
                url = f"http://127.0.0.1:{own}/api/v1/query?query=driftmap_rows_total"
                with urllib.request.urlopen(url, timeout=5) as answer:
                    return json.load(answer)["data"]["result"][0]["value"][1]
            time.sleep(0.1)
    finally:
        process.terminate()
        process.wait()
    return None


def test_a_port_in_use_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("a,b,c\n" + LINES)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["follow", "rows.csv", "-o", "map.csv", "--metrics", port]) == 2
    assert f"--metrics {port} cannot be served at 127.0.0.1: Address already in use; give" in capsys.readouterr().err
    assert main(["follow", "rows.csv", "-o", "map.csv", "--metrics", "0", "--host", "none.invalid"]) == 2
    assert "--metrics 0 cannot be served at none.invalid" in capsys.readouterr().err
    assert main(["follow", "rows.csv", "--host", "0.0.0.0"]) == 2
    assert "--host is for --metrics" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    assert main(["follow", "rows.csv", "-o", "map.csv", "--metrics", "0"]) == 2
    assert 'pip install "driftmap[metrics]"' in capsys.readouterr().err
