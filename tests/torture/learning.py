"""Streams are learnt in batches of any size, between saves, copies, bad input and failures, as they are in one."""

import copy
import math
import pickle
import warnings

import numpy as np

import naive
from driftmap import DriftMap, OnlineLandmarks
from driftmap.landmarks import RatioShift
from streams import assert_follows, facts
from torture.draws import FUNCTIONS, Failure, draw

LEAST_SIZE = 1e-140
"""The radius of a map that has not replaced a landmark yet."""
ORACLE = 120
"""The most arrivals that the oracle follows."""


def run(case):
    stream = draw(case)
    case.count(streams=1, arrivals=len(stream))
    rng, n = case.rng, len(stream)
    ends = sorted({*(rng.randint(1, n) for _ in range(rng.randint(0, 5))), n})
    asks = [end for end in ends if stream.components is not None and case.chance(0.5)]
    one, twin = new(stream), new(stream)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for first, last in zip([0, *ends], ends, strict=False):
            one = disturbed(case, stream, one, first, last)
            one.partial_fit(stream.part(first, last), **stream.time(first, last))
            if last in asks or last == n:
                seen = twin.n_samples_seen_ if twin.__sklearn_is_fitted__() else 0
                twin.partial_fit(stream.part(seen, last), **stream.time(seen, last))
                assert facts(one) == facts(twin), "batches, saves, copies or failures change something"
                if stream.components is not None:
                    queries = stream.queries(last)
                    np.testing.assert_array_equal(one.transform(queries), twin.transform(queries), strict=True)
                    assert np.isfinite(one.transform(queries)).all()
    check(stream, one)


def new(stream):
    params = dict(stream.params)
    return OnlineLandmarks(**params) if stream.components is None else DriftMap(stream.components, **params)


# --- what must change nothing ---


def disturbed(case, stream, one, first, last):
    """The estimator after something that must not change it, perhaps another object."""
    fitted, before = one.__sklearn_is_fitted__(), facts(one) if one.__sklearn_is_fitted__() else None
    how = case.rng.choice(["", "save", "pickle", "copy", "bad input", "failure", "failure"])
    if how == "save" and fitted:
        path = case.folder / "saved.ckpt"
        one.save(path)
        case.count(saves=1)
        one = type(one).load(path, **({"metric": one.metric} if stream.metric in FUNCTIONS else {}))
    elif how == "pickle":
        one = pickle.loads(pickle.dumps(one))
    elif how == "copy":
        one = copy.deepcopy(one)
    elif how == "bad input":
        refuse(case, stream, one, first, last)
    elif how == "failure":
        fail(case, stream, one, first, last)
    assert one.__sklearn_is_fitted__() == fitted
    assert not fitted or facts(one) == before, how
    return one


def refuse(case, stream, one, first, last):
    """Rows that cannot be learnt raise an error."""
    if stream.metric == "words":
        bad = case.rng.choice([[], "word", 7])
    else:
        bad = np.array(stream.part(first, last), dtype=np.float64)
        row, width = case.rng.randrange(len(bad)), bad.shape[1]
        if stream.metric == "precomputed":  # those to earlier arrivals count
            row, width = (len(bad) - 1, last - 1) if last > 1 else (0, 0)
        if width:
            bad[row, case.rng.randrange(width)] = case.rng.choice([np.nan, np.inf, -np.inf])
        else:
            bad = bad[:0]
    try:
        one.partial_fit(bad, **stream.time(first, last))
    except (ValueError, TypeError):
        case.count(edits=1)
    else:
        raise AssertionError("bad input is learnt")


def fail(case, stream, one, first, last):
    """A function or detector that raises at some call, or Ctrl-C there, undoes the batch."""
    update = RatioShift.update
    RatioShift.update = lambda self, x: (Failure.call(), update(self, x))[1]
    Failure.left, Failure.error = case.rng.randint(1, 40), case.rng.choice([ZeroDivisionError, KeyboardInterrupt])
    trial = copy.deepcopy(one)  # if nothing fails, all is learnt
    try:
        trial.partial_fit(stream.part(first, last), **stream.time(first, last))
    except (ZeroDivisionError, KeyboardInterrupt):
        case.count(interrupts=1)
        Failure.left = math.inf
        assert trial.__sklearn_is_fitted__() == one.__sklearn_is_fitted__()
        assert not one.__sklearn_is_fitted__() or facts(trial) == facts(one), "a failure changes something"
        one, trial = new(stream), trial.partial_fit(stream.part(first, last), **stream.time(first, last))
        one.partial_fit(stream.part(0, last), **stream.time(0, last))
        assert facts(trial) == facts(one), "what is learnt after a failure differs"
    finally:
        Failure.left, RatioShift.update = math.inf, update


# --- what is true ---


def check(stream, one):
    """The oracle decides where nothing merges; everywhere else the promises hold for every arrival."""
    memory = stream.memory if isinstance(stream.memory, int) else math.inf
    if one.half_life is None and len(stream) <= min(ORACLE, memory):
        check_oracle(stream, one)
    check_promises(stream, one)


def check_oracle(stream, one):
    D, params = stream.reduced.tolist(), stream.params
    initial = getattr(one, "initial_radius", LEAST_SIZE)  # a map's radius begins with the least size of its data
    radius, squared = naive.reduced_radius(initial, stream.metric), stream.metric == "euclidean"
    detector = copy.deepcopy(params.get("replace_on"))

    def gate(ratio):
        detector.update(ratio)
        return detector.drift_detected

    if params.get("rule") == "paper":
        oracle = naive.Paper(params["n_landmarks"], lambda r, s: D[r][s], radius)
    else:
        kind = naive.Tight if params.get("window") is None else naive.Forgetful
        options = {"slack": params["slack"], "squared": squared, "gate": None if detector is None else gate}
        oracle = kind(params["n_landmarks"], lambda r, s: D[r][s], radius, **options)
    times = np.arange(len(stream), dtype=float) if stream.times is None else stream.times
    for i in range(len(stream)):
        if isinstance(oracle, naive.Forgetful):
            oracle.add_at(i, times[i], oracle.expired(times[i], params["window"]))
        else:
            oracle.add(i)
    assert_follows(one, oracle, stream.metric)


def check_promises(stream, one):
    D, n, stored, landmarks = stream.distances, len(stream), one.stored_indices_, one.landmark_indices_
    assert one.n_samples_seen_ == n
    assert 0 < len(landmarks) <= one.n_landmarks
    assert len(stored) <= (stream.memory if isinstance(stream.memory, int) else math.inf)
    reach = D[np.ix_(stored, landmarks)].min(axis=1)
    assert one.covering_radius_ == reach.max(initial=0.0)
    if one.replace_on == "uncovered":
        assert one.covering_radius_ <= one.radius_
    if one.window is None and one.half_life is None:
        assert one.landmark_mass_.sum() == n
    if stream.params.get("memory") is not None and one.half_life is None:
        times = np.arange(n) if stream.times is None else stream.times
        sure = np.flatnonzero(times + (math.inf if one.window is None else one.window) > times[-1])
        assert (D[np.ix_(sure, stored)].min(axis=1) <= one.resolution_).all()
        assert (D[np.ix_(sure, landmarks)].min(axis=1) <= one.coverage_bound_).all()
