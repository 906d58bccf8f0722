"""Edits: a tree of JSON or an array after something was changed in it at random."""

import copy
import warnings

import numpy as np

ODD = [
    None,
    True,
    0,
    1,
    -1,
    2,
    7,
    31,
    32,
    127,
    2**31 - 1,
    2**31,
    2**62,
    2**63,
    10**8,
    10**30,
    0.0,
    -0.0,
    0.5,
    -2.5,
    1e-320,
]
ODD += [1e153, 1e160, 1e308, -1e308, "", "nan", "euclidean", "cityblock", "tight", [], {}, [1], {"float": "nan"}]
ODD += [
    {"float": "inf"},
    {"float": "-inf"},
    {"array": "points"},
    {"table": {}},
    {"list": []},
    {"dict": {}},
    {"tuple": [1]},
]
NUMBERS = [0, 1, -1, 2, 3, 100, 10**6, 2**31, 2**40, 2**62, -(2**62), 0.5, -0.5, 1e-300, 1e152, 1e300, -1e300]
NUMBERS += [float("nan"), float("inf"), float("-inf")]


def nodes(tree, path=()):
    """The paths of everything in a tree of dicts and lists."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, part in items:
        yield (*path, key)
        yield from nodes(part, (*path, key))


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def edit_tree(tree, rng):
    paths = list(nodes(tree))
    path = rng.choice(paths)
    parent, value, how = at(tree, path[:-1]), at(tree, path), rng.random()
    if how < 0.1 and isinstance(parent, dict):
        del parent[path[-1]]
    elif how < 0.3:
        parent[path[-1]] = copy.deepcopy(at(tree, rng.choice(paths)))
    elif how < 0.6 and isinstance(value, int | float) and not isinstance(value, bool):
        parent[path[-1]] = rng.choice([value + 1, value - 1, 2 * value, -value, value / 2, float(value)])
    else:
        parent[path[-1]] = copy.deepcopy(rng.choice(ODD))  # further edits may change it


def put(array, place, value):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            array[place] = value
        except (OverflowError, ValueError):
            array[place] = 1


def edit_array(array, rng):
    if array.ndim == 0:
        edited = edit_array(array.reshape(1), rng)
        return edited.reshape(()) if edited.size == 1 else edited
    array, flat = array.copy(), None
    if array.size == 0 or rng.random() < 0.15:
        return rng.choice(
            [array[:-1], array[1:], array[:0], np.concatenate([array, array[:1]]), array.reshape(-1), array.T.copy(),
             array.astype(np.float32), array.astype(np.int8), array.astype(np.float64), np.zeros((2, 2, 2))]
        )  # fmt: skip
    flat = array.reshape(-1)
    i, j, how = rng.randrange(flat.size), rng.randrange(flat.size), rng.random()
    if how < 0.2:
        flat[i], flat[j] = flat[j], flat[i]
    elif how < 0.4:
        put(flat, i, flat[j])
    elif how < 0.6:
        put(flat, i, float(flat[i]) * rng.choice([2, -1, 0.5, 1.001]) + rng.choice([0, 0, 1, -1, 1e-9]))
    elif how < 0.65:
        put(flat, slice(None), rng.choice(NUMBERS))
    elif how < 0.7:
        np.random.default_rng(i).shuffle(array)
    else:
        put(flat, i, rng.choice(NUMBERS))
    return array


def damage(data, rng):
    """Bytes after a cut, a flipped bit, or some bytes that were overwritten, removed or put in."""
    data, how = bytearray(data), rng.randrange(4)
    if not data:
        return bytes(rng.randbytes(rng.randrange(1, 20)))
    place, length = rng.randrange(len(data)), rng.choice([1, 1, 2, 8, 100])
    if how == 0:
        return bytes(data[:place])
    if how == 1:
        data[place] ^= 1 << rng.randrange(8)
    elif how == 2:
        data[place : place + length] = rng.randbytes(length)
    else:
        data[place : place + rng.choice([0, length])] = rng.randbytes(rng.choice([0, length]))
    return bytes(data)
