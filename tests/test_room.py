"""Memory for arrays that grow."""

import mmap

import numpy as np
import pytest

from driftmap import room


@pytest.mark.parametrize("shape", [0, 3, (2, 3), room.LARGE, (room.LARGE, 2)])
def test_arrays_are_like_any_other(shape):
    array = room.empty(shape)
    assert array.shape == np.empty(shape).shape
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    assert array.flags.aligned
    assert array.flags.writeable
    array[...] = 7.0
    assert (array.copy() == 7.0).all()


def test_a_system_that_refuses_large_pages_gives_small_ones(monkeypatch):
    class Plain(mmap.mmap):
        def madvise(self, *args):
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(room.mmap, "mmap", Plain)
    array = room.empty(room.LARGE)
    array[:] = 1.0
    assert array.sum() == room.LARGE


def test_no_memory_is_told_as_such(monkeypatch):
    def full(*args, **options):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(room.mmap, "mmap", full)
    with pytest.raises(MemoryError, match="8,388,608 bytes"):
        room.empty(room.LARGE)
