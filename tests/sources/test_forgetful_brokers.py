"""Streams that were deleted, replaced, trimmed or set back: no row is left out without an error that says so."""

import json
import random
import socket
import time

import numpy as np
import pytest

from brokers import rows_as_json, running
from driftmap.sources.brokers import open_broker
from driftmap.sources.brokers.mqtt import Learnt
from driftmap.tables.columns import Wanted
from driftmap.tables.readers import follow_table
from driftmap.tables.rejected import RejectedLines
from driftmap.utils.errors import InputError

X = np.random.default_rng(2).standard_normal((400, 3))
PAYLOADS = rows_as_json(X)


@pytest.fixture
def redis(tmp_path):
    redis = pytest.importorskip("redis")
    with running("redis", tmp_path / "server") as server, redis.Redis(port=server.port) as client:
        server.client = client
        yield server


@pytest.fixture
def nats(tmp_path):
    with running("nats", tmp_path / "server") as server:
        yield server


def read(server, position=0, n=1, **options):
    """Rows up to n, all in calls of a source that is closed then; and the position."""
    source, rows = open_broker(server.url), []
    while len(rows) < n:
        some, position = source.read(position, min(7, n - len(rows)))
        rows += some
    source.close()
    return rows, json.loads(json.dumps(position))


def again(server, position):
    """What a run that is resumed reads first."""
    source = open_broker(server.url)
    source.waiting = hanging(50)
    try:
        return source.read(position, 7)[0]
    finally:
        source.close()


def add(client, first, last, start=1):
    for i, payload in enumerate(PAYLOADS[first:last]):
        client.xadd("rows", {"data": payload}, id=f"{start + i}-1")


def hanging(times):
    """What a source calls while it waits; an error after some times."""
    left = iter(range(times))

    def waiting():
        assert next(left, None) is not None, "it hangs"

    return waiting


def once(condition, action):
    """What a source calls while it waits: the action, the first time that the condition holds."""
    done = []

    def waiting():
        if not done and condition():
            done.append(True)
            action()

    return waiting


# --- Redis ---


@pytest.mark.parametrize("present", [5, 20, 60])
@pytest.mark.parametrize("same_ids", [False, True])
def test_a_redis_stream_that_was_deleted_and_filled_again_is_recognised(redis, present, same_ids):
    add(redis.client, 0, 20)
    _, position = read(redis, n=20)
    redis.client.delete("rows")
    add(redis.client, 100, 100 + present, start=1 if same_ids else 1000)
    with pytest.raises(InputError, match=r"was read up to row 20 \(entry 20-1\), but is another stream now"):
        again(redis, position)


def test_a_redis_stream_that_is_replaced_during_a_run_is_recognised(redis):
    add(redis.client, 0, 20)
    source = open_broker(redis.url)
    _, position = source.read(0, 100)
    redis.client.delete("rows")
    add(redis.client, 100, 160, start=1000)
    with pytest.raises(InputError, match="another stream now"):
        source.read(position, 100)


def test_a_redis_stream_that_is_deleted_during_a_run_is_an_error(redis):
    add(redis.client, 0, 20)
    source = open_broker(redis.url)
    _, position = source.read(0, 100)
    source.waiting = lambda: redis.client.delete("rows")
    with pytest.raises(InputError, match=r"was read up to row 20 \(entry 20-1\), but was deleted"):
        source.read(position, 100)


def test_entries_of_redis_that_are_deleted_in_the_middle_are_an_error_before_a_row_is_learnt(redis):
    add(redis.client, 0, 60)
    _, position = read(redis, n=20)
    redis.client.xdel("rows", "31-1", "33-1", "40-1")
    for _ in range(2):
        problem = r"3 of the rows after row 20 \(entry 20-1\) were deleted \(one has the id 40-1\) and not read"
        with pytest.raises(InputError, match=problem):
            again(redis, position)
        redis.client.xadd("rows", {"data": "{}"})


def test_entries_of_redis_that_were_read_may_be_deleted_and_trimmed(redis):
    add(redis.client, 0, 60)
    rows, position = read(redis, n=20)
    redis.client.xdel("rows", "3-1", "20-1")
    assert again(redis, position) == [row + b"\n" for row in PAYLOADS[20:27]]
    redis.client.xtrim("rows", minid="10-1", approximate=False)
    assert again(redis, position) == [row + b"\n" for row in PAYLOADS[20:27]]
    redis.client.xtrim("rows", minid="21-1", approximate=False)
    assert again(redis, position) == [row + b"\n" for row in PAYLOADS[20:27]]
    redis.client.xtrim("rows", minid="24-1", approximate=False)
    with pytest.raises(InputError, match="rows 21 to 23 are no longer in the stream"):
        again(redis, position)
    redis.client.xtrim("rows", maxlen=0, approximate=False)
    with pytest.raises(InputError, match="rows 21 to 60 are no longer in the stream"):
        again(redis, position)
    assert rows == [row + b"\n" for row in PAYLOADS[:20]]


@pytest.mark.parametrize("limit", [3, 100])
def test_holes_from_before_the_start_are_no_error(redis, limit, monkeypatch):
    monkeypatch.setattr("driftmap.sources.brokers.redis.COUNTED_AT_ONCE", 5)
    add(redis.client, 0, 60)
    redis.client.xdel("rows", "30-1", "50-1")
    source = open_broker(redis.url)
    _, position = source.read(0, 10)
    redis.client.xtrim("rows", minid="5-1", approximate=False)
    assert source.read(position, limit)[0][:3] == [row + b"\n" for row in PAYLOADS[10:13]]
    redis.client.xdel("rows", "41-1")
    with pytest.raises(InputError, match=r"1 of the rows after row 12 \(entry 10-1\) were deleted and not read"):
        source.read(position, limit)


def test_a_redis_server_that_lost_its_last_entries_is_recognised(redis):
    """As after a crash without fsync: the same stream, with other entries at its end."""
    add(redis.client, 0, 20)
    _, position = read(redis, n=20)
    redis.client.delete("rows")
    add(redis.client, 0, 17)
    for start in (None, 100):
        if start:
            add(redis.client, 17, 40, start)
        with pytest.raises(InputError, match="another stream now, or was set back"):
            again(redis, position)


def test_a_redis_server_that_does_not_count_entries_is_an_error(redis, monkeypatch):
    source = open_broker(redis.url)
    monkeypatch.setattr(source, "_guarded", lambda request: ({"length": 1}, []))  # as Redis 6 answers
    with pytest.raises(InputError, match="needs Redis 7 or later"):
        source.read(0, 7)


def test_random_changes_of_a_redis_stream_lose_no_row_silently(redis):
    """Whatever is read is all that was added, in order, or an error is raised."""
    rng, client = random.Random(3), redis.client
    outcomes = {"whole": 0, "error": 0, "wrong": 0}
    for _ in range(60):
        client.delete("rows")
        added, next_id, position, learnt, lost = [], 1, 0, [], False
        source = open_broker(redis.url)
        try:
            for _ in range(rng.randint(3, 25)):
                what = rng.choice(["add", "add", "read", "read", "delete", "trim", "replace", "reopen"])
                if what == "add" or not added:
                    for _ in range(rng.randint(1, 6)):
                        added.append((f"{next_id}-1", b"%d" % rng.randint(0, 10**6)))
                        client.xadd("rows", {"data": added[-1][1]}, id=added[-1][0])
                        next_id += 1
                elif what == "read" and (lost or len(learnt) < len(added)):
                    rows, position = source.read(position, rng.randint(1, 4))
                    assert not lost, "a row is missing, but more are learnt"
                    learnt += rows
                elif what == "delete":
                    entry = rng.randrange(len(added))
                    gone = client.xdel("rows", added[entry][0])
                    lost |= gone and position != 0 and entry >= len(learnt)
                    if gone and position == 0:
                        del added[entry]
                elif what == "trim":
                    entries = [entry.decode() for entry, _ in client.xrange("rows")]
                    kept = rng.randint(0, len(entries))
                    client.xtrim("rows", maxlen=kept, approximate=False)
                    gone = set(entries[: len(entries) - kept])
                    lost |= position != 0 and any(entry in gone for entry, _ in added[len(learnt) :])
                    if position == 0:
                        added = [one for one in added if one[0] not in gone]
                elif what == "replace" and position != 0:
                    client.delete("rows")
                    lost = True
                    next_id += 1000
                    for _ in range(rng.randint(1, 3 * len(added))):
                        client.xadd("rows", {"data": b"0"}, id=f"{next_id}-1")
                        next_id += 1
                else:
                    source.close()
                    source, position = open_broker(redis.url), json.loads(json.dumps(position))
            outcomes["whole"] += 1
        except InputError:
            outcomes["error" if lost else "wrong"] += 1
        finally:
            source.close()
        assert [row.strip() for row in learnt] == [data for _, data in added[: len(learnt)]]
    assert outcomes["wrong"] == 0
    assert min(outcomes["whole"], outcomes["error"]) > 10


# --- NATS ---


def recreate(server):
    server.delete()
    server._prepare()


@pytest.mark.parametrize("present", [5, 60])
def test_a_nats_stream_that_was_deleted_and_created_again_is_recognised(nats, present):
    nats.publish(PAYLOADS[:20])
    _, position = read(nats, n=20)
    recreate(nats)
    nats.publish(PAYLOADS[100 : 100 + present])
    with pytest.raises(InputError, match="was read up to row 20, but is another stream now"):
        again(nats, position)


@pytest.mark.parametrize(("change", "problem"), [("recreate", "another stream now"), ("delete", "but was deleted")])
def test_a_nats_stream_that_is_deleted_during_a_run_is_an_error(nats, change, problem):
    nats.publish(PAYLOADS[:20])
    source = open_broker(nats.url)
    position, n = 0, 0
    while n < 20:
        rows, position = source.read(position, 100)
        n += len(rows)
    if change == "recreate":
        recreate(nats)
        nats.publish(PAYLOADS[100:160])
    else:
        nats.delete()
    source.waiting = hanging(50)
    with pytest.raises(InputError, match=problem):
        source.read(position, 100)


@pytest.mark.parametrize("present", [0, 20])
def test_a_nats_consumer_that_is_deleted_is_created_again(nats, present):
    nats.publish(PAYLOADS[:20])
    source, said = open_broker(nats.url), []
    source.report = said.append
    rows, position = [], 0
    while len(rows) < 20:
        more, position = source.read(position, 100)
        rows += more

    nats.delete_consumers()
    nats.publish(PAYLOADS[20 : 20 + present])
    source.waiting = once(lambda: said and not present, lambda: nats.publish(PAYLOADS[20:40]))
    while len(rows) < 40:
        more, position = source.read(position, 100)
        rows += more
    source.close()
    assert rows == [row + b"\n" for row in PAYLOADS[:40]]
    assert said[-1].endswith("is connected again")


def test_messages_of_nats_that_were_not_read_are_named(nats):
    nats.publish(PAYLOADS[:30])
    _, position = read(nats, n=10)
    nats.delete_message(14)
    rows, later = read(nats, position, n=3)
    assert rows == [row + b"\n" for row in PAYLOADS[10:13]]
    with pytest.raises(InputError, match="rows 14 to 14 are no longer in the stream"):
        again(nats, later)
    source = open_broker(nats.url)
    rows, there = source.read(position, 100)
    with pytest.raises(InputError, match="rows 14 to 14 are no longer in the stream"):
        while True:
            more, there = source.read(there, 100)
            rows += more
    assert rows == [row + b"\n" for row in PAYLOADS[10:13]]
    nats._nats(lambda jetstream: jetstream.purge_stream("rows"))
    with pytest.raises(InputError, match="rows 11 to 30 are no longer in the stream"):
        again(nats, position)


def test_a_nats_stream_whose_last_message_is_another_one_is_recognised(nats):
    """As after a crash without fsync, and more messages."""
    nats.publish(PAYLOADS[:30])
    _, position = read(nats, n=20)
    _, other = read(nats, n=19)
    with pytest.raises(InputError, match="was read up to row 20, but is another stream now, or was set back"):
        again(nats, position | {"digest": other["digest"]})


def test_a_nats_server_that_does_not_answer_is_tried_again(monkeypatch):
    pytest.importorskip("nats")
    monkeypatch.setattr("driftmap.sources.brokers.nats.CONNECT_TIMEOUT", 0.2)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        source, said = open_broker(f"nats://127.0.0.1:{mute.getsockname()[1]}/rows"), []
        source.report, source.waiting = said.append, hanging(3)
        with pytest.raises(AssertionError, match="it hangs"):
            source.read(0, 7)
    assert "is not connected" in said[0]


# --- Kafka ---


def test_a_kafka_topic_that_was_created_again_is_recognised(tmp_path):
    with running("kafka", tmp_path) as server:
        server.publish(PAYLOADS[:20])
        _, position = read(server, n=20)
        server.publish(PAYLOADS[20:27])
        assert again(server, position)[0] == PAYLOADS[20] + b"\n"
    with running("kafka", tmp_path) as other:  # a mock cluster holds nothing on the disk
        other.publish(PAYLOADS[100:160])
        with pytest.raises(InputError, match="was read up to offset 20 of partition 0, but is another stream now"):
            again(other, position)


# --- MQTT ---


@pytest.mark.parametrize("resumed", [False, True])
def test_equal_rows_after_a_lost_session_are_no_copies(tmp_path, resumed):
    row = PAYLOADS[0]
    with running("mqtt", tmp_path / "server") as server:
        url, said = server.url + "?client=test", []
        source = open_broker(url)
        source.report = said.append
        source._open(0)
        server.publish([row] * 100)
        position, n = 0, 0
        while n < 100:
            rows, position = source.read(position, 100)
            source.done(position)
            n += len(rows)
        if resumed:
            source.close()
            source = open_broker(url)
            source.report = said.append
        server.forget()
        source.waiting = once(lambda: "forgotten" in " ".join(said), lambda: server.publish([row] * 100))
        while n < 200:
            rows, position = source.read(position, 100)
            source.done(position)
            n += len(rows)
        source.close()
    assert "has forgotten its session: messages sent since" in " ".join(said)


def test_equal_messages_of_quality_0_are_no_copies(tmp_path):
    mqtt = pytest.importorskip("paho.mqtt.client")
    with running("mqtt", tmp_path / "server") as server:
        source = open_broker(server.url + "?client=test")
        source._open(0)
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", server.port)
        client.loop_start()
        for _ in range(10):
            client.publish("rows", PAYLOADS[0], qos=0).wait_for_publish(10)
        client.disconnect()
        client.loop_stop()
        source.waiting = hanging(30)
        source._position, position, n = 0, 0, 0  # what arrives before the first read belongs to this connection
        while n < 10:
            rows, position = source.read(position, 100)
            n += len(rows)
        source.close()


def test_a_message_that_is_retained_is_one_row_of_a_session(tmp_path):
    mqtt = pytest.importorskip("paho.mqtt.client")
    with running("mqtt", tmp_path / "server") as server:
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", server.port)
        client.loop_start()
        client.publish("rows", PAYLOADS[0], qos=1, retain=True).wait_for_publish(10)
        client.disconnect()
        client.loop_stop()
        source = open_broker(server.url + "?client=test")
        rows, position = source.read(0, 1)
        source.done(position)
        source.close()
        for last in (5, 9):
            server.publish(PAYLOADS[len(rows) : last])
            while len(rows) < last:
                more, position = source.read(position, 5)
                rows += more
        source.close()
    assert rows == [row + b"\n" for row in PAYLOADS[:9]]


def test_copies_are_acknowledged_only_when_their_rows_are_done(tmp_path):
    """A row that is learnt, delivered again after a lost connection, and not saved comes again after a kill."""
    with running("mqtt", tmp_path / "server") as server:
        url = server.url + "?client=test"
        source = open_broker(url)
        source._open(0)
        server.publish(PAYLOADS[:5])
        rows, position = [], 0
        while len(rows) < 5:
            more, position = source.read(position, 5)
            rows += more
        server.stop()
        server.start()
        source.waiting = once(lambda: source._client is not None, lambda: server.publish(PAYLOADS[5:6]))
        more, position = source.read(position, 1)
        assert more == [PAYLOADS[5] + b"\n"]  # the five copies before it are left out
        source.close()  # and the process dies before a checkpoint
        other, rows = open_broker(url), []
        position = 0
        while len(rows) < 6:
            more, position = other.read(position, 6)
            rows += more
        other.close()
    assert rows[:6] == [row + b"\n" for row in PAYLOADS[:6]]


@pytest.mark.parametrize("reuses", [False, True])
@pytest.mark.parametrize("kinds", [1, 2, 10**9])
def test_brokers_may_choose_any_free_packet_id(reuses, kinds):
    """A broker with a window of messages without acknowledgement; connections are lost at random moments."""
    rng = random.Random(f"{reuses} {kinds}")
    read_twice = lost = 0
    for _ in range(300):
        unsent = [f"{rng.randrange(kinds)}" for _ in range(60)]
        expected, got = list(unsent), []
        window, under_way, learnt, number = [], [], Learnt(), 0  # window: [packet, payload, was sent]
        acknowledged = []
        while len(got) < 60 and not (not unsent and not window):
            what = rng.random()
            if what < 0.5 and unsent and len(window) < 5:
                used = {packet for packet, *_ in window}
                number = number + 1 if not reuses else min({*range(1, 8)} - used)
                window.append([number, unsent.pop(0)])
                under_way.append((*window[-1], False))
            elif what < 0.9 and under_way:
                packet, payload, marked = under_way.pop(0)
                if learnt.copied(packet, payload, marked=marked) is None:
                    learnt.add(packet, payload)
                    got.append(payload)
                acknowledged.append(packet)
            elif what < 0.95 and acknowledged:
                packet = acknowledged.pop(0)  # it reaches the broker
                window = [one for one in window if one[0] != packet]
            elif what > 0.97:
                under_way, acknowledged = [(packet, payload, True) for packet, payload in window], []
                learnt.resume()
        if kinds == 10**9 or not reuses:
            assert got == expected[: len(got)]
        assert len(learnt.messages()) <= (60 if not reuses else 7)
        read_twice += len(got) > 60
        lost += len(got) < 60
    assert read_twice == 0
    if kinds == 10**9 or not reuses:
        assert lost == 0


def at_first(action):
    """What a source calls while it waits: the action the first time, an error after many."""
    wait, act = hanging(300), once(lambda: True, action)
    return lambda: (wait(), act())


def followed(url, n, start=None, waiting=lambda: None):
    """The next rows of a table that is followed, one by one as a run reads them, and their position; what was said."""
    said, rows = [], []
    with follow_table(url, Wanted(rejected=RejectedLines(report=said.append)), waiting) as table:
        chunks = table.chunks(1, start)
        while len(rows) < n:
            rows += next(chunks).features.tolist()
        position = table.position()
        table.done(position)
    return rows, position, " ".join(said)


@pytest.mark.parametrize("taken", [5, 3])
def test_a_resumed_run_takes_all_rows_of_a_new_session(tmp_path, taken):
    """A run ends, perhaps within the rows of one read, and the broker forgets its session before it goes on."""
    with running("mqtt", tmp_path / "server") as server:
        url = server.url + "?client=test"
        send = at_first(lambda: server.publish([PAYLOADS[0]] * 5))
        _, position, said = followed(url, taken, waiting=send)
        assert said == ""
        server.forget()
        more = [PAYLOADS[0]] * 5 + PAYLOADS[1:4]
        send = at_first(lambda: server.publish(more))
        rows, _, said = followed(url, 8, position, waiting=send)
    assert rows == X[[0] * 5 + [1, 2, 3]].tolist()
    # A run that was killed within its very first rows begins at position 0, like a new one.
    assert ("has forgotten its session: messages sent since" in said) == (position.offset != 0)


def test_a_client_that_connects_again_itself_takes_no_row_twice(tmp_path):
    """The connection is lost while the run is busy, so that it looks at it only after some seconds."""
    with running("mqtt", tmp_path / "server") as server:
        source = open_broker(server.url + "?client=test")
        source._open(0)
        server.publish(PAYLOADS[:5])
        rows, position = [], 0
        while len(rows) < 5:
            more, position = source.read(position, 5)
            rows += more
        server.stop()
        server.start()
        time.sleep(2.5)  # the client library waits a second
        server.publish(PAYLOADS[5:6])
        while len(rows) < 6:
            more, position = source.read(position, 5)
            rows += more
        source.close()
    assert rows == [row + b"\n" for row in PAYLOADS[:6]]
