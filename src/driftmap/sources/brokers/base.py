"""What all brokers share: a source of rows from messages, and a sink of records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from driftmap.sources.addresses import Address
from driftmap.sources.brokers.connection import persist
from driftmap.sources.brokers.payloads import rows_of
from driftmap.sources.row_source import RowSource
from driftmap.utils.errors import InputError

SEND_TIMEOUT = 30.0
"""Seconds to wait until a broker has confirmed what was sent."""


class Message(NamedTuple):
    """A message: its payload, and the position after it."""

    payload: bytes
    position: Any


class Record(NamedTuple):
    """A record: its id, by which copies are recognised, and its bytes."""

    id: str
    data: bytes


class Broker(RowSource):
    """A source of rows: messages of a broker, each of one row or several.

    The position is part of the checkpoint. What a broker itself remembers of a reader serves monitoring only.

    A position is 0 or a record that also identifies the stream: by what the broker knows of it (its creation, its
    counts), and by a digest of the last message read. A connection starts with that message if it still exists. Thus a
    stream that was replaced, rolled back or trimmed is recognised before one of its rows is learnt.
    """

    waits = True

    def __init__(self, address: Address) -> None:
        super().__init__(address.name)
        self.address = address
        self._position: Any = None

    def read(self, position: Any, limit: int) -> tuple[list[bytes], Any]:
        """Return the rows of the next messages, at most ``limit`` messages, and the position after the last of them."""
        kind = self.address.options.get("payload")
        while True:
            try:
                messages = persist(self, partial(self._next, position, limit))
            except InputError:
                self.close()
                raise
            if not messages:
                self.waiting()
                continue
            position = self._position = messages[-1].position
            if rows := [row for message in messages for row in rows_of(message.payload, kind)]:
                return rows, position

    def _next(self, position: Any, limit: int) -> list[Message]:
        """Return the next messages after a position, by the open connection or a new one."""
        if self._position is None or position != self._position:
            self._open(position)
            self._position = position
        return self._poll(limit)

    def close(self) -> None:
        """Close the connection; the next read opens a new one."""
        self._position = None
        self._close()

    def _identified(self, position: Any, *names: str) -> dict[str, Any]:
        """Return a position other than 0, after checking that it has these parts."""
        if not (isinstance(position, dict) and all(name in position for name in names)):
            problem = ": the position has no identity of the stream (an earlier version wrote it)"
            raise self._start_again(problem)
        return position

    def _gone(self, first: int, last: int, where: str = "") -> InputError:
        """Return the error for unread rows that no longer exist."""
        return self._start_again(f": rows {first:,} to {last:,}{where} are no longer in the stream")

    def _replaced(self, read: str) -> InputError:
        """Return the error for a stream that is not the one that was read before."""
        return self._start_again(f" was read up to {read}, but is another stream now, or was set back")

    def _start_again(self, problem: str) -> InputError:
        return InputError(f"{problem}; start again without the checkpoint", source=self.name)

    @abstractmethod
    def _open(self, position: Any) -> None:
        """Connect and go to a position; raise an InputError if the rows after it no longer exist."""

    @abstractmethod
    def _poll(self, limit: int) -> list[Message]:
        """Return the next messages, at most ``limit``; an empty list if none has arrived yet."""

    @abstractmethod
    def _close(self) -> None: ...


class Sink(ABC):
    """A destination of records, sent at least once, each with its id; ``send`` returns when the broker has them."""

    def __init__(self, address: Address) -> None:
        self.address, self.name = address, address.name
        self.report: Callable[[str], Any] = lambda message: None
        """Called with one line when the connection is lost or restored."""
        self.waiting: Callable[[], Any] = lambda: None
        """Called repeatedly while there is no connection; an exception that it raises ends the attempts."""
        self._is_open = False

    def send(self, records: Sequence[Record]) -> None:
        """Send records, again if the connection is lost."""
        try:
            persist(self, partial(self._attempt, records))
        except InputError:  # the broker's refusal says why
            raise
        except BaseException:
            self.report(f"{self.name} did not get the last {len(records):,} records")
            raise

    def _attempt(self, records: Sequence[Record]) -> None:
        if not self._is_open:
            self._open()
            self._is_open = True
        self._send(records)

    def close(self) -> None:
        """Close the connection; the next records open a new one."""
        if self._is_open:
            self._is_open = False
            self._close()

    @abstractmethod
    def _open(self) -> None:
        """Connect; raise a LostError on failure."""

    @abstractmethod
    def _send(self, records: Sequence[Record]) -> None:
        """Send records and wait until the broker has them; raise a LostError if the connection is lost."""

    @abstractmethod
    def _close(self) -> None: ...
