"""The argument parser, and the types of option values."""

from __future__ import annotations

import argparse
import csv
import datetime
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from driftmap.cli.errors import UserError
from driftmap.sources.addresses import Address, WebhookAddress, may_hold_password, names_broker
from driftmap.utils.columns import suggestion

DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}
"""Names of delimiters, easier to type in a shell."""
COLUMN_OPTIONS = frozenset({"--columns", "--exclude", "--label", "--color-by", "--na"})
"""Options whose values are names of columns, which may look like addresses."""

WEBHOOK_OPTION = "--alert-webhook"


def without_credentials(words: Sequence[str]) -> list[str]:
    """Return the words of a command line, with each address as an :class:`~driftmap.sources.addresses.Address`.

    Its text has no credentials. All later code, from the parser to the last message, sees only these words.

    >>> without_credentials(["embed", "--sink=redis://:secret@host/out", "--label", "a:b@c"])
    ['embed', '--sink', 'redis://host/out', '--label', 'a:b@c']
    """
    shown: list[str] = []
    option = ""
    for word in words:
        joined = re.fullmatch("(--[a-z-]+(?==)|-[A-Za-z])=?(.+)", word, re.DOTALL)
        option, value = joined.groups() if joined else (option, word)
        if option == WEBHOOK_OPTION and not isinstance(value, WebhookAddress) and word != option:
            shown += [option, WebhookAddress(value)] if joined else [WebhookAddress(value)]
        elif option not in COLUMN_OPTIONS and (names_broker(value) or may_hold_password(value)):
            shown += [option, Address(value)] if joined else [Address(value)]
        else:
            shown.append(word)
        option = word
    return shown


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one line, without the usage."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._negative_number_matcher = re.compile(r"-\.?\d")  # values such as -99,-999 are not options

    def error(self, message: str) -> NoReturn:
        """Raise an error, with a suggestion for a misspelt word; ``main`` prints it."""
        hint = ""
        if (choice := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)) is not None:
            hint = suggestion(choice[1], [known.strip(" '") for known in choice[2].split(",")])
        elif (unknown := re.match(r"unrecognized arguments: (--[\w-]+)", message)) is not None:
            hint = suggestion(unknown[1], self.all_options())
        raise UserError(f"{message}{hint} (see `{self.prog} --help`)")

    def all_options(self) -> list[str]:
        """Return the long options of the command, or of its subcommands."""
        options = [option for option in self._option_string_actions if option.startswith("--")]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                options += [option for command in action.choices.values() for option in command.all_options()]
        return options


def integer(text: str, lowest: int, highest: int | None = None) -> int:
    """Parse an integer of at least ``lowest`` and at most ``highest``."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None
    if value < lowest:
        raise argparse.ArgumentTypeError(f"must be at least {lowest}, got {value}")
    if highest is not None and value > highest:
        raise argparse.ArgumentTypeError(f"must be at most {highest}, got {value}")
    return value


def rate(text: str) -> float:
    """Parse a finite number that is not negative."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not (math.isfinite(value) and value >= 0):
        raise argparse.ArgumentTypeError(f"must be finite and not negative, got {text}")
    return value


def rate_or_auto(text: str) -> float | str:
    """Parse a rate, or "auto"."""
    return text if text == "auto" else rate(text)


def rate_or_none(text: str) -> float | None:
    """Parse a rate, or "none"."""
    return None if text == "none" else rate(text)


def date(text: str) -> str:
    """Parse a date, with or without a time of day; return it without its time zone."""
    try:
        return datetime.datetime.fromisoformat(text).replace(tzinfo=None).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date such as 2024-03-31 or 2024-03-31T12:00") from None


def duration(text: str) -> float:
    """Parse a time: a number with s, m or h."""
    match = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([smh])", text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time: give a number with s, m or h, such as 10s")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


def names(text: str) -> list[str]:
    """Parse a list of columns; a name with a comma goes in double quotes, as in CSV."""
    try:
        listed = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:  # a line feed outside quotes
        listed = []
    if not listed or not all(listed):
        raise argparse.ArgumentTypeError(f"expected names separated by commas, got {text!r}")
    return listed


def delimiter(text: str) -> str:
    """Parse what separates cells: a character or its name; a space stands for any run of blanks.

    >>> delimiter("tab"), delimiter(";")
    ('\\t', ';')
    """
    character = DELIMITERS.get(text.lower(), text)
    if len(character) != 1 or not character.isascii() or character.isalnum() or character in "\"'\r\n\0.+-":
        raise argparse.ArgumentTypeError(f"{text!r} is not a delimiter: give a character or {', '.join(DELIMITERS)}")
    return character


def file(text: str, *, suffixes: Sequence[str]) -> Path:
    """Parse the name of a file whose suffix determines its format."""
    path = Path(text)
    if path.suffix.lower() not in suffixes:
        raise argparse.ArgumentTypeError(f"{text!r} must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}")
    return path


def landmark_count(text: str) -> int | str:
    """Parse the value of ``--landmarks``: an integer or "auto"."""
    try:
        return text if text == "auto" else integer(text, lowest=1)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; give a number or auto") from None


def anchor_count(text: str) -> int | str | None:
    """Parse the value of ``--anchors``: an integer, "auto", or "none"."""
    if text in ("auto", "none"):
        return None if text == "none" else text
    try:
        return integer(text, lowest=1)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; give a number, auto or none") from None


def memory_size(text: str) -> int | str | None:
    """Parse the value of ``--memory``: an integer, "all" for no limit, or "auto"."""
    if text in ("all", "auto"):
        return None if text == "all" else text
    try:
        return integer(text, lowest=1)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f'{error}; give a number, or "all" to store every row') from None


def webhook(text: str) -> WebhookAddress:
    """The type of ``--alert-webhook``: an address over HTTP, of which only the host is shown."""
    return text if isinstance(text, WebhookAddress) else WebhookAddress(text)
