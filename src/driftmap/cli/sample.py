"""``driftmap sample``: small generated files to try commands on."""

from __future__ import annotations

import argparse
from pathlib import Path

from driftmap.cli.arguments import Parser
from driftmap.cli.errors import UserError
from driftmap.cli.files import new_file, writing
from driftmap.utils.columns import suggestion

DESCRIPTION = """\
Write a small generated file on which the other commands can be tried. Without a name, list what there is. The files are
invented, the same each time, and under no licence.

examples:
  driftmap sample
  driftmap sample prices
  driftmap sample contacts -o school.tsv
"""


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="which one; without, list them")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: its usual name, in this folder")


def run(args: argparse.Namespace) -> int:
    """Carry out the command."""
    from driftmap.datasets.samples import SAMPLES

    if args.name is None:
        if args.output is not None:
            raise UserError(f"-o needs to know what to write: name one of {', '.join(SAMPLES)}")
        width = max(map(len, SAMPLES))
        for name, sample in SAMPLES.items():
            print(f"{name:<{width}}  {sample.file}: {sample.about} (generated)")
        return 0
    if args.name not in SAMPLES:
        raise UserError(
            f"there is no sample {args.name!r}{suggestion(args.name, SAMPLES)}; name one of {', '.join(SAMPLES)}"
        )
    sample = SAMPLES[args.name]
    path = Path(sample.file) if args.output is None else args.output
    if path.suffix.lower() != Path(sample.file).suffix:
        raise UserError(f"-o {str(path)!r} must end in {Path(sample.file).suffix}")
    content = sample.make()
    if path.is_file() and path.read_bytes() != content:
        raise UserError(f"{path} exists and is another file: name another with -o")
    with new_file(path) as file, writing():
        file.write(content)
    print(f"{path}: {sample.about} (generated)")
    return 0
