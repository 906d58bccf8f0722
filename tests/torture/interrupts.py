"""Ctrl-C inside a batch of the compiled core: the arrivals before it are learnt, and nothing else is."""

import signal

import numpy as np

from driftmap import OnlineLandmarks
from streams import facts, make

MODES = (
    {"memory": 200},
    {"memory": 200, "slack": 0.1},
    {"window": 150, "memory": 200},
    {"half_life": 40, "memory": 200},
    {"metric": "cityblock", "memory": 200},
)


def run(case):
    rng, params = case.rng, case.rng.choice(MODES)
    start, batch = (make("walk", n, 3, rng.getrandbits(32)) for n in (100, rng.randint(20_000, 100_000)))
    one, clean = (OnlineLandmarks(8, **params).partial_fit(start) for _ in range(2))
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    case.count(streams=1)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001 + rng.random() * 0.15)
        while True:
            one.partial_fit(batch)
    except KeyboardInterrupt:
        case.count(interrupts=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    whole, rest = divmod(one.n_samples_seen_ - len(start), len(batch))
    for part in [batch] * whole + [batch[:rest]] * (rest > 0):
        clean.partial_fit(part)
    case.count(arrivals=clean.n_samples_seen_)
    assert facts(one) == facts(clean)
    later = np.concatenate([batch[rest:], start])
    assert facts(one.partial_fit(later)) == facts(clean.partial_fit(later))
