"""One estimator in several threads, forks, copies and Ctrl-C: calls wait for each other, and every state is whole.

Each test runs in a process of its own with a time limit, so that a crash or a deadlock is a test that fails.
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

PATIENCE = 120
"""Seconds after which a process is taken to hang."""

PRELUDE = """
import copy, os, pickle, signal, sys, tempfile, threading, time
import numpy as np
from driftmap import DriftMap
from driftmap.landmarks import OnlineLandmarks, RatioShift

sys.setswitchinterval(1e-5)  # threads take turns as often as possible
X = np.cumsum(np.random.default_rng(0).standard_normal((2000, 3)), axis=0)

def taxi(x, y):
    return float(np.abs(x - y).sum())

taxi.obeys_triangle = True
MODES = {
    "all": {"memory": None},
    "paper": {"rule": "paper"},
    "bounded": {"memory": 128},
    "slack": {"memory": 128, "slack": 0.1},
    "window": {"window": 150, "memory": 128},
    "half-life": {"half_life": 40, "memory": 128},
    "detector": {"memory": 128, "replace_on": RatioShift(warm_up=5)},
    "cosine": {"metric": "cosine"},
    "function": {"metric": taxi, "memory": 128},
}

def in_threads(*tasks):
    # run tasks at the same time; an exception in one of them is an exception here
    errors = []
    def guarded(task):
        try:
            task()
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=guarded, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]

def assert_whole(landmarks, batch=1):
    masses, seen = landmarks.landmark_mass_, landmarks.n_samples_seen_
    assert seen % batch == 0, (seen, batch)
    assert np.isfinite(masses).all() and (masses >= 0).all()
    if not (landmarks.window or landmarks.half_life):
        assert masses.sum() == seen, (masses.sum(), seen)
    assert landmarks.covering_radius_ <= landmarks.radius_ or landmarks.replace_on != "uncovered"
    assert len(landmarks.landmark_indices_) == len(masses) <= landmarks.n_landmarks
    assert (np.diff(landmarks.landmark_indices_) > 0).all()
"""


def run(script, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script, *arguments], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr[-3000:]}"


def test_threads_learn_with_one_estimator():
    run("""
for how in MODES.values():
    landmarks, parts = OnlineLandmarks(8, **how), np.split(X[:1200], 60)
    def learn(mine):
        for part in mine:
            landmarks.partial_fit(part)
    in_threads(*(lambda k=k: learn(parts[k::4]) for k in range(4)))
    assert landmarks.n_samples_seen_ == 1200
    assert_whole(landmarks)
    landmarks.partial_fit(X[:50])
    assert_whole(landmarks)
""")


def test_the_first_points_may_come_from_several_threads():
    run("""
for make in (OnlineLandmarks, lambda m: DriftMap(n_landmarks=m)):
    for _ in range(20):
        estimator, barrier = make(5), threading.Barrier(4)
        def learn(part):
            barrier.wait()
            estimator.partial_fit(part)
        in_threads(*(lambda part=part: learn(part) for part in np.split(X[:40], 4)))
        assert estimator.n_samples_seen_ == 40
        assert_whole(estimator, 10)
""")


def test_others_see_whole_states_while_one_thread_learns():
    run("""
for how in (MODES["all"], MODES["bounded"], MODES["detector"], MODES["window"]):
    mapper, done = DriftMap(n_landmarks=8, **how).partial_fit(X[:50]), threading.Event()
    folder = tempfile.mkdtemp()

    def learn():
        try:
            for part in np.split(X[50:1500], 29):
                mapper.partial_fit(part)
        finally:
            done.set()

    def save():
        looks = 0
        while not done.is_set() or looks < 2:
            mapper.save(folder + "/m")
            found = DriftMap.load(folder + "/m")
            assert_whole(found, 50)
            assert np.isfinite(found.transform(X[:3])).all()
            looks += 1

    def place():
        while not done.is_set():
            assert np.isfinite(mapper.transform(X[:7])).all()
            assert np.isfinite(mapper.novelty(X[:2]).residual).all()

    def look():
        while not done.is_set():
            assert mapper.n_samples_seen_ % 50 == 0
            assert how.get("window") or mapper.landmark_mass_.sum() % 50 == 0
            assert len(mapper.landmarks_) <= 8
            assert mapper.radius_ > 0 and mapper.coverage_bound_ >= 0
            assert all(event.arrival < 1500 for event in mapper.events_)

    in_threads(learn, save, place, look)
    assert_whole(mapper, 50)
    again = DriftMap(n_landmarks=8, **how).partial_fit(X[:1500])
    assert again.landmark_indices_.tolist() == mapper.landmark_indices_.tolist()
    assert again.radius_ == mapper.radius_
""")


def test_a_metric_or_detector_that_uses_its_estimator_does_not_deadlock():
    """It is answered or refused; either way the estimator is whole afterwards."""
    run("""
class Asking:
    def __init__(self):
        self.drift_detected = False
    def update(self, ratio):
        ask()
    def __deepcopy__(self, memo):
        return self

def asking(x, y):
    ask()
    return taxi(x, y)

questions = [
    lambda e: e.n_samples_seen_,
    lambda e: e.landmark_mass_,
    lambda e: e.distances(X[:2]) if hasattr(e, "distances") else e.transform(X[:2]),
    lambda e: e.partial_fit(X[:1]),
    lambda e: e.save(os.devnull + "/nowhere"),
    lambda e: copy.deepcopy(e),
]
for make in (OnlineLandmarks, lambda m, **how: DriftMap(n_landmarks=m, **how)):
    for how in ({"metric": asking}, {"replace_on": Asking()}):
        for question in questions:
            ask = lambda: None
            estimator = make(3, **how).partial_fit(X[:10])
            def ask():
                if not asked:
                    asked.append(question)
                    question(estimator)
            asked = []
            try:
                estimator.partial_fit(X[10:40])
            except RuntimeError as error:
                assert "cannot use the estimator that is learning with it" in str(error)
            except ValueError as error:
                assert "nowhere" in str(error)
            assert asked
            ask = lambda: None
            assert_whole(estimator)
            before = estimator.n_samples_seen_
            estimator.partial_fit(X[40:60])
            assert estimator.n_samples_seen_ == before + 20
            assert_whole(estimator)
""")


def test_copies_are_whole_while_another_thread_learns():
    run("""
for name in ("all", "bounded", "half-life", "detector", "function"):
    landmarks, done = OnlineLandmarks(8, **MODES[name]).partial_fit(X[:40]), threading.Event()

    def learn():
        try:
            for part in np.split(X[40:1240], 30):
                landmarks.partial_fit(part)
        finally:
            done.set()

    def duplicate():
        looks = 0
        while not done.is_set() or looks < 2:
            for twin in (copy.deepcopy(landmarks), pickle.loads(pickle.dumps(landmarks))):
                assert_whole(twin, 40)
                before = twin.n_samples_seen_
                other = copy.deepcopy(twin)
                for one in (twin, other):
                    one.partial_fit(X[:30])
                    assert one.n_samples_seen_ == before + 30
                assert twin.landmark_indices_.tolist() == other.landmark_indices_.tolist()
                assert twin.landmark_mass_.tolist() == other.landmark_mass_.tolist()
                assert twin.radius_ == other.radius_
            looks += 1

    in_threads(learn, duplicate)
    assert landmarks.n_samples_seen_ == 1240
    assert_whole(landmarks, 40)
""")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_while_another_thread_learns_gets_a_whole_state_and_no_lock_that_is_never_released():
    run("""
import warnings
warnings.simplefilter("ignore")  # newer versions of Python warn of forks in processes with threads
for name in ("bounded", "window", "function"):
    landmarks, done = OnlineLandmarks(8, **MODES[name]).partial_fit(X[:40]), threading.Event()

    def learn():
        while not done.is_set():
            landmarks.partial_fit(X[:400])

    thread = threading.Thread(target=learn)
    thread.start()
    try:
        for _ in range(4):
            time.sleep(0.01)
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    assert_whole(landmarks)
                    assert (landmarks.n_samples_seen_ - 40) % 400 == 0
                    before = landmarks.n_samples_seen_
                    landmarks.partial_fit(X[:10])
                    assert landmarks.n_samples_seen_ == before + 10
                    assert_whole(landmarks)
                    code = 0
                finally:
                    os._exit(code)
            for _ in range(300):
                ended, status = os.waitpid(child, os.WNOHANG)
                if ended:
                    break
                time.sleep(0.1)
            else:
                os.kill(child, signal.SIGKILL)
                raise AssertionError("the child hangs")
            assert status == 0, status
    finally:
        done.set()
        thread.join()
    assert_whole(landmarks)
""")


INTERRUPTED = """
name, first, begin = sys.argv[1], X[:int(sys.argv[3])], DriftMap if sys.argv[4] == "map" else OnlineLandmarks
batch = np.cumsum(np.random.default_rng(1).standard_normal((int(sys.argv[2]), 3)), axis=0)
undone = name in ("detector", "function")

def fresh():
    landmarks = begin(n_landmarks=8, **MODES[name])
    return landmarks.partial_fit(first) if len(first) else landmarks

def known(landmarks):
    return (landmarks.n_samples_seen_, landmarks.landmark_indices_.tolist(), landmarks.landmark_mass_.tolist(),
            landmarks.radius_, landmarks.covering_radius_, landmarks.stored_indices_.tolist(), landmarks.events_)

landmarks, began = fresh(), time.perf_counter()
fresh().partial_fit(batch)
try:
    print(time.perf_counter() - began, flush=True)
    while True:
        landmarks.partial_fit(batch)
except KeyboardInterrupt:
    pass
whole, rest = divmod(landmarks.n_samples_seen_ - len(first), len(batch))
assert_whole(landmarks)
assert not (undone and rest), "a batch with a detector or a function is undone as a whole"
clean = fresh()
for part in [batch] * whole + [batch[:rest]] * (rest > 0) :
    clean.partial_fit(part)
assert known(landmarks) == known(clean)
assert known(landmarks.partial_fit(X[:300])) == known(clean.partial_fit(X[:300]))
print(rest)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent differently")
@pytest.mark.parametrize(
    ("mode", "rows", "before", "kind"),
    [
        ("bounded", 1_000_000, 100, "landmarks"),
        ("bounded", 1_000_000, 0, "landmarks"),
        ("bounded", 1_000_000, 0, "map"),
        ("window", 300_000, 100, "landmarks"),
        ("detector", 50_000, 100, "landmarks"),
        ("function", 3_000, 100, "landmarks"),
    ],
)
def test_an_interrupt_inside_a_batch_leaves_a_whole_state(mode, rows, before, kind):
    """Native metrics: the arrivals before it are learnt. Where Python is called, the batch is undone."""
    command = [sys.executable, "-c", PRELUDE + INTERRUPTED, mode, str(rows), str(before), kind]
    for share in np.random.default_rng(0).uniform(0.3, 0.9, 20):  # of the time that a batch takes
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            seconds = process.stdout.readline()
            assert seconds, process.stderr.read()
            time.sleep(share * float(seconds))
            process.send_signal(signal.SIGINT)
            try:
                out, errors = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            assert process.returncode == 0, errors[-3000:]
        if int(out) > 0 or mode in ("detector", "function"):
            return
    pytest.fail("no interrupt came inside a batch")
