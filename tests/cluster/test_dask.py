"""Maps of dask collections: a function of rows, leaves and fan-in; errors that name the partition."""

import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest

pytest.importorskip("dask", reason="dask is not installed")

import dask
import dask.array as da
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from dask.delayed import delayed

from driftmap import DriftMap, InputError, OnlineLandmarks
from driftmap import dask as on_dask
from driftmap.cli import cluster
from driftmap.cli.errors import OPTION_ADVICE, UserError, one_line
from driftmap.dask import blocks
from driftmap.dask.files import write
from driftmap.storage.atomic import replacing
from streams import facts, make

X = make("walk", 1200, 4, seed=0)


@pytest.fixture(autouse=True)
def _no_cluster():
    with dask.config.set(scheduler="synchronous"):
        yield


def collections(folder):
    """The same rows, in the same partitions, in every form."""
    frame = pd.DataFrame(X, columns=list("abcd"))
    for i in range(6):
        frame[200 * i : 200 * (i + 1)].to_parquet(folder / f"part-{i}.parquet")
    return {
        "array": da.from_array(X, chunks=(200, 2)),
        "dataframe": dd.from_pandas(frame, chunksize=200),
        "blocks": [delayed(X[i : i + 200]) for i in range(0, 1200, 200)],
        "folder": folder,
    }


@pytest.mark.parametrize("form", ["array", "dataframe", "blocks", "folder"])
@pytest.mark.parametrize("fan_in", [2, 3])
def test_every_form_gives_the_same_landmarks(form, fan_in, tmp_path):
    fitted = on_dask.fit(
        OnlineLandmarks(5, memory=80), collections(tmp_path)[form], partitions_per_leaf=1, fan_in=fan_in
    )
    parts = [OnlineLandmarks(5, memory=80).fit(part) for part in np.split(X, 6)]
    while len(parts) > 1:
        parts = [parts[i].merge(*parts[i + 1 : i + fan_in]) for i in range(0, len(parts), fan_in)]
    assert facts(fitted) == facts(parts[0])
    assert fitted.distances(X).min(axis=1).max() <= fitted.coverage_bound_


def test_a_fit_on_a_cluster_starts_without_a_frame(tmp_path):
    mapper = on_dask.fit(DriftMap(n_landmarks=5, memory=80), collections(tmp_path)["array"])
    assert mapper._engine.given_frame() is None
    assert (mapper.frame_, mapper.frames_) == (1, [])


@pytest.mark.parametrize("form", ["array", "dataframe", "folder"])
def test_leaves_have_a_million_rows_so_that_a_small_collection_is_one_pass(form, tmp_path, monkeypatch):
    collection, single = collections(tmp_path)[form], facts(OnlineLandmarks(5, memory=80).fit(X))
    assert facts(on_dask.fit(OnlineLandmarks(5, memory=80), collection)) == single
    monkeypatch.setattr(blocks, "LEAF_ROWS", 500)
    assert [len(leaf) for leaf in blocks.leaves(blocks.partitions(collection), None)] == [3, 3]
    assert facts(on_dask.fit(OnlineLandmarks(5, memory=80), collection)) != single
    monkeypatch.setattr(blocks, "LEAF_ROWS", 1)
    monkeypatch.setattr(blocks, "MOST_LEAVES", 3)
    assert [len(leaf) for leaf in blocks.leaves(blocks.partitions(collection), None)] == [2, 2, 2]


def test_places_are_lazy_and_keep_their_form(tmp_path):
    forms = collections(tmp_path)
    mapper = DriftMap(n_landmarks=20).fit(X)
    expected = mapper.transform(X)
    lazy = on_dask.transform(mapper, forms["array"])
    assert lazy.chunks == ((200,) * 6, (2,))
    assert np.array_equal(lazy.compute(), expected)
    assert np.array_equal(on_dask.transform(mapper.freeze(), forms["array"]).compute(), expected)
    index = pd.Index(np.arange(1200) * 3, name="when")
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd"), index=index), npartitions=6)
    placed = on_dask.transform(mapper, frame).compute()
    assert placed.index.equals(index)
    assert list(placed.columns) == ["driftmap0", "driftmap1"]
    assert np.array_equal(placed.to_numpy(), expected)
    assert np.array_equal(np.concatenate(dask.compute(*on_dask.transform(mapper, forms["blocks"]))), expected)
    fitted = on_dask.fit_transform(DriftMap(n_landmarks=20), forms["array"])
    assert np.array_equal(fitted.compute(), expected)


def test_estimators_delegate_instead_of_loading_everything():
    array = da.from_array(X, chunks=(200, 4))
    mapper = DriftMap(n_landmarks=20).fit(array)
    assert facts(mapper) == facts(DriftMap(n_landmarks=20).fit(X))
    assert isinstance(mapper.transform(array), da.Array)
    more = DriftMap(n_landmarks=20).partial_fit(X[:100]).partial_fit(array)
    assert facts(more) == facts(DriftMap(n_landmarks=20).fit(np.concatenate([X[:100], X])))


def test_a_second_pass_certifies(tmp_path):
    mapper = on_dask.fit(DriftMap(n_landmarks=5, memory=80), collections(tmp_path)["array"], partitions_per_leaf=2)
    frozen = mapper.freeze()
    certified = on_dask.certify(frozen, da.from_array(X, chunks=(500, 4)))
    distances = frozen.distances(X)
    exact = distances.min(axis=1).max()
    assert certified.covering_radius_ == exact <= certified.coverage_bound_ <= frozen.coverage_bound_
    assert certified.coverage_bound_ == pytest.approx(exact, rel=1e-9)  # rounded outward
    assert certified.landmark_mass_.tolist() == np.bincount(distances.argmin(axis=1), minlength=5).tolist()
    assert certified.n_samples_seen_ == 1200
    assert certified.certified
    assert not frozen.certified
    assert pickle.loads(pickle.dumps(certified)).certified


@pytest.mark.parametrize("kind", ["array", "delayed", "files"])
def test_certify_refuses_partitions_that_shrank(tmp_path, kind):
    parts = np.split(X, 6)

    def collection():
        if kind == "array":
            return da.concatenate([da.from_array(part) for part in parts])
        if kind == "delayed":
            return [delayed(part) for part in parts]
        for i, part in enumerate(parts):
            pd.DataFrame(part, columns=list("abcd")).to_parquet(tmp_path / f"{i}.parquet")
        return tmp_path

    mapper = on_dask.fit(DriftMap(n_landmarks=5, memory=80), collection())
    assert on_dask.certify(mapper, collection()).certified
    parts[3] = parts[3][:150]
    with pytest.raises(InputError, match="X has 1,150 rows, but the map has learnt 1,200: it must be the same data"):
        on_dask.certify(mapper, collection())


def test_a_file_that_shrank_since_it_was_counted_is_named(tmp_path):
    for name in ("a", "b"):
        pd.DataFrame(X, columns=list("abcd")).to_parquet(tmp_path / f"{name}.parquet")
    mapper, parts = DriftMap(n_landmarks=5, memory=80), blocks.parquet_files(sorted(tmp_path.glob("*.parquet")))
    frozen = on_dask.fit(mapper, parts).freeze()
    (tmp_path / "out").mkdir()
    pd.DataFrame(X[:1000], columns=list("abcd")).to_parquet(tmp_path / "b.parquet")
    for work in (
        lambda: on_dask.fit(mapper, parts),
        lambda: on_dask.certify(frozen, parts),
        lambda: on_dask.embed(frozen, parts, tmp_path / "out", ["x1", "x2"], certify=False),
    ):
        with pytest.raises(on_dask.PartitionError, match=r"b.parquet has 1,000 rows, but had 1,200 when"):
            work()
    assert not (tmp_path / "out" / "b.parquet").exists()


def test_rows_are_counted_through_the_pieces_of_a_partition():
    rows = np.zeros((9000, 4))
    rows[:1200] = X
    rows[8765, 3] = np.inf
    frozen = DriftMap(n_landmarks=5).fit(X).freeze()
    with pytest.raises(on_dask.PartitionError, match="partition 1, row 8765, column 3 is inf") as caught:
        on_dask.certify(frozen, [delayed(X), delayed(rows)])
    assert (caught.value.source, caught.value.row, caught.value.column) == ("partition 1", 8765, 3)


def bad(kind):
    parts = np.split(X.copy(), 6)
    if kind == "nan":
        parts[3][17, 2] = np.nan
    elif kind == "width":
        parts[3] = parts[3][:, :3]
    elif kind == "text":
        parts[3] = np.full((5, 4), "a")
    return [delayed(part) for part in parts]


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        ("nan", "partition 3, row 17, column 2 is NaN"),
        ("width", "partition 3: X has 3 features"),
        ("text", "partition 3, row 0, column 0 is 'a'"),
    ],
)
@pytest.mark.parametrize("what", ["fit", "transform", "certify"])
def test_errors_name_the_partition_and_the_row(kind, match, what):
    mapper = DriftMap(n_landmarks=5, memory=80)
    with pytest.raises(on_dask.PartitionError, match=match):
        if what == "fit":
            on_dask.fit(mapper, bad(kind), partitions_per_leaf=2)
        elif what == "transform":
            dask.compute(*on_dask.transform(mapper.fit(X), bad(kind)))
        else:
            on_dask.certify(mapper.fit(X).freeze(), bad(kind))


def test_advice_is_in_the_words_of_those_who_read_it(tmp_path):
    """Files are read by the code that reads them for the command line, whose options mean nothing in Python."""
    pq.write_table(pa.table({"a": [1.0, np.nan], "b": [1.0, 2.0]}), tmp_path / "x.parquet")
    with pytest.raises(on_dask.PartitionError) as caught:
        on_dask.fit(OnlineLandmarks(5, memory=80), tmp_path / "x.parquet")
    error = pickle.loads(pickle.dumps(caught.value))  # as it comes from a worker
    problem = f"{tmp_path / 'x.parquet'}, row 2, column 'a' is NaN"
    assert str(error) == f"{problem}; fill such entries first, or leave out such rows or the column"
    assert one_line(error) == f"{problem}; {OPTION_ADVICE['missing']}"
    with pytest.raises(UserError) as refused, cluster._failures():  # which refuses --missing
        raise error
    assert one_line(refused.value) == str(error)


def test_empty_partitions_are_passed_over():
    parts = [delayed(part) for part in (X[:0], X[:500], X[:0], X[500:], X[:0])]
    fitted = on_dask.fit(OnlineLandmarks(5, memory=80), parts, partitions_per_leaf=1)
    parts = [OnlineLandmarks(5, memory=80).fit(part) for part in (X[:500], X[500:])]
    assert facts(fitted) == facts(parts[0].merge(parts[1]))
    with pytest.raises(ValueError, match="has no rows"):
        on_dask.fit(OnlineLandmarks(5), [delayed(X[:0])])


def test_leaves_without_rows_change_nothing_whether_that_is_known_or_not():
    parts = [X[:0], X[:300], X[300:300], X[300:700], X[700:900], X[:0], X[900:]]
    unknown = blocks.partitions([delayed(part) for part in parts])
    known = [one._replace(rows=len(part)) for one, part in zip(unknown, parts, strict=True)]
    options = {"partitions_per_leaf": 1, "fan_in": 3}
    found = [facts(on_dask.fit(OnlineLandmarks(5, memory=80), each, **options)) for each in (known, unknown)]
    first, second, third, fourth = (OnlineLandmarks(5, memory=80).fit(part) for part in parts if len(part))
    assert found[0] == found[1] == facts(first.merge(second.merge(third), fourth))


def test_blocks_are_computed_in_the_task_that_learns_them():
    made, most = [], 0

    def block(i):
        nonlocal most
        rows = X[100 * i : 100 * (i + 1)].copy()
        made.append(weakref.ref(rows))
        most = max(most, sum(ref() is not None for ref in made))
        return rows

    lazy = [delayed(block)(i) for i in range(12)]
    with dask.config.set(scheduler="threads", num_workers=4):
        fitted = on_dask.fit(OnlineLandmarks(5, memory=80), lazy, partitions_per_leaf=12)
    assert facts(fitted) == facts(OnlineLandmarks(5, memory=80).fit(X))
    assert (len(made), most) == (12, 1)  # one after the other
    half = delayed(np.split)(X, 2)  # of which both blocks are made: it is computed once
    shared = [delayed(list.__getitem__)(half, i) for i in range(2)]
    assert not any(isinstance(part.source, blocks.Recipe) for part in blocks.partitions(shared))
    assert facts(on_dask.fit(OnlineLandmarks(5, memory=80), shared)) == facts(fitted)


def test_xarray():
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    array = xarray.DataArray(X, dims=("time", "feature"))
    mapper = DriftMap(n_landmarks=20).fit(array)  # which is in memory
    assert facts(mapper) == facts(DriftMap(n_landmarks=20).fit(X))
    lazy = array.chunk({"time": 200})
    with pytest.raises(InputError, match=r"X must be a dask array.*got DataArray; give its \.data"):
        mapper.fit(lazy)
    assert facts(DriftMap(n_landmarks=20).fit(lazy.data)) == facts(mapper)
    placed = xarray.apply_ufunc(
        mapper.freeze().transform,
        lazy,
        input_core_dims=[["feature"]],
        output_core_dims=[["axis"]],
        dask="parallelized",
        output_dtypes=[float],
        dask_gufunc_kwargs={"output_sizes": {"axis": 2}},
    )
    assert placed.dims == ("time", "axis")
    assert np.array_equal(placed.compute(), mapper.transform(X))


def test_a_file_that_is_being_written_is_left_alone_and_a_leftover_is_removed(tmp_path):
    leftover = tmp_path / f".day 1.parquet.{'0' * 16}.tmp"
    leftover.touch()
    with replacing(tmp_path / "day 1.parquet") as file:
        code = "import pathlib, sys; from driftmap.storage import atomic"
        code += "; atomic.remove_leftovers(pathlib.Path(sys.argv[1]))"
        subprocess.run([sys.executable, "-c", code, tmp_path], check=True)  # another process, as a second run is
        assert not leftover.exists()
        file.write(b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["day 1.parquet"]


@pytest.mark.parametrize("suffix", [".parquet", ".pq"])
def test_partitions_are_written_as_parquet_by_either_suffix(tmp_path, suffix):
    pd.DataFrame(X, columns=list("abcd")).to_parquet(tmp_path / f"in{suffix}")
    (part,) = blocks.parquet_files([tmp_path / f"in{suffix}"])
    frozen = DriftMap(n_landmarks=20).fit(X).freeze()
    write(frozen, part, str(tmp_path / f"out{suffix}"), ["x1", "x2"], certify=False)
    np.testing.assert_array_equal(pd.read_parquet(tmp_path / f"out{suffix}").to_numpy(), frozen.transform(X))


def test_bad_requests(tmp_path):
    with pytest.raises(ValueError, match="window=10 cannot be merged"):
        on_dask.fit(OnlineLandmarks(5, window=10), da.from_array(X))
    with pytest.raises(ValueError, match="fan_in must be at least 2"):
        on_dask.fit(OnlineLandmarks(5), da.from_array(X), fan_in=1)
    with pytest.raises(TypeError, match="X must be a dask array"):
        on_dask.fit(OnlineLandmarks(5), X)
    with pytest.raises(ValueError, match=r"contains no \*\.parquet files"):
        on_dask.fit(OnlineLandmarks(5), tmp_path)
    with pytest.raises(TypeError, match="mapper must be"):
        on_dask.fit(object(), da.from_array(X))
