"""The pool of threads: order, errors, laziness, and how many threads there are."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from driftmap.utils.concurrency import in_parallel, n_threads, one_thread


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_order_up_to_the_first_error(threads):
    assert list(in_parallel(lambda i: i * i, range(50), threads)) == [i * i for i in range(50)]
    results = in_parallel(lambda i: 1 / (i - 20), range(50), threads)
    assert [next(results) for _ in range(20)] == [1 / (i - 20) for i in range(20)]
    with pytest.raises(ZeroDivisionError):
        next(results)


@pytest.mark.parametrize("threads", [1, 3])
def test_items_are_taken_only_a_few_ahead(threads):
    taken = []
    results = in_parallel(str, (taken.append(i) or i for i in range(50)), threads)
    next(results)
    assert len(taken) <= threads + 1
    results.close()


def test_one_thread_is_the_callers():
    assert set(in_parallel(lambda i: threading.get_ident(), range(9), 1)) == {threading.get_ident()}
    assert threading.get_ident() not in set(in_parallel(lambda i: threading.get_ident(), range(9), 2))


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no processor affinity")
def test_only_processors_that_may_be_used_count(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5, 6})
    assert [n_threads(jobs) for jobs in (None, -1, -2, -9, 7)] == [1, 3, 2, 1, 7]


@pytest.mark.parametrize("n_jobs", [0, True, 1.5, "all"])
def test_n_jobs_that_is_no_number_of_threads(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be"):
        n_threads(n_jobs)


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


BLAS_THREADS = blas_threads()


def test_threads_take_turns_with_one_thread_of_blas():
    with threadpool_limits(2, user_api="blas"):
        before, seen, entered = blas_threads(), [], threading.Event()

        def work():
            entered.set()
            with one_thread(), one_thread():
                seen.append(blas_threads())

        with one_thread():
            others = [threading.Thread(target=work) for _ in range(3)]
            for other in others:
                other.start()
            assert entered.wait(10)
            assert not seen
            assert set(blas_threads()) == {1}
        for other in others:
            other.join()
        assert {count for counts in seen for count in counts} == {1}
        assert len(seen) == 3
        assert blas_threads() == before


def test_a_limit_of_another_thread_does_not_hinder_one_thread():
    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(1) as pool:

        def work():
            with one_thread():
                return blas_threads()

        assert set(pool.submit(work).result()) == {1}
        assert set(blas_threads()) == {2}
    assert set(blas_threads()) == set(BLAS_THREADS)
