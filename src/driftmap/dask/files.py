"""Maps files to files: the output of each partition appears when it is complete."""

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
    """Within a task, write the coordinates of a partition's rows; return the facts about these rows.

    Without ``certify`` these are only their number. If a task runs twice, on two workers, both write the same bytes to
    separate temporary files, which are then renamed to the same name.
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
