"""Files in, files out: each partition is mapped to a file of its own, which appears only when it is complete."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftmap.dask.blocks import Partition
from driftmap.dask.tasks import Found, add, counted, facts_of, naming, nothing
from driftmap.storage.atomic import replacing
from driftmap.tables.writers import Column, ParquetWriter


def write(frozen: Any, part: Partition, target: str, names: Sequence[str], certify: bool) -> Found:
    """Within a task: write the coordinates of the rows of a partition, and return what is known of them then.

    Without ``certify`` that is only their number. A task may run twice, on two workers: both write the same bytes to
    files of their own, which then take the same name.
    """
    found = nothing(frozen)
    with naming(part.name), replacing(Path(target)) as file:
        writer = ParquetWriter(file, names)
        for first, block, labels in counted("mapping", part.source, part.name, part.rows):
            with naming(part.name, first):
                columns: list[Column] = [*([] if labels is None else [labels]), *frozen.transform(block).T]
                facts = facts_of(frozen, block) if certify else nothing(frozen)._replace(rows=len(block))
            writer.write(columns)
            found = add([found, facts])
        if not found.rows:
            writer.write([np.empty(0)] * len(names))
        writer.close()
    return found
