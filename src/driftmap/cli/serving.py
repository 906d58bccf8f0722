"""The page of a live view: serving it, opening a browser, recording what it shows."""

from __future__ import annotations

import contextlib
import html
import os
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from driftmap.cli.errors import UserError, note, one_line, warn
from driftmap.live.scene import Scene
from driftmap.live.watching import Watcher
from driftmap.map import StreamMap
from driftmap.pipeline.observer import Observer, Update
from driftmap.storage.paths import OutputPath, open_stream

if TYPE_CHECKING:
    from driftmap.live.server import Server

REDIRECT = """\
<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<a href="{address}">The live map</a>
"""


class Unfailing(Observer):
    """A watcher that never ends the run: it reports its first error, and shows nothing from then on."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher, self._lock, self._failed = watcher, threading.Lock(), False

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Show some rows."""
        self._try(partial(self._watcher.observe, update, mapper))

    def refresh(self) -> None:
        """Show what the rows change."""
        self._try(self._watcher.refresh)

    def _try(self, work: Callable[[], None]) -> None:
        try:
            if not self._failed:
                work()
        except Exception as error:
            with self._lock:
                if not self._failed:
                    warn(f"the page stops showing the stream: {one_line(error)}; the run goes on")
                self._failed = True


@contextlib.contextmanager
def serving(host: str | None, port: int | None, scene: Scene, *, opens: bool) -> Iterator[Server]:
    """Serve a scene, and open a browser on it."""
    from driftmap.live import server as live

    token = os.environ.get("DRIFTMAP_TOKEN") if host is not None else None
    with (
        live.serving(scene, host=host, port=port, token=token, report=warn) as server,
        contextlib.ExitStack() as stack,
    ):
        note(f"live at {server.address}")
        # Without a display a browser would be one for the terminal, which is in use.
        if opens and (sys.platform in ("win32", "darwin") or {"DISPLAY", "WAYLAND_DISPLAY"} & {*os.environ}):
            address = server.address if server.token is None else _redirect(server.address, stack)
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        yield server


def _redirect(address: str, stack: contextlib.ExitStack) -> str:
    """Return the URL of a page that redirects to an address with a token.

    Other users can read the arguments of a browser, but not this file, which exists until the end of the run.
    """
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="driftmap-", ignore_cleanup_errors=True)))
    page = folder / "open.html"
    page.touch(0o600)
    page.write_text(REDIRECT.format(address=html.escape(address)))
    return page.as_uri()


@contextlib.contextmanager
def new_recording(path: OutputPath) -> Iterator[BinaryIO]:
    """Open a new file for the recording."""
    try:
        file: Any = open_stream(path) if path.is_stream else path.true.open("xb")
    except FileExistsError:
        raise UserError(f"{path} exists: delete it, or record to another file") from None
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error
    try:
        yield file
    finally:
        with contextlib.suppress(OSError):  # the recorder has reported it
            file.close()
