"""NATS JetStream (``nats://host/stream``): the position is the sequence number of the last message.

Messages are pulled by an ephemeral consumer that acknowledges nothing. Sequence numbers must be contiguous.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from typing import Any

from driftmap.io.addresses import Address
from driftmap.io.brokers.base import CONNECT_TIMEOUT, WAIT_SECONDS, Broker, LostError, Message, require
from driftmap.utils.errors import InputError

CLOSING = 2.0
"""Seconds in which a connection is closed in order."""


class NatsStream(Broker):
    """Messages of a JetStream stream, of all its subjects."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._nats, self._api = require("nats", "nats"), require("nats.js.api", "nats")
        self._loop: BackgroundLoop | None = None
        self._connection: Any = None
        self._pull: Any = None
        self._last = 0

    def _open(self, position: Any) -> None:
        self._close()
        self._loop = BackgroundLoop()
        self._last = self._await(self._subscribe(int(position)))

    async def _subscribe(self, position: int) -> int:
        self._connection = await connected(self._nats, self.address)
        jetstream = self._connection.jetstream(timeout=CONNECT_TIMEOUT)
        try:
            state = (await jetstream.stream_info(self.address.stream)).state
        except self._nats.js.errors.NotFoundError as error:
            raise InputError("has no such stream", source=self.name) from error
        if position > state.last_seq:
            problem = f" ends at row {state.last_seq:,}, but was read up to {position:,}: it is another stream now"
            raise InputError(f"{problem}; start again without the checkpoint", source=self.name)
        first = max(position + 1, state.first_seq) if position == 0 else position + 1
        config = self._api.ConsumerConfig(
            deliver_policy=self._api.DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=max(first, 1),
            ack_policy=self._api.AckPolicy.NONE, inactive_threshold=300.0,
        )  # fmt: skip
        self._pull = await jetstream.pull_subscribe("", stream=self.address.stream, config=config)
        return first - 1

    def _poll(self, limit: int) -> list[Message]:
        try:
            found = self._await(self._pull.fetch(limit, timeout=WAIT_SECONDS))
        except (TimeoutError, self._nats.errors.TimeoutError):
            if not self._connection.is_connected:
                raise LostError("no answer") from None
            return []
        messages = []
        for message in found:
            sequence = message.metadata.sequence.stream
            if sequence != self._last + 1:
                problem = f": rows {self._last + 1:,} to {sequence - 1:,} are no longer in the stream"
                raise InputError(f"{problem}; start again without the checkpoint", source=self.name)
            self._last = sequence
            messages.append(Message(message.data, sequence))
        return messages

    def where(self, position: Any, ahead: int) -> str:
        """Its sequence number."""
        return f"{self.name}, sequence {int(position) + ahead + 1}"

    def _await(self, work: Coroutine[Any, Any, Any]) -> Any:
        assert self._loop is not None
        errors = self._nats.errors
        try:
            return self._loop.run(work)
        except (TimeoutError, errors.TimeoutError):
            raise
        except errors.AuthorizationError as error:
            raise InputError("refuses access", source=self.name) from error
        except (OSError, errors.Error) as error:
            raise LostError(str(error) or type(error).__name__) from error

    def _close(self) -> None:
        if self._loop is not None:
            self._loop.close(self._connection)
        self._loop = self._connection = self._pull = None


async def connected(nats: Any, address: Address) -> Any:
    """A connection that does not reconnect by itself: a lost one is reported, and opened again at the position."""

    async def silent(error: Exception) -> None:
        """Errors are raised where they matter."""

    return await nats.connect(
        f"nats://{address.host}:{address.port or 4222}", user=address.user, password=address.password,
        allow_reconnect=False, connect_timeout=CONNECT_TIMEOUT, error_cb=silent,
    )  # fmt: skip


class BackgroundLoop:
    """An event loop in a thread of its own, so that an interrupt of the caller does not reach into it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The result of some work."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self, connection: Any) -> None:
        """Close a connection, if there is one, and end the thread."""
        if connection is not None and not connection.is_closed:
            with contextlib.suppress(Exception):
                self.run(asyncio.wait_for(connection.close(), CLOSING))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
