"""``driftmap contacts``: the map of a list of contacts, by the spectra of its tie-decay network."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from driftmap import sources
from driftmap.cli import arguments as kinds
from driftmap.cli.endless import EndlessOptions, map_endless
from driftmap.cli.errors import UserError, note
from driftmap.cli.follow import check_followed
from driftmap.cli.groups import Figures
from driftmap.cli.monitoring import HostedMonitoring
from driftmap.cli.outputs import takes_text
from driftmap.cli.progress import Progress
from driftmap.cli.session import Session
from driftmap.cli.typed import argument, flag_of, group, option
from driftmap.cli.whole import Input, WholeOptions, map_whole
from driftmap.sources.addresses import address_in
from driftmap.sources.files import open_source
from driftmap.tables.npy import ArrayTable
from driftmap.tables.rejected import RejectedLines
from driftmap.tables.table import Table
from driftmap.utils.columns import some, suggestion
from driftmap.utils.errors import InputError

if TYPE_CHECKING:
    from driftmap.networks import Contacts

DESCRIPTION = """\
Map a list of contacts: each time with contacts is one row, the Laplacian spectrum of the network in which ties decay.

FILE is a list in the format of SocioPatterns or a similar one: time, node, node, and perhaps a weight or attributes;
plain or compressed. The label of a row is its time. The other options are those of `driftmap embed`.

With --follow, FILE is a list that is still growing, a named pipe, "-", or the address of a message broker whose
messages are lines of CSV. Contacts come in order of time, and the row of a time is written when a later time arrives or
standard input ends. A spectrum has one number per node, so --nodes or --metadata gives the number of nodes in the end;
nodes that have not appeared yet are zeros. The rows are the same as with --online on the whole list. --resume reads the
list again from its start, without writing, and continues from the checkpoint.

examples:
  driftmap contacts contacts.dat.gz --color-by hour -o days.parquet --plot days.png
  driftmap contacts school.csv --metadata classes.txt --color-by class --plot school.html
  driftmap contacts badges.csv --follow --decay 0.01 --nodes 200 --alert 0.999 --alerts alerts.jsonl -o map.csv
"""
DAYS_IN_WORDS = 20
"""Most days that colour a figure as classes; more become a scale."""


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
    eigenvalues: int | None = option(
        "--eigenvalues",
        type=partial(kinds.integer, lowest=1),
        metavar="K",
        help="only the K largest eigenvalues: faster for large networks, and an approximation (default: all)",
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
    follow: bool = option("--follow", default=False, shapes=False, help="go on as the list grows, until Ctrl-C")
    nodes: int | None = option(
        "--nodes",
        type=partial(kinds.integer, lowest=2),
        metavar="N",
        help="with --follow: the number of nodes in the end (default: those in --metadata)",
    )
    skip_bad: bool = option(
        "--skip-bad",
        default=False,
        help="with --follow: skip lines that are not contacts or are out of order, report each and count them",
    )

    def check_followed(self) -> None:
        """Raise an error if an option is missing that a complete list would not need."""
        if not isinstance(self.decay, float):
            raise UserError("--follow needs --decay RATE: a half-life follows only from a list that is complete")
        if self.nodes is None and self.metadata is None:
            raise UserError("--follow needs --nodes N or --metadata FILE: a spectrum has one number per node")
        if self.color_by is not None:
            raise UserError("--color-by is for figures, which --follow does not draw")

    def check_whole(self) -> None:
        """Raise an error for an option that requires ``--follow``."""
        for flag, given in (("--nodes", self.nodes is not None), ("--skip-bad", self.skip_bad)):
            if given:
                raise UserError(f"{flag} is for a list that grows: add --follow")


@dataclass(frozen=True, kw_only=True)
class GrowingContacts(EndlessOptions):
    """Options of ``contacts --follow``."""

    file: str = argument()
    reading: ContactReading = group(ContactReading, "what to read")
    monitoring: HostedMonitoring = group(HostedMonitoring, "what to watch it by")

    @property
    def metrics_host(self) -> str | None:
        """The address at which metrics are served; None: this machine only."""
        return self.monitoring.host

    def __post_init__(self) -> None:
        super().__post_init__()
        check_followed(self.file)
        self.reading.check_followed()
        address = address_in(self.file)
        is_lost = Path(self.file).is_fifo() if address is None else address.scheme == "mqtt"
        if self.recovering.checkpoint is not None and is_lost:
            problem = f"--checkpoint needs a list that can be read again from its start, which {self.file} cannot"
            raise UserError(f"{problem}: leave it out, or follow a file")


@dataclass(frozen=True, kw_only=True)
class ContactsOptions(WholeOptions):
    """Options of ``contacts``."""

    file: str = argument(metavar="FILE", help='the contacts; "-" is standard input')
    reading: ContactReading = group(ContactReading, "what to read")
    monitoring: HostedMonitoring = group(HostedMonitoring, "what to watch it by, with --follow")

    def __post_init__(self) -> None:
        if self.reading.follow:
            self._check_growing()
            return
        super().__post_init__()
        self.reading.check_whole()
        if self.monitoring.metrics is not None:
            raise UserError("--metrics is for a list that grows: add --follow")
        if self.reading.color_by is not None and self.figures.shade is not None:
            raise UserError("--color-by and --shade both say what colours the plot: leave out one")
        if self.reading.color_by is not None and self.figures.plot is None and self.figures.animate is None:
            raise UserError("--color-by is for figures: add --plot or --animate")

    def _check_growing(self) -> None:
        for name, value in (("online", self.online), ("novelty", self.novelty)):
            if value:
                raise UserError(f"--follow maps rows as they arrive, with their novelty: leave out {flag_of(name)}")
        for field in fields(Figures):
            if getattr(self.figures, field.name) != field.default:
                raise UserError(
                    f"{flag_of(field.name)} needs an end, which --follow does not have: leave out one of them"
                )
        self.growing()

    def growing(self) -> GrowingContacts:
        """Return the options of the run with ``--follow``."""
        return GrowingContacts(**{field.name: getattr(self, field.name) for field in fields(GrowingContacts)})


Options = ContactsOptions


def run(options: ContactsOptions, argv: Sequence[str]) -> int:
    """Carry out the command."""
    reading = options.reading
    if reading.follow:
        return map_endless(options.growing(), _growing_input(options.file, reading), argv)
    as_text = takes_text(options.coordinates.output) and takes_text(options.figures.landmarks_out)

    @contextlib.contextmanager
    def opened(current: Session, folder: Path, rejected: RejectedLines) -> Iterator[Table]:
        yield open_contacts(options.file, reading, as_text=as_text)

    source = Input(options.file, opened, list, {"metadata": reading.metadata}, hints=False)
    return map_whole(options, source, argv)


def _growing_input(file: str, reading: ContactReading) -> Input:
    """Return a growing list as the input of a run."""
    from driftmap.networks import ContactStream, read_nodes  # these take long to import

    nodes = None if reading.metadata is None else read_nodes(reading.metadata)
    n_nodes = reading.nodes or len(nodes or ())

    @contextlib.contextmanager
    def opened(current: Session, folder: Path, rejected: RejectedLines) -> Iterator[Table]:
        assert isinstance(reading.decay, float)
        with contextlib.closing(sources.open(file)) as rows:
            rows.waiting, rows.report = current.idle, rejected.report
            stream = ContactStream(
                rows,
                reading.decay,
                n_nodes,
                n_eigenvalues=reading.eigenvalues,
                columns=reading.columns,
                start=reading.start,
                nodes=nodes,
                rejected=rejected,
            )
            with contextlib.closing(stream):
                yield stream

    return Input(file, opened, list, {"metadata": reading.metadata}, skip_bad=reading.skip_bad, hints=False)


class ContactTable(ArrayTable):
    """The Laplacian spectra of the tie-decay network, one row per time with contacts, labelled ``t``."""

    labels_are_times = True

    def __init__(self, name: str, spectra: NDArray[Any], labels: NDArray[Any]) -> None:
        from driftmap.networks.stream import spectrum_columns

        names = spectrum_columns(spectra.shape[1])
        super().__init__(name, spectra, names, labels, "t")


def open_contacts(file: str, reading: ContactReading, *, as_text: bool) -> ContactTable:
    """Read contacts and compute their spectra; ``as_text``: times may be labelled by dates."""
    from driftmap.networks import laplacian_spectra, read_metadata  # these take long to import

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

        times, spectra = laplacian_spectra(
            contacts, decay, n_eigenvalues=reading.eigenvalues, n_jobs=-1, on_progress=count
        )
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
            if error.source is not None:  # the name of a copy of standard input means nothing to the user
                error.source = source.name
            raise


def _decay(contacts: Contacts, given: float | str | None) -> tuple[float, str]:
    """Return the rate of decay, and the reason for it."""
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
    """Return one line on the contacts that were read and the decay of ties."""
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
    """Return what colours the rows: the hour, the day, or the group of nodes with the strongest ties."""
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
