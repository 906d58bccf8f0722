"""``driftmap contacts``: the map of a list of contacts, by the spectra of its tie-decay network."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from driftmap.cli import arguments as kinds
from driftmap.cli.errors import UserError, note
from driftmap.cli.outputs import takes_text
from driftmap.cli.progress import Progress
from driftmap.cli.session import Session
from driftmap.cli.typed import argument, group, option
from driftmap.cli.whole import Input, WholeOptions, map_whole
from driftmap.tables.npy import ArrayTable
from driftmap.tables.readers import open_source
from driftmap.tables.table import RejectedLines, Table, numbered
from driftmap.utils.columns import some, suggestion
from driftmap.utils.errors import InputError

if TYPE_CHECKING:
    from driftmap.networks import Contacts

DESCRIPTION = """\
Map a list of contacts: each time with contacts is one row, the Laplacian spectrum of the network in which ties decay.

FILE is a list as SocioPatterns publishes it, or its like: time, node, node, perhaps a weight or attributes; plain or
compressed. The label of a row is its time. The other options are those of `driftmap embed`.

examples:
  driftmap contacts contacts.dat.gz --color-by hour -o days.parquet --plot days.png
  driftmap contacts school.csv --metadata classes.txt --color-by class --plot school.html
"""
DAYS_IN_WORDS = 20
"""Days that are classes when they colour a figure; more are a scale."""


@dataclass(frozen=True)
class ContactReading:
    """How contacts are read."""

    columns: list[str] | None = option(
        "--columns",
        type=kinds.names,
        metavar="T,I,J",
        help="the columns of time, node, node, then of a weight or two statuses (default: by the header or the form)",
    )
    decay: float | str | None = option(
        "--decay",
        type=kinds.rate_or_auto,
        metavar="RATE",
        help="decay of ties per unit of time; auto (the default): a half-life from the contacts",
    )
    metadata: Path | None = option(
        "--metadata",
        type=Path,
        metavar="FILE",
        help="attributes of the nodes, such as class or role; a line per node",
    )
    start: str | None = option("--start", type=kinds.date, metavar="DATE", help="date and time at which t is 0")
    color_by: str | None = option(
        "--color-by",
        metavar="NAME",
        help="colour figures by hour, day or an attribute, of which the value with the strongest ties counts (default: "
        "by time)",
    )


@dataclass(frozen=True, kw_only=True)
class ContactsOptions(WholeOptions):
    """Options of ``contacts``."""

    file: str = argument(metavar="FILE", help='the contacts; "-" is standard input')
    reading: ContactReading = group(ContactReading, "what to read")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reading.color_by is not None and self.figures.shade is not None:
            raise UserError("--color-by and --shade both say what colours the plot: leave out one")
        if self.reading.color_by is not None and self.figures.plot is None and self.figures.animate is None:
            raise UserError("--color-by is for figures: add --plot or --animate")


Options = ContactsOptions


def run(options: ContactsOptions, argv: Sequence[str]) -> int:
    """Carry out the command."""
    reading = options.reading
    as_text = takes_text(options.coordinates.output) and takes_text(options.figures.landmarks_out)

    @contextlib.contextmanager
    def opened(current: Session, folder: Path, rejected: RejectedLines) -> Iterator[Table]:
        yield open_contacts(options.file, reading, as_text=as_text)

    source = Input(options.file, opened, list, {"metadata": reading.metadata}, hints=False)
    return map_whole(options, source, argv)


class ContactTable(ArrayTable):
    """The Laplacian spectra of the tie-decay network, one row per time with contacts, labelled ``t``."""

    labels_are_times = True

    def __init__(self, name: str, spectra: NDArray[Any], labels: NDArray[Any]) -> None:
        names = [f"eigenvalue{i}" for i in numbered(spectra.shape[1])]
        super().__init__(name, spectra, names, labels, "t")


def open_contacts(file: str, reading: ContactReading, *, as_text: bool) -> ContactTable:
    """Read contacts and compute their spectra; ``as_text``: times may be labelled by dates."""
    from driftmap.networks import laplacian_spectra, read_metadata  # which take long to import

    contacts, name = _read(file, reading.columns)
    if reading.metadata is not None:
        contacts = read_metadata(reading.metadata, contacts)
    dates = contacts.dates(reading.start)
    decay, reason = _decay(contacts, reading.decay)
    color = None if reading.color_by is None else _color(reading.color_by, contacts, dates, decay)
    note(_described(name, contacts, dates, decay, reason))
    total = len(contacts.event_times)
    with contextlib.closing(Progress()) as progress:

        def count(done: int) -> None:
            progress.update("spectra", done / total, f"{done:,} of {total:,}")

        times, spectra = laplacian_spectra(contacts, decay, n_jobs=-1, on_progress=count)
    labels: NDArray[Any] = times
    if dates is not None and as_text:
        labels = dates.astype("datetime64[s]" if (times == np.floor(times)).all() else "datetime64[us]").astype(str)
    table = ContactTable(name, spectra, labels)
    table.color = None if color is None else (color, reading.color_by or "")
    table.about = {
        "contacts": len(contacts),
        "nodes": len(contacts.nodes),
        "self_contacts": contacts.n_self,
        "weighted": contacts.weights is not None,
        "decay": decay,
    }
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
