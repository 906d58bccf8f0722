"""Generates the input tables of the cases, with the same bytes each time."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

N, NAMES = 600, ["a", "b", "c", "d"]


def write_inputs(folder: Path) -> None:
    """Write every input file."""
    rng = np.random.default_rng(31)
    walk = np.cumsum(rng.standard_normal((N, 4)), axis=0).round(6)
    days = (np.datetime64("2021-01-01") + np.arange(N)).astype(str).tolist()
    kinds = np.array(["red", "green", "blue"])[np.arange(N) // 50 % 3].tolist()
    rows = cells(walk)
    csv = lines(",".join(NAMES), rows)
    gaps = np.where(rng.random(walk.shape) < 0.05, np.nan, walk)
    gaps[:, 3] = walk[:, 3]
    jumps = walk.copy()
    jumps[[300, 450]] += 200.0
    clusters = (rng.standard_normal((N, 16)) + 8 * rng.standard_normal((6, 16))[np.arange(N) % 6]).round(5)
    turns = np.linspace(1.0, 4.0, N)
    spiral = np.column_stack([turns * np.cos(3 * turns), turns * np.sin(3 * turns), rng.random(N)])
    german = [";".join(f"{1000 * x:_.3f}".replace(".", ",").replace("_", ".") for x in row) for row in walk.tolist()]
    odd = rows[:300] + ["1,2,3", "x,1,2,3", "1,nan,2,3", "", "1,2,3,1e200"] + rows[300:]
    dated = [{"day": day, **dict(zip(NAMES, row, strict=True))} for day, row in zip(days, walk.tolist(), strict=True)]
    texts = {
        "walk.csv": csv,
        "walk.tsv": csv.replace(",", "\t"),
        "walk.jsonl": lines(*map(json.dumps, dated)),
        "arrays.jsonl": lines(*map(json.dumps, walk.tolist())),
        "bare.csv": lines(*rows),
        "crlf.csv": csv.replace("\n", "\r\n"),
        "years.csv": lines("2020,2021,2022,2023", rows),
        "dated.csv": lines("day,kind,a,b,c,d", [",".join(t) for t in zip(days, kinds, rows, strict=True)]),
        "german.csv": lines(";".join(NAMES), german),
        "gaps.csv": lines(",".join(NAMES), [",".join("" if x != x else repr(x) for x in row) for row in gaps.tolist()]),
        "jumps.csv": lines("day,a,b,c,d", [f"{day},{row}" for day, row in zip(days, cells(jumps), strict=True)]),
        "odd.csv": lines(",".join(NAMES), odd),
        "first.csv": lines(",".join(NAMES), rows[:300]),
        "rest.csv": lines(*rows[300:]),
        "constant.csv": lines("a,b,c", [f"{row},5" for row in (r.rsplit(",", 2)[0] for r in rows)]),
        "line.csv": lines("a,b,c", [f"{x!r},{2 * x!r},{-x!r}" for x in walk[:, 0].tolist()]),
        "clusters.csv": lines(",".join(f"f{i}" for i in range(16)), cells(clusters)),
        "scales.csv": lines("small,large", [f"{x / 100!r},{1000 * y!r}" for x, y in walk[:, :2].tolist()]),
        "met.csv": lines("time,source,target,weight", meetings(rng)),
        "met.txt": lines(*[line.rsplit(",", 1)[0].replace(",", " ") for line in meetings(rng)]),
        "people.csv": lines("id,role", [f"p{i},{['nurse', 'patient'][i % 2]}" for i in range(12)]),
        # mistakes
        "empty.csv": "",
        "ragged.csv": "a,b\n1,2\n3\n",
        "word.csv": "a,b\n1,2\n3,4\n5,x\n",
        "broken.jsonl": '{"a":1}\n{"a":\n',
        "pickle.npz": "PK",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text, newline="")
    (folder / "walk.csv.gz").write_bytes(gzip.compress(csv.encode(), mtime=0))
    (folder / "walk.jsonl.gz").write_bytes(gzip.compress(texts["walk.jsonl"].encode(), mtime=0))
    (folder / "walk.csv.zst").write_bytes(pa.compress(csv.encode(), codec="zstd", asbytes=True))
    for name, array in {"walk": walk, "single": walk.astype(np.float32), "spiral": spiral, "gaps": gaps}.items():
        np.save(folder / f"{name}.npy", array)
    table = pa.table({"day": np.array(days, "datetime64[D]"), "kind": kinds, **dict(zip(NAMES, walk.T, strict=True))})
    pq.write_table(table, folder / "walk.parquet", row_group_size=150)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(clusters.astype(np.float32).ravel()), 16)
    pq.write_table(pa.table({"id": np.arange(N), "vector": vectors}), folder / "vectors.parquet")
    with pa.ipc.new_file(folder / "walk.arrow", table.schema) as writer:
        writer.write_table(table, 200)
    feather.write_feather(table, folder / "walk.feather")
    (folder / "parts").mkdir()
    for i in range(3):
        pq.write_table(table[200 * i : 200 * (i + 1)], folder / "parts" / f"part-{i}.parquet")


def cells(rows: np.ndarray) -> list[str]:
    """Return rows of numbers as lines of CSV."""
    return [",".join(map(repr, row)) for row in rows.tolist()]


def lines(*texts: str | list[str]) -> str:
    """Join lines of text, each with a newline."""
    return "".join(f"{line}\n" for text in texts for line in ([text] if isinstance(text, str) else text))


def meetings(rng: np.random.Generator) -> list[str]:
    """Return contacts of two groups of people that meet alternately, in seconds."""
    times = np.arange(0, 8000, 20)
    pairs = [rng.choice(np.arange(7) + 5 * (t // 2000 % 2), 2, replace=False) for t in times]
    return [f"{t},p{i},p{j},{1 + t % 3}" for t, (i, j) in zip(times.tolist(), pairs, strict=True)]
