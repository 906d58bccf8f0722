"""Contacts as they arrive: a table with one spectrum for each time, complete when a later time begins."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from driftmap.networks.contacts import EARLIEST, LATEST, dates_of
from driftmap.networks.files import Contact, ContactText
from driftmap.networks.spectra import NetworkSpectra
from driftmap.networks.tie_decay import TieDecayNetwork
from driftmap.sources.follow import RestartedError
from driftmap.sources.row_source import RowSource
from driftmap.tables.blocks import BOM, FOLLOWED_ROWS
from driftmap.tables.cells import not_utf8
from driftmap.tables.columns import numbered
from driftmap.tables.rejected import RejectedLines
from driftmap.tables.table import Chunk, Labels, Position, Table
from driftmap.utils.errors import InputError


class ContactStream(Table):
    """The Laplacian spectra of a tie-decay network whose contacts arrive line by line, one for each time.

    The spectrum of a time is known when a contact with a later time arrives or the source ends. Contacts must be in
    order of time.

    The network is not part of a checkpoint. To go on from a position, the lines before it are read again, and compared
    by their digest.

    Parameters
    ----------
    rows : RowSource
        The lines, in the formats that :func:`driftmap.networks.read_contacts` takes.
    decay : float
        Rate at which ties decay, per unit of time.
    n_nodes : int
        Nodes of the network in the end. Those that have not come yet are eigenvalues of 0.
    n_eigenvalues : int, optional
        Give out only this many largest eigenvalues.
    columns : sequence of str, optional
        As for ``read_contacts``.
    start : optional
        The date at which t is 0. Times of day since 1970 are labelled by dates, too; others by their number.
    nodes : collection of str, optional
        All nodes that may come.
    rejected : RejectedLines, optional
        What happens to lines that cannot be used.
    """

    labels_are_times = True
    label = "t"
    left_out = ()
    is_live = True

    def __init__(
        self,
        rows: RowSource,
        decay: float,
        n_nodes: int,
        *,
        n_eigenvalues: int | None = None,
        columns: Sequence[str] | None = None,
        start: Any = None,
        nodes: Collection[str] | None = None,
        rejected: RejectedLines | None = None,
    ) -> None:
        self._spectrum = NetworkSpectra(n_nodes, n_eigenvalues)
        self.name = rows.name
        self.columns = tuple(spectrum_columns(self._spectrum.n_eigenvalues))
        self._rows, self._start = rows, start
        self._rejected = RejectedLines() if rejected is None else rejected
        self._begin: Callable[[], _Arriving] = lambda: _Arriving(
            ContactText(self.name, columns), TieDecayNetwork(decay), n_nodes, nodes
        )
        self._arriving, self._place = self._begin(), Position(0)
        self._at: tuple[Any, int] = (0, 0)
        """The present line: a position of the source, and a number of lines after it."""
        self._tail = self._at

    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """Yield the spectrum of each time, one at a time; from a position on, after reading the lines before it."""
        arriving = self._arriving = self._begin()
        self._place, read, n_lines = start or Position(0), hashlib.sha256(), 0
        replayed = self._place.lines
        for line in self._read():
            if start is not None and n_lines == replayed:
                self._check_replayed(start, n_lines, read.hexdigest())
            n_lines += 1
            contact = self._contact(line, n_lines)
            if contact is not None:
                if n_lines > replayed and arriving.completes(contact[2]):
                    yield self._row(n_lines - 1, read.hexdigest())
                arriving.add(contact)
            read.update(line)
        if start is not None and n_lines <= replayed:
            self._check_replayed(start, n_lines, read.hexdigest())
        if arriving.completes(np.inf):
            yield self._row(n_lines, read.hexdigest())

    def position(self) -> Position:
        """Return the position after the last spectrum."""
        return self._place

    def tail(self) -> tuple[int, int, str] | None:
        """Return begin, end and digest of the last bytes before that position, if the source knows them."""
        return self._rows.tail(*self._tail)

    def close(self) -> None:
        """Report contacts of nodes with themselves. The caller closes the source."""
        lines = self._arriving.text.lines
        if lines is not None and lines.n_self:
            self._rejected.report(f"{self.name}: {lines.n_self:,} contacts of a node with itself skipped")

    def _read(self) -> Iterator[bytes]:
        """Yield all lines from the first. The network is only in memory, so the source need not keep what was read."""
        position: Any = 0
        n_lines = 0
        while True:
            try:
                lines, end = self._rows.read(position, FOLLOWED_ROWS)
            except RestartedError as restart:
                problem = f": {restart} after line {n_lines}, and the network needs the contacts before, too"
                raise InputError(problem, source=self.name) from restart
            for ahead, line in enumerate(lines):
                self._at = position, ahead
                yield line
            n_lines, position = n_lines + len(lines), end
            self._at = position, 0
            if not lines:
                return
            self._rows.done(end)

    def _check_replayed(self, start: Position, lines: int, digest: str) -> None:
        """Raise an error unless the lines before the start are the same as when it was saved."""
        if (lines, digest) != (start.lines, start.offset):
            problem = f": its first {start.lines:,} lines are not those that were read before"
            raise InputError(f"{problem}; give the same contacts again from their start", source=self.name)
        self._arriving.finished = self._arriving.network.time

    def _contact(self, line: bytes, number: int) -> Contact | None:
        """Return the contact in a line; None if it has none, or is rejected."""
        is_final = False
        try:
            contact = self._arriving.contact(line.removeprefix(BOM if number == 1 else b""), number)
            if contact is not None:
                is_final = True
                self._arriving.check(contact)
        except InputError as error:
            if error.parameter is not None:
                raise
            error.source, error.line = self._rows.where(*self._at), number
            if is_final:
                raise
            self._rejected.reject(error)
            return None
        return contact

    def _row(self, lines: int, digest: str) -> Chunk:
        """Return the spectrum of the latest time, whose contacts all precede the position after these lines."""
        arriving = self._arriving
        arriving.finished, self._tail = arriving.network.time, self._at
        self._place = Position(self._place.rows + 1, lines, digest)
        self._rejected.settle(lines)
        self.about = arriving.about()
        return Chunk(self._spectrum(arriving.network)[np.newaxis], self._labels())

    def _labels(self) -> Labels:
        first, t = self._arriving.first, self._arriving.finished
        assert first is not None
        assert t is not None
        times = np.array([t])
        if self._start is None and not EARLIEST <= first <= LATEST:
            return times
        unit = "s" if t == np.floor(t) else "us"
        labels: list[str] = dates_of(times, self._start).astype(f"datetime64[{unit}]").astype(str).tolist()
        return labels


class _Arriving:
    """A network whose contacts arrive in lines of text.

    ``finished`` is the latest time whose spectrum was returned, and ``first`` the time of the first contact.
    """

    def __init__(
        self, text: ContactText, network: TieDecayNetwork, n_nodes: int, nodes: Collection[str] | None
    ) -> None:
        self.text, self.network, self.n_nodes, self.nodes = text, network, n_nodes, nodes
        self.first: float | None = None
        self.finished: float | None = None
        self.n_contacts = 0

    def contact(self, line: bytes, number: int) -> Contact | None:
        """Return the contact in a line; None if it has none. Raise an error about the line if it is bad."""
        try:
            contact = self.text.contact(line.decode(), number)
        except UnicodeDecodeError as error:
            raise not_utf8(line[error.start]) from None
        latest = self.network.time
        if contact is not None and latest is not None and contact[2] < latest:
            raise InputError(f"has the time {contact[2]:.10g}, which is before that of an earlier line, {latest:.10g}")
        return contact

    def check(self, contact: Contact) -> None:
        """Raise an error for a contact that contradicts rows already written, or the number of nodes."""
        i, j, t, _ = contact
        if t == self.finished:
            raise InputError(f"has the time {t:.10g}, whose row was written before: it cannot change now")
        new = [node for node in (i, j) if node not in self.network]
        if self.nodes is not None and (unknown := [node for node in new if node not in self.nodes]):
            raise InputError(f": {unknown[0]!r} is not one of the {len(self.nodes):,} nodes given")
        if self.network.n_nodes + len(new) > self.n_nodes:
            raise InputError(f": {new[-1]!r} is one node more than {self.n_nodes:,}", advice="nodes")

    def completes(self, t: float) -> bool:
        """Return True if a contact at this time completes a time whose spectrum has not been returned."""
        latest = self.network.time
        return latest is not None and latest < t and latest != self.finished

    def add(self, contact: Contact) -> None:
        """Add a contact to the network."""
        self.network.add(*contact)
        self.n_contacts += 1
        self.first = contact[2] if self.first is None else self.first

    def about(self) -> dict[str, Any]:
        """Return facts about the contacts, for a summary."""
        lines = self.text.lines
        return {
            "contacts": self.n_contacts,
            "nodes": self.network.n_nodes,
            "self_contacts": 0 if lines is None else lines.n_self,
            "weighted": lines is not None and lines.layout.weight is not None,
            "decay": self.network.decay,
        }


def spectrum_columns(n: int) -> list[str]:
    """Return the names of the columns of n eigenvalues."""
    return [f"eigenvalue{i}" for i in numbered(n)]
