"""Downloads, verified and cached; an interrupted one resumes."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from driftmap.storage.atomic import REOPENING_FLAGS, lock, sync
from driftmap.storage.paths import open_regular
from driftmap.utils import PathLike
from driftmap.utils.errors import MissingDependencyError

DOWNLOAD_TIMEOUT = 30.0  # seconds without an answer before a download counts as failed


def fetch(url: str, name: str, sha256: str) -> Path:
    """Download a file once into the cache, verified."""
    try:
        import pooch
    except ImportError as error:
        raise MissingDependencyError(f"downloading {name} needs pooch", extra="data") from error
    cache = Path(os.environ.get("DRIFTMAP_CACHE") or pooch.os_cache("driftmap")).expanduser()
    downloader = _Resumable(cache / f"{name}.part")
    with _quiet(pooch.get_logger()):
        return Path(pooch.retrieve(url, f"sha256:{sha256}", fname=name, path=cache, downloader=downloader))


@contextlib.contextmanager
def _quiet(logger: Any) -> Iterator[None]:
    """Silence pooch's log messages: the library never prints."""
    level = logger.level
    logger.setLevel("WARNING")
    try:
        yield
    finally:
        logger.setLevel(level)


class _Resumable:
    """A pooch downloader that receives into a `.part` file and resumes an interrupted download from it.

    One process at a time writes to that file; another one that downloads meanwhile does so on its own.
    """

    def __init__(self, part: Path) -> None:
        self.part = part

    def __call__(self, url: str, output_file: PathLike, pooch: Any) -> None:
        del pooch
        with open_regular(self.part, REOPENING_FLAGS) as part, open(output_file, "w+b") as own:
            resumes = lock(part)
            try:
                _receive(url, part if resumes else own)
            except (OSError, http.client.HTTPException) as error:
                raise ConnectionError(
                    f"could not download {url}: {error}. Try again later (the download will resume), or get the "
                    "file by other means and name it with path= or its folder with DRIFTMAP_DATA."
                ) from error
            if resumes:
                part.seek(0)
                shutil.copyfileobj(part, own)
                part.truncate(0)  # if the checksum is wrong, the next attempt starts from zero
            sync(own)
        if resumes:
            self.part.unlink(missing_ok=True)


def _receive(url: str, file: BinaryIO) -> None:
    """Append to a file what it lacks of a download, or start again where the server cannot resume."""
    have = file.seek(0, os.SEEK_END)
    # Without this a server may compress what it sends, and byte ranges would count compressed bytes.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=DOWNLOAD_TIMEOUT)
    except urllib.error.HTTPError as error:
        with error:
            if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not have:
                raise
        file.truncate(0)  # it is as long as the download: complete, or of another file
        _receive(url, file)
        return
    with answer:
        if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
            have = 0
            file.truncate(0)
            file.seek(0)
        length = answer.headers.get("Content-Length")
        shutil.copyfileobj(answer, file)
        received = file.tell() - have
    if length is not None and received < int(length):
        raise ConnectionError(f"the connection closed after {received} of {length} bytes")
