"""Addresses with passwords: what is accepted, what is refused, and that no password is ever shown."""

import copy
import json
import random
import shlex

import pytest

from addresses import MARK, POSITIONS, damaged, written
from driftmap import sources
from driftmap.cli import main
from driftmap.cli.arguments import without_credentials
from driftmap.sources.addresses import Address
from driftmap.utils.errors import InputError
from streams import EXAMPLES


def test_no_damaged_address_shows_its_password(tmp_path):
    rng = random.Random(0)
    for _ in range(max(300, 20 * EXAMPLES)):
        url, position = damaged(rng), rng.choice(POSITIONS)
        assert MARK not in written(url, position, tmp_path), (url, position)


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize(
    "url",
    [
        f"redis://u:{MARK}@host℀/x",
        f"redis:/u:{MARK}@host/x",
        f"redis//u:{MARK}@host/x",
        f"redis://u:[{MARK}@host/x",
        f"redis://u:{MARK}/@host/x",
        f"redis://u:{MARK}%@host/x",
        f"redis://u:{MARK}@host:70000/x",
        f"redis://u:{MARK}host/x",
        f"redis://:{MARK}@host",
        f"reddis://u:{MARK}@host/x",
        f"redis://u:{MARK}@host/x?pasword=1",
        f"redis://u:{MARK}@a..b/x",
        f"s3://u:{MARK}@host/x",
        f"u:{MARK}@host/x",
    ],
)
def test_mistakes_in_addresses_are_one_line_without_the_password(url, position, tmp_path):
    assert MARK not in written(url, position, tmp_path)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "redis://u:a/b@h/x",
            r"redis://\.\.\. has a character in its credentials that must be escaped: write / as %2F",
        ),
        ("redis://u:p@h:0/x", r"redis://\.\.\. is not a whole address"),
        ("redis://u:p@h:/x", r"redis://\.\.\. is not a whole address"),
        ("redis://u:p@h℀/x", r"redis://\.\.\. has a host that is not a valid name"),
        ("redis://u:p%zz@h/x", r"redis://h/x has a % that does not begin an escape: write % itself as %25"),
        ("redis://u:p%ff@h/x", r"redis://h/x has percent escapes that are not UTF-8"),
        ("redis://u:p\udcff@h/x", r"redis://h/x has credentials that are not UTF-8"),
        ("mqtt://h/a/#", r"mqtt://\.\.\. has a # in its name, which must be escaped: write it as %23"),
        ("mqtt://h/a@b", r"an @ elsewhere, which is %40"),
        ("redis:/h/x", r"redis://\.\.\. is not a whole address: it has the form redis://HOST"),
        ("redis://h", r"redis://h is not a whole address"),
        ("me:p@h/x", "give a file as ./NAME, a broker as kafka://HOST/NAME"),
    ],
)
def test_faults_are_named(url, message):
    with pytest.raises(InputError, match=message):
        Address(url) if "://" in url else sources.open(url)


def test_parts_of_an_address(monkeypatch):
    address = Address("redis://me:p%40[%25 \\+@Host:7000/a%2Fb:1?payload=csv")
    assert (address.user, address.password) == ("me", "p@[% \\+")
    assert (address.host, address.port, address.stream, address.options) == ("host", 7000, "a/b:1", {"payload": "csv"})
    assert Address("redis://[::1]:7000/x").host == "::1"
    assert Address("mqtt://h/a/%23").stream == "a/#"
    assert Address("redis://münchen.example/x").host == "xn--mnchen-3ya.example"
    assert Address("redis://:p@h/x").password == "p"
    monkeypatch.setenv("DRIFTMAP_USER", "you")
    monkeypatch.setenv("DRIFTMAP_PASSWORD", "q")
    assert (Address("redis://h/x").user, Address("redis://h/x").password) == ("you", "q")
    assert (Address("redis://me:p@h/x").user, Address("redis://me:p@h/x").password) == ("me", "p")


def test_whatever_is_made_of_an_address_has_no_password():
    address = Address(f"redis://me:{MARK}@h/x?payload=csv")
    made = [str(address), repr(address), f"{address}", address + "", address[:], json.dumps([address]), address.upper()]
    made += [
        "-".join([address]),
        shlex.join([address]),
        repr({address: address}),
        str((address,)),
        address.encode().decode(),
    ]
    assert not any(MARK in text or MARK.upper() in text for text in made)
    assert address == "redis://h/x?payload=csv"
    assert copy.copy(address).password == MARK


def test_words_of_a_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "10:00@home.csv").touch()
    words = ["follow", "10:00@home.csv", "--sink", "./9:00@home.csv", "-o", "me@10:00.csv", "--label=a:b@c"]
    words += ["--columns", "redis://a:b@c,x", "--start", "2024-01-01T10:00", "http://example.org/column"]
    assert without_credentials(words) == words
    shown = without_credentials(["--sink=redis://:pw@h/x?payload=csv", "mqtt://u:pw@h/x"])
    assert shown == ["--sink", "redis://h/x?payload=csv", "mqtt://h/x"]
    assert (shown[1].password, shown[2].password) == ("pw", "pw")


def test_a_file_whose_name_looks_like_an_address_can_be_mapped(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "10:00@home.csv").write_text("a,b\n1,2\n3,4\n5,7\n")
    assert main(["embed", "10:00@home.csv", "-o", "./11:00@home.csv"]) == 0
    assert (tmp_path / "11:00@home.csv").exists()
