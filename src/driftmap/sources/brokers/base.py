"""What all message brokers have in common: an address, a position, rows out of messages, and lost connections."""

from __future__ import annotations

import hashlib
import time
from abc import abstractmethod
from typing import Any, NamedTuple

from driftmap.sources.addresses import Address
from driftmap.sources.brokers.payloads import rows_of
from driftmap.sources.row_source import RowSource
from driftmap.utils.errors import InputError, MissingDependencyError

WAIT_SECONDS = 0.1
"""How long a client waits for a message before it looks for signals."""
CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a connection, or for the answer of a broker."""
LONGEST_PAUSE = 30.0
"""Seconds between two attempts to connect, at most."""


def pause_before(attempt: int) -> float:
    """Seconds before another attempt to connect, the first, second, ...: twice as long each time, up to a limit.

    >>> [pause_before(attempt) for attempt in (1, 2, 2000)]
    [0.2, 0.4, 30.0]
    """
    return min(0.1 * 2 ** min(attempt, 10), LONGEST_PAUSE)


class Message(NamedTuple):
    """A message: its payload, and the position after it."""

    payload: bytes
    position: Any


class Record(NamedTuple):
    """A record: its id, by which a copy is recognised, and its bytes."""

    id: str
    data: bytes


class LostError(Exception):
    """The connection is lost; it may be there again later."""


def digest(*parts: bytes) -> str:
    """A short digest of a message, by which it is recognised when it is read again."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()[:16]


def require(module: str, extra: str) -> Any:
    """The client library of a broker, or an error that names the extra to install."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(f"{extra}:// needs {module.split('.')[0]}", extra=extra) from error


class Broker(RowSource):
    """A source of rows: messages of a broker, each one row or several.

    The position is part of the checkpoint. What a broker itself remembers of a reader is for monitoring only.

    A position is 0 or a record that identifies the stream, too: by what the broker knows of it (its creation, its
    counts), and by a digest of the last message read. A connection starts with that message if it is still there. So
    a stream that was replaced, rolled back or trimmed is recognised before one of its rows is learnt.
    """

    waits = True

    def __init__(self, address: Address) -> None:
        super().__init__(address.name)
        self.address = address
        self._position: Any = None

    def read(self, position: Any, limit: int) -> tuple[list[bytes], Any]:
        """The rows of the next messages, at most ``limit`` messages, and the position after the last of them."""
        lost = 0
        while True:
            try:
                if self._position is None or position != self._position:
                    self._open(position)
                    self._position = position
                messages = self._poll(limit)
                if lost:
                    self.report(f"{self.name} is connected again")
                    lost = 0
            except InputError:
                self.close()
                raise
            except LostError as error:
                self.close()
                if not lost:
                    self.report(f"{self.name} is not connected ({error}): trying again")
                lost += 1
                self._pause(pause_before(lost))
                continue
            kind = self.address.options.get("payload")
            rows = [row for message in messages for row in rows_of(message.payload, kind)]
            if messages:
                position = self._position = messages[-1].position
            if rows:
                return rows, position
            if not messages:
                self.waiting()

    def close(self) -> None:
        """Close the connection; the next read opens another one."""
        self._position = None
        self._close()

    def _identified(self, position: Any, *names: str) -> dict[str, Any]:
        """A position that is not 0, after checking that it has these parts."""
        if not (isinstance(position, dict) and all(name in position for name in names)):
            problem = ": the position has no identity of the stream (an earlier version wrote it)"
            raise self._start_again(problem)
        return position

    def _gone(self, first: int, last: int, where: str = "") -> InputError:
        """The error for rows that were not read and are not there."""
        return self._start_again(f": rows {first:,} to {last:,}{where} are no longer in the stream")

    def _replaced(self, read: str) -> InputError:
        """The error for a stream that is not the one that was read up to a place."""
        return self._start_again(f" was read up to {read}, but is another stream now, or was set back")

    def _start_again(self, problem: str) -> InputError:
        return InputError(f"{problem}; start again without the checkpoint", source=self.name)

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.waiting()
            time.sleep(min(WAIT_SECONDS, left))

    @abstractmethod
    def _open(self, position: Any) -> None:
        """Connect and go to a position; an InputError if the rows after it are gone."""

    @abstractmethod
    def _poll(self, limit: int) -> list[Message]:
        """The next messages, at most ``limit``; none if there are none for a moment."""

    @abstractmethod
    def _close(self) -> None: ...
