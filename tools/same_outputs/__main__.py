"""Record or compare the outputs of all cases.

    python -m tools.same_outputs --write tools/same_outputs/digests.json
    python -m tools.same_outputs --compare tools/same_outputs/digests.json --python ../other/.venv/bin/python

The digests depend on the processor and on the versions of NumPy, matplotlib and other libraries: record and compare on
the same machine. With DRIFTMAP_DATA, a folder of recorded data, the experiments on these data are compared, too.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.same_outputs.cases import Case, all_cases
from tools.same_outputs.inputs import write_inputs
from tools.same_outputs.running import Checkout, root_of, run, write_programs

Digests = dict[str, dict[str, str]]


def main() -> int:
    """Run the cases; return exit status 1 if there are differences."""
    args = parse()
    cases = [case for case in all_cases() if fnmatch.fnmatchcase(case.key, f"*{args.only}*")]
    skipped = [case for case in cases if case.needs_data and "DRIFTMAP_DATA" not in os.environ]
    cases = [case for case in cases if case not in skipped]
    begin = time.monotonic()
    found = run_all(cases, args)
    commands = sum(case.kind == "command" for case in cases)
    seconds = time.monotonic() - begin
    print(f"{commands} commands and {len(cases) - commands} scripts, {seconds:.0f} s")
    if skipped:
        print(f"not run, since DRIFTMAP_DATA is not set: {', '.join(case.name for case in skipped)}")
    if args.write is not None:
        write(args.write, found)
    if args.compare is None:
        return 0
    recorded = json.loads(args.compare.read_text())
    wanted = {case.key for case in cases} if args.only else {*recorded} - {case.key for case in skipped}
    lines = differences({key: recorded[key] for key in wanted & {*recorded}}, found)
    print("\n".join(lines) if lines else "no differences")
    return bool(lines)


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.same_outputs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the digests to this file")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="report differences from these digests")
    parser.add_argument("--only", default="", metavar="PATTERN", help="cases with this in their names (* and ?)")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that imports the checkout to run")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="cases at a time (default: 2)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the outputs of each case in its own folder")
    parser.add_argument("--verbose", action="store_true", help="show status, seconds and standard error of each case")
    args = parser.parse_args()
    args.python = str(Path(args.python).absolute()) if os.sep in args.python else args.python
    return args


def run_all(cases: list[Case], args: argparse.Namespace) -> Digests:
    """Run all cases; return their digests by key."""
    with tempfile.TemporaryDirectory(prefix="same-outputs-") as name, ThreadPoolExecutor(args.jobs) as pool:
        checkout = Checkout(args.python, root_of(args.python), Path(name, "programs"), Path(name, "inputs"))
        for folder in (checkout.programs, checkout.inputs):
            folder.mkdir()
        print(f"programs: {', '.join(write_programs(checkout))}")
        write_inputs(checkout.inputs)

        def one(case: Case) -> dict[str, str]:
            folder = Path(args.keep or name, case.key).absolute()
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            begin = time.monotonic()
            found, err = run(case, checkout, folder)
            if args.verbose:
                files = [output for output in found if output not in ("status", "stdout")]
                seconds = f"{time.monotonic() - begin:.1f} s"
                print(f"-- {case.key}: status {found['status']}, {seconds}, {files}\n{err}", flush=True)
            if not args.keep:
                shutil.rmtree(folder)
            return found

        return {case.key: found for case, found in zip(cases, pool.map(one, cases), strict=True)}


def write(path: Path, found: Digests) -> None:
    """Write the digests, one line per case."""
    lines = [f"{json.dumps(key)}: {json.dumps(found[key])}" for key in sorted(found)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def differences(recorded: Digests, found: Digests) -> list[str]:
    """Return a line for each case that differs."""
    lines = []
    for key in sorted({*recorded, *found}):
        if key not in found:
            lines.append(f"{key}: was not run")
        elif key not in recorded:
            lines.append(f"{key}: is not recorded")
        else:
            before, now = recorded[key], found[key]
            if before.get("status") != now["status"]:
                lines.append(f"{key}: status {before.get('status')} -> {now['status']}")
            names = [name for name in sorted({*before, *now}) if name != "status" and before.get(name) != now.get(name)]
            lines += [f"{key}: {name} {change(before.get(name), now.get(name))}" for name in names]
    return lines


def change(before: str | None, now: str | None) -> str:
    """Describe how an output differs."""
    return "is missing" if now is None else "is new" if before is None else "differs"


if __name__ == "__main__":
    sys.exit(main())
