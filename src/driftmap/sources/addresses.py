"""Addresses of brokers and databases, ``scheme://user:password@host:port/name?option=value``: parsed only here.

An :class:`Address` is a string without credentials; these are separate attributes. Code that prints, stores, joins or
splits an address therefore cannot leak them. Everything before the last ``@`` counts as credentials, however damaged
the rest is; messages about an address that cannot be parsed show only its scheme.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Self
from urllib.parse import parse_qsl, unquote

from driftmap.sources.schemes import DATABASES, SCHEMES, Database, Scheme
from driftmap.utils.columns import suggestion
from driftmap.utils.errors import InputError

KNOWN: Mapping[str, Scheme | Database] = {**SCHEMES, **DATABASES}
PLACE = re.compile(
    r"(?P<host>[^/?#:\[\]]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?(/(?P<stream>[^?#]*))?(\?(?P<query>[^#]*))?"
)
"""The part of an address after the credentials."""
HOST = re.compile(r"[A-Za-z0-9._-]+")
DOWNLOADS = ("http", "https", "ftp", "ftps", "sftp", "s3", "gs", "hdfs")
"""Schemes of files on other machines."""
MEMORY = ":memory:"
"""The name of a DuckDB database without a file, for queries that name files."""
STRAY_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
FILE_NAME = re.compile(r"\.{1,2}/|/[^/]+/|[A-Za-z]:[\\/]")
"""The beginning of a name that is a path, if its folder exists."""


class Address(str):
    """The address of a stream of messages or a database, a text without credentials: they come from URL or environment.

    >>> address = Address("redis://me:secret@localhost:7000/prices?payload=csv")
    >>> address, address.name, f"{address.user} has {len(address.password)} letters"
    ('redis://localhost:7000/prices?payload=csv', 'redis://localhost:7000/prices', 'me has 6 letters')
    >>> Address("redis://me:sec/ret@localhost/prices")
    Traceback (most recent call last):
    driftmap.utils.errors.InputError: redis://... has a character in its credentials that must be escaped: ...
    """

    name: str
    """The text without options, for messages."""
    scheme: str
    host: str
    port: int | None
    stream: str
    options: dict[str, str]
    user: str | None
    password: str | None

    def __new__(cls, url: str) -> Self:
        """Parse a URL, or raise an InputError that shows no credentials.

        DRIFTMAP_USER and DRIFTMAP_PASSWORD replace credentials that are not in the URL.
        """
        if not is_address(url):
            problem = "a name with : and @ may hold a password, so it is not shown: give a file as ./NAME, a broker as "
            raise InputError(f"{problem}{next(iter(SCHEMES))}://HOST/NAME or the like")
        scheme, separator, rest = url.partition("://")
        if not separator:
            scheme = url.partition(":")[0]
        if scheme.lower() in DOWNLOADS:
            problem = "is not read over the network: download the file, then give its name"
            raise InputError(problem, source=f"{scheme}://...")
        if scheme not in KNOWN:
            hint = suggestion(scheme, KNOWN)
            shown = scheme if re.fullmatch("[A-Za-z0-9+.-]+", scheme) and (hint or "@" not in url) else "..."
            problem = f"is not a known scheme{hint}: it must be one of {', '.join(KNOWN)}"
            raise InputError(problem, source=f"{shown}://")
        if scheme in DATABASES and DATABASES[scheme].is_file:
            return cls._of_file(scheme, rest)
        hidden, form = f"{scheme}://...", f"it has the form {scheme}://HOST[:PORT]/NAME"
        credentials, at, place = rest.rpartition("@")
        if re.search("[/?#]", credentials):
            problem = "has a character in its credentials that must be escaped: write / as %2F, ? as %3F, # as %23; or "
            problem += "an @ elsewhere, which is %40"
            raise InputError(problem, source=hidden)
        if "#" in place:
            raise InputError("has a # in its name, which must be escaped: write it as %23", source=hidden)
        parts = PLACE.fullmatch(place)
        host = "" if parts is None else _host(parts["host"], hidden)
        if parts is None or not separator or (parts["port"] and not 0 < int(parts["port"]) < 2**16):
            raise InputError(f"is not a whole address: {form}", source=hidden)
        port, path, query = parts["port"], parts["stream"], parts["query"]
        name = f"{scheme}://{host}" + ("" if port is None else f":{port}") + ("" if path is None else f"/{path}")
        if not path:
            raise InputError(f"is not a whole address: {form}", source=name)
        options = dict(parse_qsl(query or "", keep_blank_values=True))
        known = KNOWN[scheme].options
        for option in options:
            if option not in known:
                raise InputError(f"has the unknown option {option!r}{suggestion(option, known)}", source=name)
        address = super().__new__(cls, name if query is None else f"{name}?{query}")
        address.name, address.scheme, address.host, address.options = name, scheme, host.strip("[]"), options
        address.port, address.stream = None if port is None else int(port), _unescaped(path, name)
        user, colon, password = credentials.partition(":")
        address.user, address.password = os.environ.get("DRIFTMAP_USER"), os.environ.get("DRIFTMAP_PASSWORD")
        if at:
            address.user = _unescaped(user, name)
        if colon:
            address.password = _unescaped(password, name)
        for given in (address.user, address.password):
            if given is not None and not _is_text(given):
                raise InputError("has credentials that are not UTF-8", source=name)
        return address

    @classmethod
    def _of_file(cls, scheme: str, rest: str) -> Self:
        """Return the address of a database in a file: ``sqlite:///x.db``, with an absolute path ``sqlite:////data/x.db``."""
        if not rest.startswith("/") or rest == "/" or (rest[1:] == MEMORY and scheme != "duckdb"):
            problem = f"is not a whole address: it has the form {scheme}:///FILE, or {scheme}:////FOLDER/FILE"
            raise InputError(problem, source=f"{scheme}://...")
        if "?" in rest:
            raise InputError("has a ? in the name of its file, which takes no options", source=f"{scheme}://...")
        address = super().__new__(cls, f"{scheme}://{rest}")
        address.name, address.scheme, address.host, address.options = str(address), scheme, "", {}
        address.port, address.stream, address.user, address.password = None, rest[1:], None, None
        return address

    @property
    def is_database(self) -> bool:
        """Whether it is a database, whose rows a query reads."""
        return self.scheme in DATABASES

    @property
    def file(self) -> str | None:
        """The path of the file that is the database; None: it is on a server."""
        return self.stream if self.is_database and DATABASES[self.scheme].is_file else None

    @property
    def port_number(self) -> int:
        """The port; by default, that of the scheme."""
        return self.port or SCHEMES[self.scheme].port


class WebhookAddress(str):
    """Where alerts are posted. As text it has neither credentials nor a path, which is often one.

    >>> address = WebhookAddress("https://me:secret@hooks.example.org/services/T0/B0/key")
    >>> address, address.path
    ('https://hooks.example.org/...', '/services/T0/B0/key')
    """

    host: str
    port: int | None
    path: str
    is_secure: bool
    credentials: str | None
    """``user:password``, if there are any."""

    def __new__(cls, url: str) -> Self:
        """Parse a URL; an InputError, which shows none of it, if it cannot be used."""
        scheme, separator, rest = url.partition("://")
        if scheme.lower() not in ("http", "https") or not separator:
            raise InputError("takes http:// or https://", parameter="alert_webhook")
        hidden = f"{scheme.lower()}://..."
        if not re.fullmatch("[!-~]*", rest):
            raise InputError("has characters that must be escaped, such as a space: %20", source=hidden)
        authority, slash, path = re.fullmatch("([^/?#]*)([/?]?)([^#]*)#?.*", rest).groups()  # type: ignore[union-attr]
        credentials, at, place = authority.rpartition("@")
        parts = PLACE.fullmatch(place)
        if parts is None or parts["stream"] is not None or (parts["port"] and not 0 < int(parts["port"]) < 2**16):
            raise InputError("is not a whole address: it has the form https://HOST[:PORT]/PATH", source=hidden)
        host, port = _host(parts["host"], hidden), parts["port"]
        address = super().__new__(cls, f"{scheme.lower()}://{host}{'' if port is None else f':{port}'}/...")
        address.host, address.port = host.strip("[]"), None if port is None else int(port)
        address.path = f"/{path}" if slash != "?" else f"/?{path}"
        address.is_secure = scheme.lower() == "https"
        address.credentials = _unescaped(credentials, hidden) if at else None
        return address


def is_address(name: str) -> bool:
    """Return True if a name is the address of a broker or a database, perhaps a damaged one, and not a file."""
    return "://" in name or names_broker(name)


def names_broker(name: str) -> bool:
    """Return True if a name begins with a known scheme and a slash.

    >>> names_broker("redis:/host/x"), names_broker("https://example.org/column")
    (True, False)
    """
    return name.startswith(tuple(f"{scheme}:/" for scheme in KNOWN))


def address_in(name: str) -> Address | None:
    """Return the address in a name; None if it names a file.

    Raise an InputError if it may be a damaged address with a password: no message may show it as the name of a file.
    """
    if isinstance(name, Address):
        return name
    return Address(name) if is_address(name) or may_hold_password(name) else None


def may_hold_password(name: str) -> bool:
    """Return True if a name contains ``user:password@host``, and is neither a file nor a path in a folder.

    >>> [may_hold_password(name) for name in ("redis//me:secret@host/x", "me@host:x.csv", "./10:00@home.csv")]
    [True, False, False]
    """
    if re.search(":.*@", name, re.DOTALL) is None or os.path.lexists(name):
        return False
    return FILE_NAME.match(name) is None or not os.path.isdir(os.path.dirname(name))


def _host(host: str, hidden: str) -> str:
    """Return a host in lower case and in ASCII, the form that the system looks up."""
    if host.startswith("["):
        return host.lower()
    try:
        found = host.encode("idna").decode().lower()
    except UnicodeError:
        found = ""
    if HOST.fullmatch(found) is None:
        raise InputError("has a host that is not a valid name", source=hidden)
    return found


def _unescaped(text: str, name: str) -> str:
    """Return text with its percent escapes decoded."""
    if STRAY_PERCENT.search(text):
        raise InputError("has a % that does not begin an escape: write % itself as %25", source=name)
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise InputError("has percent escapes that are not UTF-8", source=name) from None


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
