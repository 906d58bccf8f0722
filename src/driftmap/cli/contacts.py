"""Lists of contacts as tables: the spectra of the tie-decay network."""

from __future__ import annotations

import argparse
import contextlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from driftmap.cli.errors import UserError, note
from driftmap.cli.progress import Progress
from driftmap.io.npy import ArrayTable
from driftmap.io.readers import open_source
from driftmap.io.tables import numbered
from driftmap.utils import Array
from driftmap.utils.columns import some, suggestion
from driftmap.utils.errors import InputError

if TYPE_CHECKING:
    from driftmap.networks import Contacts

DAYS_IN_WORDS = 20
"""Days that are classes when they colour a figure; more are a scale."""


class ContactTable(ArrayTable):
    """The Laplacian spectra of the tie-decay network, one row per time with contacts, labelled ``t``."""

    def __init__(self, name: str, spectra: Array, labels: NDArray[Any], contacts: Contacts, decay: float) -> None:
        names = [f"eigenvalue{i}" for i in numbered(spectra.shape[1])]
        super().__init__(name, spectra, names, labels, "t")
        self.color: NDArray[Any] | None = None
        """What colours figures instead of the time, one entry per row."""
        self.color_label = ""
        self.about = {
            "contacts": len(contacts),
            "nodes": len(contacts.nodes),
            "self_contacts": contacts.n_self,
            "weighted": contacts.weights is not None,
            "decay": decay,
        }


def open_contacts(args: argparse.Namespace) -> ContactTable:
    """Read the contacts that ``--contacts`` and the options with it describe, and compute their spectra."""
    from driftmap.networks import laplacian_spectra, read_metadata  # which take long to import

    contacts, name = _read(args.file, args.columns)
    if args.metadata is not None:
        contacts = read_metadata(args.metadata, contacts)
    dates = contacts.dates(args.start)
    decay, reason = _decay(contacts, args.decay)
    color = None if args.color_by is None else _color(args.color_by, contacts, dates, decay)
    note(_described(name, contacts, dates, decay, reason))
    total = len(contacts.event_times)
    with contextlib.closing(Progress()) as progress:

        def count(done: int) -> None:
            progress.update("spectra", done / total, f"{done:,} of {total:,}")

        times, spectra = laplacian_spectra(contacts, decay, n_jobs=-1, on_progress=count)
    # An NPY file holds numbers only.
    written = (args.output, args.landmarks_out)
    is_text = dates is not None and all(path is None or path.suffix.lower() != ".npy" for path in written)
    labels: NDArray[Any] = times
    if dates is not None and is_text:
        labels = dates.astype("datetime64[s]" if (times == np.floor(times)).all() else "datetime64[us]").astype(str)
    table = ContactTable(name, spectra, labels, contacts, decay)
    table.color, table.color_label = color, args.color_by or ""
    return table


def _read(file: str, columns: list[str] | None) -> tuple[Contacts, str]:
    from driftmap.networks import read_contacts

    with open_source(file, once=False) as source:
        assert source.path is not None
        try:
            return read_contacts(source.path, columns), source.name
        except InputError as error:
            if error.source is not None:  # a copy of standard input has a name that means nothing to the user
                error.source = source.name
            raise


def _decay(contacts: Contacts, given: float | str | None) -> tuple[float, str]:
    """The rate of decay, and what it follows from."""
    from driftmap.networks import half_life

    if isinstance(given, float):
        return given, ""
    try:
        time = half_life(contacts)
    except InputError as error:
        raise UserError(f"--decay: {error}") from error
    shown = f"{time:,.0f}" if time >= 100 else f"{time:.3g}"
    reason = f" (a half-life of {shown}, the geometric mean of the times between contacts of a pair)"
    return math.log(2) / time, reason


def _described(name: str, contacts: Contacts, dates: NDArray[np.datetime64] | None, decay: float, reason: str) -> str:
    """One line: what was read, and how ties decay."""
    first, last = contacts.event_times[[0, -1]]
    span = f"t = {first:.10g} to {last:.10g}"
    if dates is not None:
        span = " to ".join(str(date.astype("datetime64[s]")).replace("T", " ") for date in dates[[0, -1]])
    parts = [f"{len(contacts):,} contacts of {len(contacts.nodes):,} nodes, {span}"]
    parts += ["weighted"] * (contacts.weights is not None)
    parts += [f"columns left out: {some([*map(repr, contacts.left_out)])}"] * bool(contacts.left_out)
    parts += [f"{contacts.n_self:,} of a node with itself skipped"] * (contacts.n_self > 0)
    parts.append(f"ties decay by {decay:.3g} per {'second' if dates is not None else 'unit of time'}{reason}")
    return f"{name}: {'; '.join(parts)}"


def _color(name: str, contacts: Contacts, dates: NDArray[np.datetime64] | None, decay: float) -> NDArray[Any]:
    """What colours the rows: the hour, the day, or the group of nodes whose ties are strongest."""
    from driftmap.networks import group_strengths

    if name in contacts.attributes:
        return np.array(group_strengths(contacts, name, decay).strongest())
    times = contacts.event_times
    if name == "hour":
        seconds = times if dates is None else (dates - dates.astype("datetime64[D]")) / np.timedelta64(1, "s")
        return np.asarray(seconds / 3600 % 24)
    if name == "day":
        if dates is None:
            return np.floor(times / 86_400)
        days = dates.astype("datetime64[D]")
        if len(np.unique(days)) > DAYS_IN_WORDS:
            return days
        return np.array([f"{day:%Y-%m-%d %a}" for day in days.tolist()])
    known = ["hour", "day", *contacts.attributes]
    described = "" if contacts.attributes else "; the nodes have no attributes: add --metadata"
    raise UserError(f"--color-by {name!r} is not one of {', '.join(known)}{suggestion(name, known)}{described}")
