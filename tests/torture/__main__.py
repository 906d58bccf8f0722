"""Carry out cases for some minutes, or one of them again, and print what was tried and what failed."""

import argparse
import random
import sys
import time
from collections import Counter

from torture.worker import KINDS, Worker

COLUMNS = ("cases", "streams", "arrivals", "interrupts", "kills", "edits", "failures")


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def torture(minutes, seed, kinds):
    """Cases of all kinds in their shares of the time; what each kind counted."""
    rng, worker, counts = random.Random(seed), Worker(), {kind: Counter() for kind in kinds}
    begin, used = time.monotonic(), dict.fromkeys(kinds, 0.0)
    while time.monotonic() < begin + 60 * minutes:
        kind = min(kinds, key=used.__getitem__)
        name, start = f"{kind}-{rng.getrandbits(40)}", time.monotonic()
        found, failure = worker.run(name)
        used[kind] += (time.monotonic() - start) / KINDS[kind]
        counts[kind].update(found, failures=bool(failure))
        if failure:
            say(f"\nFAILED {name}\n{failure.rstrip()}\nagain: python -m tests.torture --case {name}\n")
    worker.close()
    return counts


def table(counts):
    """The counts as Markdown, with a row for each kind and one for all."""
    total = sum(counts.values(), Counter())
    rows = [["", *COLUMNS]] + [[kind, *(f"{found[name]:,}" for name in COLUMNS)] for kind, found in counts.items()]
    rows.append(["**all**", *(f"{total[name]:,}" for name in COLUMNS)])
    rows.insert(1, ["---", *["---:"] * len(COLUMNS)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, metavar="N", help="default: 30")
    parser.add_argument("--seed", type=int, default=None, metavar="S", help="of the cases (default: the clock)")
    parser.add_argument("--only", choices=KINDS, action="append", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--case", metavar="NAME", help="carry out this case again, for instance learning-17")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="how often, with --case (default: 1)")
    args = parser.parse_args()
    if args.case is not None:
        worker = Worker()
        failures = [failure for _ in range(args.times) if (failure := worker.run(args.case)[1])]
        worker.close()
        say("\n".join(failures[:1]) + f"{args.case}: {len(failures)} of {args.times} failed")
        return bool(failures)
    seed = time.time_ns() if args.seed is None else args.seed
    say(f"{args.minutes:g} minutes, seed {seed}")
    counts = torture(args.minutes, seed, args.only or list(KINDS))
    say("\n" + table(counts))
    return any(found["failures"] for found in counts.values())


if __name__ == "__main__":
    sys.exit(main())
