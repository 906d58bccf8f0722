"""Contacts as they arrive: a table with one spectrum for each time, given out when a later time begins."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from driftmap.networks.contacts import EARLIEST, LATEST, dates_of
from driftmap.networks.files import ContactLines, begins, separator, split, uncommented
from driftmap.networks.spectra import NetworkSpectra
from driftmap.networks.tie_decay import TieDecayNetwork
from driftmap.sources.follow import RestartedError
from driftmap.sources.row_source import RowSource
from driftmap.tables.blocks import BOM, FOLLOWED_ROWS
from driftmap.tables.cells import not_utf8
from driftmap.tables.columns import numbered
from driftmap.tables.rejected import RejectedLines
from driftmap.tables.table import Chunk, Labels, Position, Table
from driftmap.utils.errors import Advice, InputError

Contact = tuple[str, str, float, float]


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
        self.name, self.label, self.left_out = rows.name, "t", ()
        self.columns = tuple(spectrum_columns(self._spectrum.n_eigenvalues))
        self._rows, self._decay, self._n_nodes, self._nodes = rows, decay, n_nodes, nodes
        self._given_columns, self._start = columns, start
        self._rejected = RejectedLines() if rejected is None else rejected
        self._place = Position(0)
        self._reset()

    def _reset(self) -> None:
        self._network = TieDecayNetwork(self._decay)
        self._at: tuple[Any, int] = (0, 0)
        """Where the present line is: a position of the source, and a number of lines after it."""
        self._tail: tuple[Any, int] = (0, 0)
        self._lines: ContactLines | None = None
        self._separator: str | None = None
        self._is_dated: bool | None = None
        self._finished: float | None = None
        """The last time that was given out."""
        self._n_contacts = 0

    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """Yield the spectrum of each time, one at a time; from a position on, after reading the lines before it."""
        self._reset()
        self._place, read, n_lines = start or Position(0), hashlib.sha256(), 0
        replayed = self._place.lines
        for line in self._read():
            if start is not None and n_lines == replayed:
                self._check_replayed(start, n_lines, read.hexdigest())
            n_lines += 1
            contact = self._contact(line, n_lines)
            if contact is not None:
                if n_lines > replayed and self._completes(contact[2]):
                    yield self._row(n_lines - 1, read.hexdigest())
                self._add(contact)
            read.update(line)
        if start is not None and n_lines <= replayed:
            self._check_replayed(start, n_lines, read.hexdigest())
        if self._completes(np.inf):
            yield self._row(n_lines, read.hexdigest())

    def position(self) -> Position:
        """Return the place after the last spectrum that was given out."""
        return self._place

    def tail(self) -> tuple[int, int, str] | None:
        """Return where the last bytes before that place begin and end, and their digest, if the source knows them."""
        return self._rows.tail(*self._tail)

    def close(self) -> None:
        """Report contacts of nodes with themselves. The source belongs to the caller."""
        if self._lines is not None and self._lines.n_self:
            self._rejected.report(f"{self.name}: {self._lines.n_self:,} contacts of a node with itself skipped")

    def _read(self) -> Iterator[bytes]:
        """Yield all lines from the first. The network is only in memory, so the source is done with what was read."""
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
        """Lines before the start are the same as when it was saved; the last time in them was given out."""
        if (lines, digest) != (start.lines, start.offset):
            problem = f": its first {start.lines:,} lines are not those that were read before"
            raise InputError(f"{problem}; give the same contacts again from their start", source=self.name)
        self._finished = self._network.time

    def _contact(self, line: bytes, number: int) -> Contact | None:
        """Return the contact in a line; None if it holds none, or is rejected."""
        try:
            contact = self._parsed(line, number)
        except InputError as error:
            error.source, error.line = self._rows.where(*self._at), number
            if error.parameter is None:
                self._rejected.reject(error)
                return None
            raise
        if contact is not None:
            self._check_final(contact, number)
        return contact

    def _parsed(self, line: bytes, number: int) -> Contact | None:
        try:
            text = line.removeprefix(BOM if number == 1 else b"").decode()
        except UnicodeDecodeError as error:
            raise not_utf8(line[error.start]) from None
        if not (text.strip() if self._lines is not None else begins(text)):
            return None
        if self._lines is None:
            text = uncommented(text)
            self._separator = separator(text)
        try:
            fields = next(iter(split(self._separator, [text])), [])
        except csv.Error as error:
            raise InputError(f"cannot be split into fields ({error})") from None
        if not any(fields):
            return None
        if self._lines is None:
            self._lines = ContactLines(fields, self._given_columns, self.name, number)
            if self._lines.has_header:
                return None
        contact, latest = self._lines.contact(fields), self._network.time
        if contact is not None and latest is not None and contact[2] < latest:
            raise InputError(f"has the time {contact[2]:.10g}, which is before that of an earlier line, {latest:.10g}")
        return contact

    def _check_final(self, contact: Contact, number: int) -> None:
        """Raise an error for a contact that shows rows that are written, or the number of nodes, to be wrong."""
        i, j, t, _ = contact
        if t == self._finished:
            raise self._error(f"has the time {t:.10g}, whose row was written before: it cannot change any more", number)
        new = [node for node in (i, j) if node not in self._network]
        if self._nodes is not None and (unknown := [node for node in new if node not in self._nodes]):
            raise self._error(f": {unknown[0]!r} is not one of the {len(self._nodes):,} nodes given", number)
        if self._network.n_nodes + len(new) > self._n_nodes:
            raise self._error(f": {new[-1]!r} is one node more than {self._n_nodes:,}", number, "nodes")

    def _error(self, problem: str, number: int, advice: Advice | None = None) -> InputError:
        return InputError(problem, source=self._rows.where(*self._at), line=number, advice=advice)

    def _completes(self, t: float) -> bool:
        """Whether a contact at this time completes one that was not given out yet."""
        latest = self._network.time
        return latest is not None and latest < t and latest != self._finished

    def _add(self, contact: Contact) -> None:
        self._network.add(*contact)
        self._n_contacts += 1
        if self._is_dated is None:
            self._is_dated = self._start is not None or EARLIEST <= contact[2] <= LATEST

    def _row(self, lines: int, digest: str) -> Chunk:
        """The spectrum of the latest time, whose contacts are all before the place after these lines."""
        assert self._lines is not None
        assert self._network.time is not None
        self._place = Position(self._place.rows + 1, lines, digest)
        self._finished, self._tail = self._network.time, self._at
        self._rejected.settle(lines)
        self.about = {
            "contacts": self._n_contacts,
            "nodes": self._network.n_nodes,
            "self_contacts": self._lines.n_self,
            "weighted": self._lines.layout.weight is not None,
            "decay": self._decay,
        }
        return Chunk(self._spectrum(self._network)[np.newaxis], self._labels(self._finished))

    def _labels(self, t: float) -> Labels:
        times = np.array([t])
        if not self._is_dated:
            return times
        unit = "s" if t == np.floor(t) else "us"
        return dates_of(times, self._start).astype(f"datetime64[{unit}]").astype(str).tolist()


def spectrum_columns(n: int) -> list[str]:
    """The names of the columns of n eigenvalues."""
    return [f"eigenvalue{i}" for i in numbered(n)]
