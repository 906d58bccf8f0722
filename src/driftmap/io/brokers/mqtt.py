"""MQTT (``mqtt://host/topic``): messages of a persistent session, acknowledged when they are in the checkpoint.

A broker delivers what was not acknowledged again, also if it was learnt before the process died. The position holds
the numbers and digests of the last messages, by which these are recognised and left out. The session belongs to the
client's name (``?client=NAME``); by default it is derived from machine and topic.
"""

from __future__ import annotations

import hashlib
import platform
import queue
import threading
from collections import deque
from typing import Any

from driftmap.io.addresses import Address
from driftmap.io.brokers.base import CONNECT_TIMEOUT, WAIT_SECONDS, Broker, LostError, Message, require
from driftmap.utils.errors import InputError

REMEMBERED = 4096
"""Messages that are recognised if they are delivered again."""
UNACKNOWLEDGED = 1000
"""The most messages that the broker is asked to send ahead of acknowledgements; brokers may send fewer."""


class MqttTopic(Broker):
    """Messages of a topic, or of all topics that match a pattern (``+`` and ``#``), at least once (QoS 1)."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._mqtt = require("paho.mqtt.client", "mqtt")
        self._client: Any = None
        self._arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._state = threading.Event()
        self._problem: str | None = None
        self._refused = False
        self._learnt: deque[tuple[int, str]] = deque(maxlen=REMEMBERED)
        self._open_acknowledgements: deque[tuple[tuple[int, str], int, int]] = deque()

    def _open(self, position: Any) -> None:
        self._close()
        last = [] if position == 0 else position["last"]
        self._learnt = deque(((int(number), str(digest)) for number, digest in last), maxlen=REMEMBERED)
        self._arrived, self._problem, self._refused = queue.SimpleQueue(), None, False
        self._state.clear()
        self._client = client_of(self._mqtt, self.address, session=True)
        self._client.on_connect, self._client.on_disconnect = self._on_connect, self._on_disconnect
        self._client.on_subscribe = self._on_subscribe
        arrived = self._arrived
        self._client.on_message = lambda client, data, message: arrived.put(message)
        try:
            self._client.connect(self.address.host, self.address.port or 1883, **connect_options(self._mqtt))
        except OSError as error:
            raise LostError(str(error)) from error
        self._client.loop_start()
        if not self._state.wait(CONNECT_TIMEOUT):
            raise LostError("no answer")
        self._check()

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any = None) -> None:
        if reason.is_failure:
            self._problem, self._refused = str(reason), True
            self._state.set()
        else:
            client.subscribe(self.address.stream, qos=1)

    def _on_subscribe(self, client: Any, data: Any, number: Any, reasons: Any, properties: Any = None) -> None:
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
            name = message.mid, hashlib.sha256(message.payload).hexdigest()[:16]
            if name in self._learnt:
                self._client.ack(message.mid, message.qos)
                continue
            self._learnt.append(name)
            self._open_acknowledgements.append((name, message.mid, message.qos))
            messages.append(Message(message.payload, None))
        if messages:
            position = {"last": [list(name) for name in self._learnt]}
            messages[-1] = messages[-1]._replace(position=position)
        else:
            self._check()
        return messages

    def done(self, position: Any) -> None:
        """Acknowledge the messages up to a position."""
        last = tuple(position["last"][-1]) if position != 0 and position["last"] else None
        if last is None or not any(name == last for name, *_ in self._open_acknowledgements):
            return
        while self._open_acknowledgements:
            name, number, quality = self._open_acknowledgements.popleft()
            self._client.ack(number, quality)
            if name == last:
                break

    def _close(self) -> None:
        self._open_acknowledgements.clear()
        if self._client is not None:
            self._client.disconnect()
            self._client.loop_stop()
            self._client = None


def client_of(mqtt: Any, address: Address, *, session: bool) -> Any:
    """A client of version 5 of the protocol, with the name of its session or with a name that nothing belongs to."""
    key = f"{platform.node()} {address.name}"
    name = address.options.get("client", f"driftmap-{hashlib.sha256(key.encode()).hexdigest()[:16]}") if session else ""
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=name, protocol=mqtt.MQTTv5, manual_ack=session)
    if address.user is not None:
        client.username_pw_set(address.user, address.password)
    return client


def connect_options(mqtt: Any) -> dict[str, Any]:
    """A session that outlives the connection, and how many messages may be on their way."""
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    properties.ReceiveMaximum = UNACKNOWLEDGED
    properties.SessionExpiryInterval = 0xFFFFFFFF
    return {"clean_start": False, "properties": properties}
