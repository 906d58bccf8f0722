"""NATS JetStream (``nats://host/stream``): the position is the sequence number of the last message.

Messages are pulled by an ephemeral consumer without acknowledgements. Sequence numbers must be contiguous. The position
also holds the creation time of the stream and a digest of the last message, with which a consumer starts.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Sequence
from typing import Any

from driftmap.sources.addresses import Address
from driftmap.sources.brokers.base import SEND_TIMEOUT, Broker, Message, Record, Sink
from driftmap.sources.brokers.connection import CONNECT_TIMEOUT, WAIT_SECONDS, LostError, digest, require
from driftmap.utils.errors import InputError

CLOSING = 2.0
"""Seconds allowed for an orderly close of the connection."""


class NatsStream(Broker):
    """Messages of a JetStream stream, of all its subjects."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._nats, self._api = require("nats", "nats"), require("nats.js.api", "nats")
        self._loop: BackgroundLoop | None = None
        self._connection: Any = None
        self._pull: Any = None
        self._created = ""
        self._first = self._last = 0
        self._digest = ""
        self._is_fresh = True
        """Whether the consumer has not delivered a new row yet."""
        self._has_gap = False
        """Whether it has skipped a sequence number after other rows."""

    def _open(self, position: Any) -> None:
        self._close()
        mark = None if position == 0 else self._identified(position, "sequence", "digest", "created")
        self._loop = BackgroundLoop()
        self._is_fresh, self._has_gap = True, False
        self._await(self._subscribe(mark))

    async def _subscribe(self, mark: dict[str, Any] | None) -> None:
        self._connection = await connected(self._nats, self.address)
        jetstream = self._connection.jetstream(timeout=CONNECT_TIMEOUT)
        try:
            info = await jetstream.stream_info(self.address.stream)
        except self._nats.js.errors.NotFoundError as error:
            if mark is None:
                raise InputError("has no such stream", source=self.name) from error
            problem = f" was read up to row {mark['sequence']:,}, but was deleted"
            raise self._start_again(problem) from error
        self._created, first, last = info.created.isoformat(), max(info.state.first_seq, 1), info.state.last_seq
        if mark is None:
            start = self._first = first
            self._last, self._digest = first - 1, ""
        else:
            self._last, self._digest = int(mark["sequence"]), mark["digest"]
            if self._created != mark["created"] or self._last > last:
                raise self._replaced(f"row {self._last:,}")
            if first > self._last + 1:
                raise self._gone(self._last + 1, first - 1)
            start = max(self._last, 1)
        config = self._api.ConsumerConfig(
            deliver_policy=self._api.DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=start,
            ack_policy=self._api.AckPolicy.NONE, inactive_threshold=300.0,
        )  # fmt: skip
        self._pull = await jetstream.pull_subscribe("", stream=self.address.stream, config=config)

    def _poll(self, limit: int) -> list[Message]:
        if self._has_gap:  # a new consumer shows whether the stream still has the row
            raise LostError("messages are missing")
        messages: list[Message] = []
        for message in self._await(self._fetch(limit)):
            sequence = message.metadata.sequence.stream
            if self._is_fresh and sequence == self._last:
                if digest(message.data) != self._digest:
                    raise self._replaced(f"row {self._last:,}")
                continue
            if sequence != self._last + 1:
                if self._is_fresh:
                    raise self._gone(self._last + 1, sequence - 1)
                self._has_gap = True
                break
            self._last, self._digest, self._is_fresh = sequence, digest(message.data), False
            position = {"sequence": sequence, "digest": self._digest, "created": self._created}
            messages.append(Message(message.data, position))
        return messages

    async def _fetch(self, limit: int) -> list[Any]:
        """Return the next messages; if none arrive, check that the consumer still exists."""
        with contextlib.suppress(TimeoutError, self._nats.errors.TimeoutError):
            found: list[Any] = await self._pull.fetch(limit, timeout=WAIT_SECONDS)
            return found
        try:
            await self._pull.consumer_info()
        except self._nats.js.errors.NotFoundError as error:
            raise LostError("its consumer was deleted") from error
        return []

    def where(self, position: Any, ahead: int) -> str:
        """Return where to find a row: its sequence number."""
        first = self._first if position == 0 else position["sequence"] + 1
        return f"{self.name}, sequence {first + ahead}"

    def _await(self, work: Coroutine[Any, Any, Any]) -> Any:
        assert self._loop is not None
        errors = self._nats.errors
        try:
            return self._loop.run(work)
        except errors.AuthorizationError as error:
            raise InputError("refuses access", source=self.name) from error
        except (TimeoutError, errors.TimeoutError) as error:
            raise LostError("no answer") from error
        except (OSError, errors.Error) as error:
            raise LostError(str(error) or type(error).__name__) from error

    def _close(self) -> None:
        if self._loop is not None:
            self._loop.close(self._connection)
        self._loop = self._connection = self._pull = None


class NatsSink(Sink):
    """Messages of a JetStream subject; the header ``Nats-Msg-Id`` lets the server drop copies."""

    def _open(self) -> None:
        self._nats, self._loop = require("nats", "nats"), BackgroundLoop()
        try:
            self._connection = self._loop.run(connected(self._nats, self.address))
        except (OSError, self._nats.errors.Error) as error:
            self._loop.close(None)
            raise LostError(str(error) or type(error).__name__) from error

    def _send(self, records: Sequence[Record]) -> None:
        jetstream = self._connection.jetstream(timeout=SEND_TIMEOUT)

        async def publish() -> None:
            for record in records:
                await jetstream.publish(self.address.stream, record.data, headers={"Nats-Msg-Id": record.id})

        try:
            self._loop.run(publish())
        except self._nats.js.errors.NoStreamResponseError as error:
            raise InputError("belongs to no stream of the server", source=self.name) from error
        except (OSError, self._nats.errors.Error) as error:
            raise LostError(str(error) or type(error).__name__) from error

    def _close(self) -> None:
        self._loop.close(self._connection)


async def connected(nats: Any, address: Address) -> Any:
    """Return a connection that does not reconnect by itself: a lost one is reported, and reopened at the position."""

    async def silent(error: Exception) -> None:
        """Ignore errors here: they are raised by the calls that they concern."""

    client = nats.NATS()
    try:
        await client.connect(
            f"nats://{address.host}:{address.port_number}", user=address.user, password=address.password,
            allow_reconnect=False, connect_timeout=CONNECT_TIMEOUT, error_cb=silent,
        )  # fmt: skip
    except BaseException:
        await client.close()  # the client leaves the socket open if a server accepts a connection and stays silent
        raise
    return client


class BackgroundLoop:
    """An event loop in a separate thread, out of reach of the caller's interrupts."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return the result of a coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self, connection: Any) -> None:
        """Close a connection, if there is one, and end the thread."""
        if connection is not None and not connection.is_closed:
            with contextlib.suppress(Exception):
                self.run(asyncio.wait_for(connection.close(), CLOSING))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
