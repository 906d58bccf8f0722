"""Damaged addresses with a password, in the library and in all places of a command line: nothing shows the password."""

from addresses import MARK, POSITIONS, damaged, written


def run(case):
    for _ in range(20):
        url, position = damaged(case.rng), case.rng.choice(POSITIONS)
        assert MARK not in written(url, position, case.folder), (url, position)
        case.count(edits=1)
