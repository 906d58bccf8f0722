"""The outputs of a run: coordinates to a file, standard output or a sink; alerts; figures; landmarks."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from driftmap.cli.errors import note
from driftmap.cli.files import StandardOutput
from driftmap.cli.groups import PAGE_SUFFIX, Figures
from driftmap.cli.progress import Progress
from driftmap.cli.session import Session
from driftmap.cli.writing import Alerts, Coordinates, Landmarks, Layout, Sent, axis_names, distinct
from driftmap.map import StreamMap
from driftmap.sources.brokers import open_sink
from driftmap.tables.formats import new_writer, output_format
from driftmap.tables.table import Table
from driftmap.utils.validation import LIMITS

N_PICTURES = 100
"""Approximate number of pictures in an animation."""
Files = Mapping[str, BinaryIO]
"""Open outputs, by option."""


def suffix(path: Path) -> str:
    """Return the suffix of a file in lower case."""
    return path.suffix.lower()


def takes_text(path: Path | None) -> bool:
    """Return True if an output can hold labels that are text; None is standard output."""
    return path is None or output_format(path).holds_text


def write_coordinates(current: Session, file: BinaryIO, path: Path, layout: Layout, *, row_by_row: bool) -> None:
    """Write coordinates to a file."""
    writer = new_writer(path, file, layout.names("the output"))
    current.observers.append(Coordinates(writer, layout, file.flush if row_by_row else None))


def print_coordinates(
    current: Session,
    stack: contextlib.ExitStack,
    layout: Layout,
    kind: str | None,
    *,
    alone: bool,
    immediately: bool,
) -> None:
    """Write coordinates to standard output; ``alone``: the run ends when its reader closes the pipe."""
    continued = current.saver is not None and current.saver.state.position is not None
    output = StandardOutput(
        layout.names("the output"), alone=alone, flushes=immediately, kind=kind or "csv", continued=continued
    )
    stack.callback(output.send)
    current.observers.append(Coordinates(output, layout))


def send(current: Session, stack: contextlib.ExitStack, address: str, layout: Layout) -> None:
    """Send coordinates, novelty and alerts to a broker."""
    sink = stack.enter_context(contextlib.closing(open_sink(address)))
    sink.report = note
    sink.waiting = current.stop_midway
    current.observers.append(Sent(sink, layout))


def write_alerts(current: Session, file: BinaryIO | None) -> None:
    """Write alerts and drifts to a file, or to standard error."""
    current.observers.append(Alerts(file))


def write_landmarks(
    current: Session, file: BinaryIO, path: Path, layout: Layout, table: Table, columns: Sequence[str]
) -> None:
    """Write the landmarks at the end."""
    with_label = (table.labels_are_times or takes_text(path)) and table.label not in columns
    label = layout.label_names if with_label else []
    theirs, ours = distinct("the landmarks", [*label, *columns], ["arrival", "mass", *axis_names(layout.components)])
    writer = new_writer(path, file, [*ours, *theirs])
    current.observers.append(Landmarks(writer, with_label=with_label))


def draw(
    current: Session,
    files: Files,
    figures: Figures,
    table: Table,
    columns: Sequence[str],
    mapper: StreamMap,
    *,
    online: bool,
) -> None:
    """Draw a figure, a page and a film at the end."""
    if figures.plot is None and figures.animate is None:
        return
    from driftmap.cli.pictures import Animation, Page, Picture, Subject, when_it_came  # plotting is slow to import

    subject = Subject.of(table, columns)._replace(limits=figures.limits or LIMITS[0])
    titled = subject._replace(title=when_it_came(subject.title)) if online else subject
    if figures.plot is not None:
        kind = suffix(figures.plot)
        file = files["plot"]
        page = kind == PAGE_SUFFIX
        current.observers.append(
            Page(file, titled, shade=figures.shade) if page else Picture(file, kind, titled, shade=figures.shade)
        )
    if figures.animate is not None:
        n_frames = figures.animate_frames or N_PICTURES
        current.observers.append(Animation(files["animate"], suffix(figures.animate), subject, mapper, n_frames))


def show_progress(current: Session, stack: contextlib.ExitStack) -> None:
    """Show a progress bar on a terminal."""
    if sys.stderr is not None and sys.stderr.isatty():
        current.observers.append(stack.enter_context(contextlib.closing(Progress())))
