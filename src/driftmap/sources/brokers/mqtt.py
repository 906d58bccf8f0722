"""MQTT (``mqtt://host/topic``): messages of a persistent session, acknowledged when they are in the checkpoint.

A broker delivers unacknowledged messages again, even if they were learnt before the process died. The position holds
the packet ids and digests of the last messages, by which copies are recognised and dropped (:class:`Learnt`). The
session belongs to the client's name (``?client=NAME``), by default derived from machine and topic.
"""

from __future__ import annotations

import hashlib
import platform
import queue
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from typing import Any

from driftmap.sources.addresses import Address
from driftmap.sources.brokers.base import SEND_TIMEOUT, Broker, Message, Record, Sink
from driftmap.sources.brokers.connection import CONNECT_TIMEOUT, WAIT_SECONDS, LostError, digest, require
from driftmap.utils.errors import InputError

REMEMBERED = 4096
"""Messages that are recognised when they are delivered again."""
UNACKNOWLEDGED = 1000
"""Most unacknowledged messages that the broker is asked to send; brokers may send fewer."""


class Learnt:
    """The last messages of a session, by which copies are recognised.

    MQTT (sections 4.4 and 4.6) defines what a broker delivers again: at the beginning of a resumed session, marked as
    duplicates, with the same packet ids and in the same order, without the first messages, whose acknowledgements it
    has. A packet id of a new message was free: the message that had it, and those before, are acknowledged and cannot
    come again. So the copies are the end of this list, however the broker chooses its ids.

    Of two equal messages with the same id, one is dropped if the second was in transit when a connection was lost.
    """

    def __init__(self, last: Iterable[tuple[int, str]] = (), read: int = 0) -> None:
        self._digests: OrderedDict[int, str] = OrderedDict(last)
        self.read = read
        """Number of all messages ever read, including those no longer in the list."""
        self._next: int | None = None
        """The index in the list of the next copy. None: all further messages are new. -1: any message may be the first
        copy.
        """

    def messages(self) -> list[tuple[int, str]]:
        """Return packet ids and digests, in order of arrival."""
        return list(self._digests.items())

    def resume(self) -> None:
        """Note that a session is resumed: the next messages may be copies."""
        self._next = -1

    def copied(self, packet: int, found: str, *, marked: bool) -> int | None:
        """Return the number of the message of which the next one is a copy, counted from 1; None if it is new."""
        if self._next is not None and marked and self._digests.get(packet) == found:
            place = list(self._digests).index(packet)
            if self._next in (-1, place):
                self._next = place + 1
                return self.read - len(self._digests) + place + 1
        self._next = None
        return None

    def add(self, packet: int, found: str) -> None:
        """Add a new message."""
        while packet in self._digests or len(self._digests) >= REMEMBERED:
            self._digests.popitem(last=False)
        self._digests[packet] = found
        self.read += 1


class MqttTopic(Broker):
    """Messages of a topic, or of all topics that match a pattern (``+`` and ``#``), at least once (QoS 1)."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._mqtt = require("paho.mqtt.client", "mqtt")
        self._client: Any = None
        self._arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._state = threading.Event()
        self._problem: str | None = None
        self._refused = self._resumed = False
        self._session: str | None = None
        """A name of the session, if it began in this process or its position is known; positions hold it."""
        self._learnt = Learnt()
        self._done: int | None = None
        """Number of the last processed message: it, and its copies, may be acknowledged."""
        self._open_acknowledgements: deque[tuple[int, int, int]] = deque()
        """Number, packet id and QoS of messages that are read and not yet processed."""

    def _open(self, position: Any) -> None:
        self._close()
        mark: dict[str, Any] = {"last": [], "read": 0, "session": None}
        mark = mark if position == 0 else self._identified(position, *mark)
        self._learnt = Learnt(((int(packet), str(found)) for packet, found in mark["last"]), int(mark["read"]))
        is_first = self._done is None
        self._done = mark["read"] if self._done is None else min(self._done, mark["read"])
        self._arrived, self._problem, self._refused = queue.SimpleQueue(), None, False
        self._state.clear()
        self._client = client_of(self._mqtt, self.address, session=True)
        self._client.on_connect, self._client.on_disconnect = self._on_connect, self._on_disconnect
        self._client.on_subscribe = self._on_subscribe
        arrived = self._arrived
        self._client.on_message = lambda client, data, message: arrived.put(message)
        try:
            self._client.connect(self.address.host, self.address.port_number, **connect_options(self._mqtt))
        except OSError as error:
            raise LostError(str(error)) from error
        self._client.loop_start()
        if not self._state.wait(CONNECT_TIMEOUT):
            raise LostError("no answer")
        self._check()
        if not self._resumed:
            self._session = secrets.token_hex(8)
        elif position != 0 and self._session is None:
            self._session = mark["session"]
        # The first connection of a process finds the columns. It may have begun another session than the position's.
        self.forgot = not self._resumed or self._session != mark["session"]
        if not self.forgot:
            self._learnt.resume()
            return
        self._learnt = Learnt(read=mark["read"])
        if position != 0 or not (is_first or self._resumed):
            self.report(f"{self.name} has forgotten its session: messages sent since the connection ended may be lost")

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any = None) -> None:
        if reason.is_failure:
            self._problem, self._refused = str(reason), True
            self._state.set()
        else:
            self._resumed = flags.session_present
            client.subscribe(self.address.stream, options=subscribe_options())

    def _on_subscribe(self, client: Any, data: Any, number: Any, reasons: Any, properties: Any = None) -> None:
        if reasons[0].is_failure:
            self._problem, self._refused = str(reasons[0]), True
        self._state.set()

    def _on_disconnect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any = None) -> None:
        self._problem = self._problem or str(reason)

    def _check(self) -> None:
        if self._refused:
            raise InputError(f"refuses access: {self._problem}", source=self.name)
        if self._problem is not None:
            raise LostError(self._problem)

    def _poll(self, limit: int) -> list[Message]:
        messages: list[Message] = []
        while len(messages) < limit:
            try:
                message = self._arrived.get(timeout=0 if messages else WAIT_SECONDS)
            except queue.Empty:
                break
            if message.qos:  # messages of QoS 0 have no packet id and are never repeated
                name = message.mid, digest(message.payload)
                number = self._learnt.copied(*name, marked=message.dup)
                is_copy = number is not None
                if number is None:
                    self._learnt.add(*name)
                    number = self._learnt.read
                self._open_acknowledgements.append((number, message.mid, message.qos))
                if is_copy:
                    continue
            messages.append(Message(message.payload, None))
        if messages:
            last = [list(name) for name in self._learnt.messages()]
            position = {"last": last, "read": self._learnt.read, "session": self._session}
            messages[-1] = messages[-1]._replace(position=position)
        else:
            self._check()
        self._acknowledge()  # copies of messages processed before the connection was lost
        return messages

    def done(self, position: Any) -> None:
        """Acknowledge the messages up to a position."""
        if position != 0:
            self._done = max(self._done or 0, position["read"])
            self._acknowledge()

    def _acknowledge(self) -> None:
        done = self._done or 0
        while self._open_acknowledgements and self._open_acknowledgements[0][0] <= done:
            _, packet, quality = self._open_acknowledgements.popleft()
            self._client.ack(packet, quality)

    def _close(self) -> None:
        self._open_acknowledgements.clear()
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()
            self._client = None


class MqttSink(Sink):
    """Messages of a topic (QoS 1); the id is part of the record."""

    def _open(self) -> None:
        mqtt = require("paho.mqtt.client", "mqtt")
        self._client = client_of(mqtt, self.address, session=False)
        try:
            self._client.connect(self.address.host, self.address.port_number)
        except OSError as error:
            raise LostError(str(error)) from error
        self._client.loop_start()

    def _send(self, records: Sequence[Record]) -> None:
        sent = [self._client.publish(self.address.stream, record.data, qos=1) for record in records]
        try:
            for one in sent:
                one.wait_for_publish(SEND_TIMEOUT)
        except (RuntimeError, ValueError) as error:
            raise LostError(str(error)) from error
        if not all(one.is_published() for one in sent):
            raise LostError("no answer")

    def _close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def client_of(mqtt: Any, address: Address, *, session: bool) -> Any:
    """Return a client of version 5 of the protocol, with the name of its session or with an unused name."""
    key = f"{platform.node()} {address.name}"
    name = address.options.get("client", f"driftmap-{hashlib.sha256(key.encode()).hexdigest()[:16]}") if session else ""
    # A source connects again itself: what comes again after that may be copies.
    client = mqtt.Client(
        mqtt.CallbackAPIVersion.VERSION2,
        client_id=name,
        protocol=mqtt.MQTTv5,
        manual_ack=session,
        reconnect_on_failure=not session,
    )
    if address.user is not None:
        client.username_pw_set(address.user, address.password)
    return client


def connect_options(mqtt: Any) -> dict[str, Any]:
    """Return the properties of a session that outlives the connection, and its number of unacknowledged messages."""
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    properties.ReceiveMaximum = UNACKNOWLEDGED
    properties.SessionExpiryInterval = 0xFFFFFFFF
    return {"clean_start": False, "properties": properties}


def subscribe_options() -> Any:
    """Return the options of a subscription: at least once; a retained message only with the first one of a session."""
    from paho.mqtt.subscribeoptions import SubscribeOptions

    return SubscribeOptions(qos=1, retainHandling=SubscribeOptions.RETAIN_SEND_IF_NEW_SUB)
