"""What ``driftmap embed`` refuses before anything is read: options that do not go together, files that are the same."""

from __future__ import annotations

import argparse
import contextlib
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from driftmap.cli.checkpointing import spool_path
from driftmap.cli.errors import UserError
from driftmap.cli.options import PAGE_SUFFIX
from driftmap.io.addresses import is_address
from driftmap.io.atomic import partial
from driftmap.io.brokers import parse
from driftmap.io.paths import OutputPath, identity, output_path
from driftmap.io.readers import BINARY, COMPRESSIONS
from driftmap.io.writers import TABLE_SUFFIXES, TEXT_SUFFIXES


def check(args: argparse.Namespace) -> None:
    """Refuse whatever can be refused before anything is read."""
    _check_mapping(args)
    _check_writing(args)
    if args.follow:
        _check_follow(args)
    if args.checkpoint is not None:
        _check_interrupting(args)
    elif args.resume or args.checkpoint_every is not None:
        option = "--resume" if args.resume else "--checkpoint-every"
        raise UserError(f"{option} needs to know the checkpoint: add --checkpoint FILE")
    if (args.plot is not None and args.plot.suffix.lower() != PAGE_SUFFIX) or args.animate is not None:
        from driftmap.plot import require_matplotlib  # not before: plotting is slow to import

        require_matplotlib()
    if args.animate is not None and args.animate.suffix.lower() == ".mp4":
        from driftmap.plot.animation import require_ffmpeg

        require_ffmpeg()


def _check_mapping(args: argparse.Namespace) -> None:
    if args.warm_up is not None and not (args.normalize != "none" and (args.online or args.follow)):
        raise UserError("--warm-up is for a running --normalize: add --online or --follow")
    if args.every is not None and (args.delay is None or args.every >= args.delay):
        raise UserError("--every says which of the last rows of --delay are taken: give a --delay that is larger")
    if args.steadiness and (args.embedding != "stress" or args.components == 1):
        raise UserError("--steadiness is for --embedding stress, in two or more dimensions")
    if args.landmarks == "auto":
        for name in ("online", "follow", "checkpoint"):
            if getattr(args, name):
                problem = f"--landmarks auto needs a pass of its own, which does not go with --{name}"
                raise UserError(f"{problem}: run it without, then give the number that it prints")
    if args.thousands and args.thousands == args.decimal:
        raise UserError(f"--thousands and --decimal cannot both be {args.decimal!r}")
    for name in ("decay", "metadata", "start", "color_by"):
        if getattr(args, name) is not None and not args.contacts:
            raise UserError(f"--{name.replace('_', '-')} is for lists of contacts: add --contacts")
    if args.color_by is not None and args.shade is not None:
        raise UserError("--color-by and --shade both say what colours the plot: leave out one")
    if args.color_by is not None and args.plot is None and args.animate is None:
        raise UserError("--color-by is for figures: add --plot or --animate")
    binary = args.file != "-" and Path(args.file).suffix.lower() in BINARY
    if args.skip_bad and (args.contacts or binary):
        raise UserError("--skip-bad is for lines of text: CSV, TSV or JSON lines")
    if args.contacts and args.label is not None:
        raise UserError("--label is for tables; for contacts, --color-by says what colours them")
    for name in ("exclude", "missing", "delay", "thousands"):
        if args.contacts and getattr(args, name):
            raise UserError(f"--{name} is for tables, not for --contacts")
    if args.metric == "precomputed":
        raise UserError("--metric precomputed is for distances, which a table of rows does not hold")


def _check_writing(args: argparse.Namespace) -> None:
    if args.output is not None and args.output.suffix.lower() not in TABLE_SUFFIXES:
        listed = f"{', '.join(TABLE_SUFFIXES[:-1])} or {TABLE_SUFFIXES[-1]}"
        raise UserError(f"-o {str(args.output)!r} must end in {listed}; it is a folder only with --dask")
    if args.certify:
        raise UserError("--certify is for --dask")
    if sys.stdout is None and (args.output is None or args.json):
        raise UserError("standard output is closed: add -o, and leave out --json")
    if args.novelty and args.json and args.output is None:
        raise UserError("--novelty adds columns to the coordinates, which --json writes only to -o")
    if args.format is not None and args.output is not None:
        raise UserError("--format is for standard output; the suffix of -o says the format of the file")
    if args.format is not None and args.json:
        raise UserError("--format is for coordinates on standard output, which --json leaves out")
    if args.shade is not None and args.plot is None:
        raise UserError("--shade is for figures: add --plot")
    if args.online and args.landmarks_out is not None and (args.window or args.half_life):
        raise UserError(
            "--landmarks-out needs the rows of all landmarks, which --online does not store where rows are forgotten; "
            "leave out one of them"
        )
    if args.alerts is not None and args.alert is None:
        raise UserError("--alerts needs to know which rows are worth an alert: add --alert")
    if args.sink is not None:
        if not (args.online or args.follow):
            raise UserError("--sink sends rows as they arrive: add --online or --follow")
        parse(args.sink)
    if args.animate_frames is not None and args.animate is None:
        raise UserError("--animate-frames is for animations: add --animate")


def resolve_files(args: argparse.Namespace, outputs: Iterable[str]) -> dict[str, OutputPath]:
    """Resolve the paths of all outputs once, those of the checkpoint and the recording in place, and return the others.

    An output that is an input or another output, under whatever names, is an error.
    """
    files = {name: output_path(getattr(args, name)) for name in outputs if getattr(args, name) is not None}
    written: list[tuple[str, OutputPath | Path]] = [
        ("-o" if name == "output" else f"--{name.replace('_', '-')}", path) for name, path in files.items()
    ]
    if vars(args).get("record") is not None:
        args.record = output_path(args.record)
        written.append(("--record", args.record))
    if args.checkpoint is not None:
        args.checkpoint = output_path(args.checkpoint)
        _check_continuable([args.checkpoint, *files.values()])
        written.append(("--checkpoint", args.checkpoint))
        written += [(f"the unfinished file of {path}", partial(path)) for path in files.values()]
        written.append(("the scores of --checkpoint", spool_path(args.checkpoint)))
    used = {_standard(sys.stdin) if args.file == "-" else identity(Path(args.file)): "the input"}
    if args.metadata is not None:
        used.setdefault(identity(args.metadata), "--metadata")
    for option, place in written:
        other = used.setdefault(identity(place), option)
        if other != option:
            raise UserError(f"{option} ({place}) is the same file as {other}: name another")
    if (shared := used.get(_standard(sys.stdout))) is not None:
        raise UserError(f"standard output is the same file as {shared}: name another")
    return files


def _check_continuable(paths: Iterable[OutputPath]) -> None:
    for path in paths:
        if path.is_stream:
            raise UserError(f"{path}: it is not a file, and a run with --checkpoint could not go on with it")


def _standard(stream: Any) -> tuple[int | str, ...]:
    """The identity of the file that a standard stream was redirected to or from, if it is one."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        found = os.fstat(stream.fileno())
        if stat.S_ISREG(found.st_mode):
            return found.st_dev, found.st_ino
    return (repr(stream),)


def _check_follow(args: argparse.Namespace) -> None:
    for name in ("contacts", "plot", "animate", "landmarks_out"):
        if getattr(args, name):
            raise UserError(f"--{name.replace('_', '-')} needs all rows, but --follow never has them; leave out one")
    if is_address(args.file):
        parse(args.file)
    elif args.file != "-" and Path(args.file).suffix.lower() in (*BINARY, *COMPRESSIONS):
        raise UserError(f"{args.file} cannot be followed: --follow is for lines of text (CSV, TSV, JSON lines)")
    if args.output is not None and args.output.suffix.lower() not in TEXT_SUFFIXES:
        raise UserError(f"-o {args.output} cannot be written row by row: --follow writes .csv, .jsonl or .ndjson")
    if args.json and args.output is None:
        raise UserError("--follow with --json would write no coordinates: add -o")


def _check_interrupting(args: argparse.Namespace) -> None:
    if args.animate is not None:
        raise UserError("--animate cannot be interrupted: leave it out, or leave out --checkpoint")
    if args.output is None and not args.json and not args.follow:
        raise UserError(
            "--checkpoint needs -o: standard output cannot be taken back to where it was when the state was saved"
        )
    if args.online or args.follow:
        for name in ("plot", "landmarks_out"):
            if getattr(args, name) is not None:
                raise UserError(
                    f"--{name.replace('_', '-')} with --online cannot be interrupted: leave it out, or leave out "
                    "--checkpoint"
                )
        if args.output is not None and args.output.suffix.lower() == ".parquet":
            raise UserError(
                "a Parquet file cannot be continued after an interruption: with --online and --checkpoint, write .csv, "
                ".jsonl, .ndjson or .npy"
            )
