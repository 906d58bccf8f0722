import gzip
import hashlib
import http.server
import logging
import os
import sys
import threading
import types

import numpy as np
import pytest

from driftmap.datasets import SAMPLES, load_hospital, load_stocks, recorded, s_curve_stream
from driftmap.networks import laplacian_spectrum, read_contacts
from streams import FOLDER, needs

CONTENT = gzip.compress("".join(f"{140 + 20 * k} {k % 7} 9\n" for k in range(3000)).encode(), mtime=0)


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves `server.content`; honours Range; closes the connection after `server.cut` bytes."""

    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and server.honours_ranges else 0
        if server.status != 200 or (start and start >= len(server.content)):
            self.send_error(416 if server.status == 200 else server.status)
            return
        body = server.content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(server.content) - 1}/{len(server.content)}")
        self.end_headers()
        self.wfile.write(body[: server.cut])

    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.delenv("DRIFTMAP_DATA", raising=False)
    monkeypatch.setenv("DRIFTMAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(recorded, "HOSPITAL_SHA256", hashlib.sha256(CONTENT).hexdigest())
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.content, server.cut, server.status, server.honours_ranges = CONTENT, None, 200, True
        server.ranges = []
        server.url = f"http://127.0.0.1:{server.server_port}/contacts.dat.gz"
        server.cached = tmp_path / "cache" / recorded.HOSPITAL_FILE
        server.part = server.cached.with_name(server.cached.name + ".part")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def without_package(monkeypatch):
    monkeypatch.delenv("DRIFTMAP_DATA", raising=False)
    return lambda name: monkeypatch.setitem(sys.modules, name, None)


def test_s_curve_runs_along_its_parameter_without_noise_and_is_the_same_each_time():
    points, parameter = s_curve_stream(return_parameter=True)
    assert points.shape == (1000, 3)
    assert np.all(np.diff(parameter) >= 0)
    np.testing.assert_allclose(points[:, 0], np.sin(parameter))
    np.testing.assert_allclose(points[:, 2], np.sign(parameter) * (np.cos(parameter) - 1))
    np.testing.assert_array_equal(s_curve_stream(), points)
    assert not np.array_equal(s_curve_stream(random_state=2), points)


@needs(recorded.HOSPITAL_FILE)
def test_hospital_has_the_counts_the_paper_states():
    hospital = load_hospital()
    contacts = hospital.contacts
    assert len(contacts) == 32_424
    assert len(contacts.nodes) == len(hospital.statuses) == 75
    assert len(np.unique(np.sort(contacts.pairs, axis=1), axis=0)) == 1_139
    assert hospital.times.shape == (9_453,)
    counts = {status: hospital.statuses.count(status) for status in set(hospital.statuses)}
    assert counts == {"PAT": 29, "MED": 11, "NUR": 27, "ADM": 8}  # the paper: 35 nurses


@needs(recorded.HOSPITAL_FILE)
def test_hospital_clock_agrees_with_the_times_the_paper_prints():
    hospital = load_hospital()
    clock = hospital.clock
    assert clock.shape == hospital.times.shape
    assert clock[0] == np.datetime64("2010-12-06T13:00")
    # The radius jumps at arrivals 47, 64 and 1838, counted from 0; the paper rounds to the nearest minute.
    minutes = (clock + np.timedelta64(30, "s")).astype("datetime64[m]")
    assert [str(minutes[r]) for r in (47, 64, 1838)] == [
        "2010-12-06T14:08",
        "2010-12-06T14:14",
        "2010-12-07T10:16",
    ]
    # "95.6% of the contacts occur between 6:00 AM to 8:00 PM"
    hour = (clock - clock.astype("datetime64[D]")) // np.timedelta64(1, "h")
    daytime = np.isin(hospital.contacts.times, hospital.times[(hour >= 6) & (hour < 20)])
    assert round(100 * daytime.mean(), 1) == 95.6


@needs(recorded.HOSPITAL_FILE)
def test_hospital_spectra_are_those_of_its_tie_decay_network():
    hospital = load_hospital()
    spectra = hospital.spectra()
    assert spectra.shape == (9_453, 75)
    contacts, arrival = hospital.contacts, 1838
    t = hospital.times[arrival]
    B = np.zeros((75, 75))
    for (i, j), when in zip(contacts.pairs, contacts.times, strict=True):
        if when <= t:
            B[i, j] += np.exp(-0.01 * (t - when))
    np.testing.assert_allclose(spectra[arrival], laplacian_spectrum(B + B.T), atol=1e-10)


@needs(recorded.HOSPITAL_FILE)
def test_hospital_file_is_the_one_whose_checksum_downloads_must_have():
    with open(os.path.join(FOLDER, recorded.HOSPITAL_FILE), "rb") as file:
        assert hashlib.sha256(file.read()).hexdigest() == recorded.HOSPITAL_SHA256


@needs(recorded.STOCKS_FILE)
def test_stocks_have_the_days_and_names_the_paper_states():
    stocks = load_stocks()
    assert stocks.tickers == recorded.STOCKS_TICKERS
    assert stocks.prices.shape == stocks.normalized.shape == (2_518, 10)
    assert (str(stocks.dates[0]), str(stocks.dates[-1])) == ("2013-01-02", "2022-12-30")
    np.testing.assert_array_equal(stocks.normalized.min(axis=0), np.zeros(10))
    np.testing.assert_array_equal(stocks.normalized.max(axis=0), np.ones(10))


def test_a_path_may_be_a_file_or_a_folder_and_comes_before_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("DRIFTMAP_DATA", str(tmp_path / "not used"))
    (tmp_path / recorded.HOSPITAL_FILE).write_bytes(CONTENT)
    for path in (tmp_path, tmp_path / recorded.HOSPITAL_FILE, str(tmp_path)):
        assert len(load_hospital(path).contacts) == 3000
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(FileNotFoundError, match=r"nowhere|spy10"):
            load_stocks(path)


def test_an_environment_variable_that_names_no_folder_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("DRIFTMAP_DATA", str(tmp_path / "typo"))
    for load in (load_hospital, load_stocks):
        with pytest.raises(FileNotFoundError, match=r"DRIFTMAP_DATA.*typo"):
            load()


def test_prices_are_normalized_by_column_and_a_constant_one_is_zero(tmp_path):
    file = tmp_path / "prices.csv"
    file.write_text("date,A,B\n2020-01-02,1,5\n2020-01-03,3,5\n2020-01-06,2,5\n")
    stocks = load_stocks(file)
    assert stocks.tickers == ("A", "B")
    np.testing.assert_array_equal(stocks.normalized, [[0, 0], [1, 0], [0.5, 0]])
    assert stocks.dates.dtype == np.dtype("datetime64[D]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 0: expected a header"),
        ("date,A\n", "line 1: no prices"),
        ("date,A\n2020-01-02,1\n2020-01-03\n", "line 3: 1 fields"),
        ("date,A\n2020-01-02,x\n", "line 2: .*'x'"),
        ("date,A\n2020-01-02,nan\n", "line 2: .*finite"),
        ("date,A\nsoon,1\n", "line 2: .*soon"),
        ("date,A\n2020-01-02,1\n2020-01-02,1\n", "line 3: .*come after"),
    ],
)
def test_a_bad_price_file_gives_one_error_that_names_file_and_line(tmp_path, text, message):
    file = tmp_path / "prices.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        load_stocks(file)
    assert str(error.value).startswith(str(file))


def test_a_missing_package_is_named_with_its_extra(without_package):
    without_package("pooch")
    with pytest.raises(ImportError, match=r'pip install "driftmap\[data\]"'):
        load_hospital()
    without_package("yfinance")
    with pytest.raises(ImportError, match=r'pip install "driftmap\[stocks\]"'):
        load_stocks()


def fake_yahoo(monkeypatch, answer):
    monkeypatch.delenv("DRIFTMAP_DATA", raising=False)
    module = types.ModuleType("yfinance")
    module.download = lambda tickers, **options: answer
    monkeypatch.setitem(sys.modules, "yfinance", module)


def test_downloaded_prices_come_in_the_papers_order_of_stocks(monkeypatch):
    pd = pytest.importorskip("pandas")
    names = sorted(recorded.STOCKS_TICKERS)
    columns = pd.MultiIndex.from_product([["Adj Close", "Close"], names])
    days = pd.to_datetime(["2013-01-02", "2013-01-03"])
    frame = pd.DataFrame(np.arange(40.0).reshape(2, 20), index=days, columns=columns)
    fake_yahoo(monkeypatch, frame)
    stocks = load_stocks()
    assert [str(day) for day in stocks.dates] == ["2013-01-02", "2013-01-03"]
    assert stocks.tickers == recorded.STOCKS_TICKERS
    np.testing.assert_array_equal(stocks.prices[0], [names.index(name) for name in stocks.tickers])


def test_missing_prices_are_a_clear_error(monkeypatch):
    pd = pytest.importorskip("pandas")
    fake_yahoo(monkeypatch, pd.DataFrame())
    with pytest.raises(ConnectionError, match=r"path=.*spy10_adjclose\.csv.*DRIFTMAP_DATA"):
        load_stocks()


def test_a_download_is_verified_cached_and_silent(server, caplog, capfd):
    pytest.importorskip("pooch")
    with caplog.at_level(logging.INFO):
        assert len(load_hospital(url=server.url).contacts) == 3000
    assert server.cached.read_bytes() == CONTENT
    assert not server.part.exists()
    load_hospital(url=server.url)
    assert server.ranges == [None]  # the second time nothing was asked of the server
    assert capfd.readouterr() == ("", "")


def test_an_interrupted_download_is_resumed_where_it_stopped(server):
    pytest.importorskip("pooch")
    server.cut = 1000
    for _ in range(2):
        with pytest.raises(ConnectionError, match=r"could not download .*path=.*DRIFTMAP_DATA"):
            load_hospital(url=server.url)
    assert server.part.read_bytes() == CONTENT[:2000]
    assert not server.cached.exists()
    server.cut = None
    assert len(load_hospital(url=server.url).contacts) == 3000
    assert server.ranges == [None, "bytes=1000-", "bytes=2000-"]
    assert server.cached.read_bytes() == CONTENT


def test_a_server_that_cannot_resume_sends_the_whole_file_again(server):
    pytest.importorskip("pooch")
    server.cached.parent.mkdir()
    server.part.write_bytes(CONTENT[:1000])
    server.honours_ranges = False
    load_hospital(url=server.url)
    assert server.cached.read_bytes() == CONTENT


def test_a_left_over_that_is_too_long_is_dropped(server):
    pytest.importorskip("pooch")
    server.cached.parent.mkdir()
    server.part.write_bytes(CONTENT + b"more")
    load_hospital(url=server.url)
    assert server.cached.read_bytes() == CONTENT
    assert server.ranges == [f"bytes={len(CONTENT) + 4}-", None]


def test_while_another_process_downloads_its_unfinished_file_is_left_alone(server):
    pytest.importorskip("pooch")
    fcntl = pytest.importorskip("fcntl")
    server.cached.parent.mkdir()
    server.part.write_bytes(CONTENT[:1000])
    with server.part.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        load_hospital(url=server.url)
    assert server.cached.read_bytes() == CONTENT
    assert server.part.read_bytes() == CONTENT[:1000]
    assert server.ranges == [None]


def test_a_link_in_place_of_the_unfinished_file_is_not_followed(server, tmp_path):
    pytest.importorskip("pooch")
    server.cached.parent.mkdir()
    tmp_path.joinpath("victim").write_text("mine")
    server.part.symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="part"):
        load_hospital(url=server.url)
    assert tmp_path.joinpath("victim").read_text() == "mine"


def test_a_fifo_in_place_of_the_unfinished_file_is_refused(server):
    pytest.importorskip("pooch")
    server.cached.parent.mkdir()
    os.mkfifo(server.part)
    with pytest.raises(OSError, match="it is a FIFO, not a file"):
        load_hospital(url=server.url)
    assert server.part.is_fifo()


def test_a_download_with_the_wrong_checksum_is_refused_and_not_kept(server):
    pytest.importorskip("pooch")
    server.content = CONTENT[:-1] + b"?"
    with pytest.raises(ValueError, match="does not match the known hash"):
        load_hospital(url=server.url)
    assert not server.cached.exists()
    assert not server.part.exists()
    server.content = CONTENT
    load_hospital(url=server.url)
    assert server.ranges == [None, None]


def test_a_damaged_file_in_the_cache_is_replaced(server):
    pytest.importorskip("pooch")
    server.cached.parent.mkdir()
    server.cached.write_bytes(b"damaged")
    load_hospital(url=server.url)
    assert server.cached.read_bytes() == CONTENT


def test_without_a_network_the_message_says_what_to_do(server):
    pytest.importorskip("pooch")
    server.status = 404
    with pytest.raises(ConnectionError, match=r"404.*path=.*DRIFTMAP_DATA"):
        load_hospital(url=server.url)
    server.shutdown()
    server.socket.close()
    with pytest.raises(ConnectionError, match=r"could not download http.*path=.*DRIFTMAP_DATA"):
        load_hospital(url=server.url)


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_small_and_the_same_each_time(name):
    sample = SAMPLES[name]
    content = sample.make()
    assert content == sample.make()
    assert 10_000 < len(content) < 1_000_000


def test_the_sample_of_contacts_is_a_school(tmp_path):
    (tmp_path / "contacts.tsv").write_bytes(SAMPLES["contacts"].make())
    contacts = read_contacts(tmp_path / "contacts.tsv")
    assert len(contacts.nodes) == 45
    assert set(contacts.statuses) == {"1A", "1B", "2A"}
    dates = contacts.dates()
    assert len(np.unique(dates.astype("datetime64[D]"))) == 3
    assert np.diff(dates).max() > np.timedelta64(12, "h")  # nobody meets at night
