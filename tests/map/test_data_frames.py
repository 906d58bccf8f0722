"""Tables of other libraries: every kind of number is taken, and columns that are none are named together."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from driftmap import DriftMap
from driftmap.utils.validation import points

DAYS = [datetime.date(2020, 1, day) for day in (1, 2, 3)]
SPANS = [datetime.timedelta(seconds=s) for s in (1.5, 2, 60)]
NUMBERS = {
    "pandas plain": pd.DataFrame({"a": [1, 2, 3], "b": [1.5, 2, 60], "c": [True, False, True]}),
    "pandas nullable": pd.DataFrame({
        "a": pd.array([1, 2, 3], "Int64"), "b": pd.array([1.5, 2, 60], "Float64"),
        "c": pd.array([True, False, True], "boolean"),
    }),
    "pandas arrow": pd.DataFrame({
        "a": pd.array([1, 2, 3], "int8[pyarrow]"), "b": pd.array([1.5, 2, 60], "double[pyarrow]"), "c": [1, 0, 1],
    }),
    "pandas objects": pd.DataFrame({
        "a": pd.Categorical([1, 2, 3]), "b": pd.to_timedelta(SPANS), "c": [Decimal(1), Decimal(0), Decimal(1)],
    }),
    "polars": pl.DataFrame({"a": [1, 2, 3], "b": [1.5, 2, 60], "c": [True, False, True]}),
    "polars others": pl.DataFrame({"a": [Decimal(1), Decimal(2), Decimal(3)], "b": SPANS, "c": [1, 0, 1]}),
    "polars lazy": pl.LazyFrame({"a": [1, 2, 3], "b": [1.5, 2, 60], "c": [1, 0, 1]}),
    "arrow": pa.table({"a": [1, 2, 3], "b": pa.array(SPANS), "c": pa.array([True, False, True])}),
    "arrow others": pa.table({
        "a": pa.array([1, 2, 3]).dictionary_encode(), "b": pa.array([Decimal("1.5"), Decimal(2), Decimal(60)]),
        "c": [1, 0, 1],
    }),
    "arrow batch": pa.record_batch({"a": [1, 2, 3], "b": [1.5, 2, 60], "c": [1, 0, 1]}),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_every_kind_of_number_is_taken(name):
    expected = [[1, 1.5, 1], [2, 2, 0], [3, 60, 1]]
    np.testing.assert_array_equal(points(NUMBERS[name]), expected)
    mapper = DriftMap(1, n_landmarks=3).fit(NUMBERS[name])
    assert mapper.feature_names_in_.tolist() == ["a", "b", "c"]
    assert mapper.transform(NUMBERS[name]).tobytes() == DriftMap(1, n_landmarks=3).fit_transform(expected).tobytes()


MIXED = {
    "pandas": pd.DataFrame({"day": pd.to_datetime(DAYS), "a": 1.0, "name": ["x", "y", "z"], "city": list("abc")}),
    "pandas objects": pd.DataFrame({"day": DAYS, "a": 1.0, "name": ["x", None, "z"], "city": list("abc")}),
    "pandas zone": pd.DataFrame({"day": pd.to_datetime(DAYS).tz_localize("UTC"), "a": 1, "name": "x", "city": "y"}),
    "polars": pl.DataFrame({"day": DAYS, "a": [1, 2, 3], "name": ["x", "y", "z"], "city": ["a", "b", "c"]}),
    "arrow": pa.table({"day": DAYS, "a": [1, 2, 3], "name": ["x", "y", "z"], "city": ["a", "b", "c"]}),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXED)
def test_all_columns_that_are_no_numbers_are_named(name):
    with pytest.raises(ValueError, match=r"columns that are not numeric: 'day' \(dates\), 'name', 'city' \(text\)"):
        DriftMap().fit(MIXED[name])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"v": [[1.0, 2.0], [3.0, 4.0]]}),
        pl.DataFrame({"v": [[1.0, 2.0], [3.0, 4.0]]}),
        pa.table({"v": [[1.0, 2.0], [3.0, 4.0]]}),
    ],
)
def test_a_column_of_lists_is_named(frame):
    with pytest.raises(ValueError, match=r"'v' \(lists\)"):
        DriftMap().fit(frame)


def test_one_text_among_numbers_is_named_by_its_row():
    with pytest.raises(ValueError, match=r"row 1, column 1 \('b'\) is 'x', not a number"):
        DriftMap().fit(pd.DataFrame({"a": [1, 2], "b": [1, "x"]}))


def test_null_is_missing():
    for frame in (
        pd.DataFrame({"a": pd.array([1, None], "Int64")}),
        pl.DataFrame({"a": [1, None]}),
        pa.table({"a": [1, None]}),
    ):
        with pytest.raises(ValueError, match=r"row 1, column 0 \('a'\) is NaN"):
            points(frame)
        np.testing.assert_array_equal(points(frame, missing=True), [[1], [np.nan]])


class Tensor:
    """Has nothing but DLPack, as tensors of other libraries."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Wrapped:
    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype=dtype)


@pytest.mark.parametrize("kind", [Tensor, Wrapped, np.ma.array])
@pytest.mark.parametrize("metric", ["euclidean", lambda x, y: float(np.abs(x - y).sum())])
def test_tensors_and_whatever_has_an_array(kind, metric):
    rows = np.random.default_rng(0).standard_normal((30, 3))
    mapper = DriftMap(n_landmarks=5, metric=metric).fit(kind(rows))
    assert mapper.radius_ == DriftMap(n_landmarks=5, metric=metric).fit(rows).radius_


def test_a_tensor_elsewhere_is_named():
    class Elsewhere(Tensor):
        def __dlpack__(self, **options):
            raise BufferError("it is on another device")

    with pytest.raises(ValueError, match="X cannot be read: it is on another device; copy it"):
        DriftMap().fit(Elsewhere(np.ones((3, 2))))
