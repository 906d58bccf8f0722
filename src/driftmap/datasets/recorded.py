"""The paper's recorded data: hospital contacts and stock prices.

The package does not include them. They are read from a given file or folder, from the folder in the environment
variable DRIFTMAP_DATA, or downloaded.
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from driftmap.datasets.download import fetch
from driftmap.networks import Contacts, laplacian_spectra, read_contacts
from driftmap.utils import Array, PathLike
from driftmap.utils.errors import InputError, MissingDependencyError

DateArray: TypeAlias = NDArray[np.datetime64]

HOSPITAL_FILE = "hospital_lyon_contacts.dat.gz"
HOSPITAL_URL = "http://www.sociopatterns.org/assets/data/hospital_lyon_contacts.dat.gz"
HOSPITAL_SHA256 = "12124ddc438300bcaea0022d4937e0e566679e1fd8f11f16a62214fbebc2b012"
HOSPITAL_START = np.datetime64("2010-12-06T13:00:00")
HOSPITAL_FIRST_CONTACT = 140  # seconds; the paper's clock times imply that this is 1:00 PM

STOCKS_FILE = "spy10_adjclose.csv"
STOCKS_TICKERS = ("AAPL", "MSFT", "AMZN", "NVDA", "GOOGL", "TSLA", "GOOG", "BRK-B", "META", "UNH")


@dataclass(frozen=True, eq=False)
class Hospital:
    """Contacts of 75 people in a hospital ward in Lyon, 6 to 10 December 2010 (SocioPatterns).

    `contacts` are the face-to-face contacts, in seconds and steps of 20 s. `statuses`, one per node, are NUR (nurse),
    PAT (patient), MED (doctor) and ADM (administration; the paper counts these as nurses).
    """

    contacts: Contacts

    @property
    def times(self) -> Array:
        """The times with at least one contact, in seconds: the arrivals of the stream."""
        return self.contacts.event_times

    @property
    def statuses(self) -> tuple[str, ...]:
        """The status of each node, in the order of `contacts.nodes`."""
        return self.contacts.statuses or ()

    @property
    def clock(self) -> DateArray:
        """The local date and time in Lyon at each of `times`.

        As in the paper, the first contact is on Monday at 1:00 PM. The paper's "Monday, 2:14 PM" is arrival 64 (from
        0), at 14:13:40.
        """
        return HOSPITAL_START + (self.times - HOSPITAL_FIRST_CONTACT).astype("timedelta64[s]")

    def spectra(self, decay: float = 0.01) -> Array:
        """Return the Laplacian spectrum of the tie-decay network at each of `times`; `decay` (per second) is alpha."""
        return laplacian_spectra(self.contacts, decay)[1]


def load_hospital(path: PathLike | None = None, *, url: str = HOSPITAL_URL) -> Hospital:
    """Load the hospital contacts from `path` (file or folder), DRIFTMAP_DATA or, if neither has them, `url`.

    A download needs the extra `data`. It is verified by SHA-256 and cached in DRIFTMAP_CACHE or the system's cache
    folder; an interrupted download resumes. The data are licensed CC BY-NC-SA 3.0: cite Vanhems et al., PLoS ONE 8(9),
    e73970 (2013).
    """
    local = _local_file(path, HOSPITAL_FILE)
    return Hospital(read_contacts(local or fetch(url, HOSPITAL_FILE, HOSPITAL_SHA256)))


@dataclass(frozen=True, eq=False)
class Stocks:
    """Daily adjusted closing prices: `prices` (n_days, n_stocks) at `dates`, columns named by `tickers`."""

    dates: DateArray
    tickers: tuple[str, ...]
    prices: Array

    @property
    def normalized(self) -> Array:
        """Prices scaled to [0, 1] by each stock's minimum and maximum over the whole period, as in the paper.

        >>> dates = np.array(["2013-01-02", "2013-01-03"], dtype="datetime64[D]")
        >>> Stocks(dates, ("UNH",), np.array([[2.0], [4.0]])).normalized
        array([[0.], [1.]])
        """
        low = self.prices.min(axis=0)
        span = self.prices.max(axis=0) - low
        return np.asarray((self.prices - low) / np.where(span > 0, span, 1.0), dtype=np.float64)


def load_stocks(path: PathLike | None = None) -> Stocks:
    """Load the prices of ten stocks, 2013 to 2022, from `path` (file or folder), DRIFTMAP_DATA or Yahoo Finance.

    The file is CSV with a header `date,<ticker>,...` and one line per day. A download needs the extra `stocks`. Yahoo
    rescales adjusted prices after each dividend, which changes `normalized` only by rounding.
    """
    local = _local_file(path, STOCKS_FILE)
    return _download_stocks() if local is None else _read_stocks(local)


def _local_file(path: PathLike | None, name: str) -> Path | None:
    """Return the file `path`, or `name` in the folder `path` or DRIFTMAP_DATA; None if it must be downloaded."""
    folder = os.environ.get("DRIFTMAP_DATA")
    if path is None and not folder:
        return None
    place = Path(path if path is not None else folder or "").expanduser()
    if path is None and not place.is_dir():
        raise FileNotFoundError(f"DRIFTMAP_DATA is not a folder: {str(place)!r}")
    file = place / name if place.is_dir() else place
    if file.exists():
        return file
    if path is None:  # DRIFTMAP_DATA may hold only the other data set
        return None
    raise FileNotFoundError(f"no file {str(file)!r}")


def _read_stocks(path: Path) -> Stocks:
    dates: list[np.datetime64] = []
    prices: list[list[float]] = []
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        try:
            header = next(reader, [])
            if len(header) < 2:
                raise ValueError("expected a header: date,<ticker>,...")
            for row in reader:
                if len(row) != len(header):
                    raise ValueError(f"{len(row)} fields, where the header has {len(header)}")
                dates.append(np.datetime64(row[0], "D"))
                prices.append([float(price) for price in row[1:]])
                if not np.all(np.isfinite(prices[-1])):
                    raise ValueError("a price is not a finite number")
                if len(dates) > 1 and not dates[-1] > dates[-2]:
                    raise ValueError(f"date {row[0]} does not come after {dates[-2]}")
            if not dates:
                raise ValueError("no prices after the header")
        except (ValueError, csv.Error) as error:
            raise InputError(f": {error}", source=str(path), line=reader.line_num) from None
    return Stocks(np.array(dates), tuple(header[1:]), np.array(prices))


def _download_stocks() -> Stocks:
    try:
        import yfinance
    except ImportError as error:
        raise MissingDependencyError("downloading prices needs yfinance", extra="stocks") from error
    frame = yfinance.download(
        list(STOCKS_TICKERS), start="2013-01-01", end="2022-12-31", auto_adjust=False, progress=False
    )
    # Without a network yfinance logs the error and returns an empty or partly empty table.
    prices = None if frame is None or frame.empty else frame["Adj Close"].reindex(columns=list(STOCKS_TICKERS))
    if prices is None or prices.isna().to_numpy().any():
        raise ConnectionError(
            "Yahoo Finance did not return all prices; "
            f"try again, or name a file with path= or put {STOCKS_FILE} in the folder DRIFTMAP_DATA"
        )
    dates = prices.index.to_numpy().astype("datetime64[D]")
    return Stocks(dates, STOCKS_TICKERS, prices.to_numpy(dtype=np.float64))
