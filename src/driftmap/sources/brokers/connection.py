"""Connections to brokers: the error for a lost one, and the loop that reconnects, for sources and sinks alike."""

from __future__ import annotations

import hashlib
import importlib
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from driftmap.utils.errors import MissingDependencyError

Result = TypeVar("Result")

WAIT_SECONDS = 0.1
"""Seconds between two checks for signals while a client waits."""
CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a connection, or for the answer of a broker."""
LONGEST_PAUSE = 30.0
"""Most seconds between two attempts to connect."""


class LostError(Exception):
    """Raised when the connection is lost; a later attempt may succeed."""


class Client(Protocol):
    """A source or a sink that can reconnect."""

    name: str
    report: Callable[[str], Any]
    """Called with one line when the connection is lost or restored."""
    waiting: Callable[[], Any]
    """Called several times a second during a pause; an exception that it raises ends the attempts."""

    def close(self) -> None:
        """Close the connection; the next attempt opens a new one."""


def persist(client: Client, attempt: Callable[[], Result]) -> Result:
    """Return the result of an attempt, which is repeated after a pause if it raises a :class:`LostError`."""
    n_lost = 0
    while True:
        try:
            result = attempt()
        except LostError as error:
            client.close()
            if n_lost == 0:
                client.report(f"{client.name} is not connected ({error}): trying again")
            n_lost += 1
            _pause(client, pause_before(n_lost))
        else:
            if n_lost:
                client.report(f"{client.name} is connected again")
            return result


def pause_before(attempt: int) -> float:
    """Return the seconds to wait before the next attempt: twice as long each time, up to a limit.

    >>> [pause_before(attempt) for attempt in (1, 2, 2000)]
    [0.2, 0.4, 30.0]
    """
    return min(0.1 * 2 ** min(attempt, 10), LONGEST_PAUSE)


def _pause(client: Client, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        client.waiting()
        time.sleep(min(WAIT_SECONDS, left))


def digest(*parts: bytes) -> str:
    """Return a short digest of a message, by which it is recognised when it is read again."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()[:16]


def require(module: str, extra: str) -> Any:
    """Import the client library of a broker, or raise an error that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(f"{extra}:// needs {module.split('.')[0]}", extra=extra) from error
