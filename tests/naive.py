"""The literal algorithms, slow and obvious: the oracle that decides what is correct.

Imports numpy and math only, nothing of the package. Graphs are explicit edge sets, distances are computed pair
by pair with plain Python floats. Conventions: an edge joins points at distance <= rho; edges of equal length
enter together; among equal pairs the lexicographically smallest comes first; an "arbitrary" neighbour is the one
with the smallest index. Points are named by their arrival numbers 0, 1, 2, ...
"""

import math

import numpy as np


def squared_euclidean(x, y):
    """Sum of squares in coordinate order. Comparing squares orders pairs as comparing distances does, without
    the rounding of a square root, so oracle and package can be compared to the bit."""
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += (float(a) - float(b)) * (float(a) - float(b))
    return total


def squared_radius(radius):
    """The largest square of a distance that is at most the radius."""
    square = radius * radius
    while math.sqrt(square) > radius:
        square = math.nextafter(square, 0)
    while math.sqrt(math.nextafter(square, math.inf)) <= radius:
        square = math.nextafter(square, math.inf)
    return square


def manhattan(x, y):
    total = 0.0
    for a, b in zip(x, y, strict=True):
        total += abs(float(a) - float(b))
    return total


class Online:
    """Algorithms 2 and 3 (rule "paper"), or the tight rule, arrival by arrival, with explicit edges."""

    def __init__(self, m, rule, distance, initial_radius):
        self.m, self.rule, self.distance = m, rule, distance
        self.rho = initial_radius
        self.points, self.landmarks, self.events = [], [], []
        self.length = {}  # (r, s), r < s -> d(x_r, x_s)
        self.neighbours = []  # adjacency of the graph at rho
        self.n_edges = 0
        self.waiting = []  # pairs that are no edges yet, (length, r, s), ascending once sorted

    def d(self, r, s):
        return 0.0 if r == s else self.length[min(r, s), max(r, s)]

    def add(self, x):
        n = len(self.points)
        for s, y in enumerate(self.points):
            self.length[s, n] = self.distance(x, y)
        self.points.append(x)
        self.neighbours.append(set())
        for s in range(n):
            if self.length[s, n] <= self.rho:
                self.join(s, n)
            else:
                self.waiting.append((self.length[s, n], s, n))
        if any(z in self.landmarks for z in self.neighbours[n] | {n}):
            return
        before, old = self.rho, list(self.landmarks)
        if len(self.landmarks) < self.m:
            self.landmarks.append(n)
            self.events.append((n, "added", n, None, before, self.rho))
            return
        came, left = self.replace(n) if self.rule == "paper" else self.replace_tight(n)
        self.landmarks.sort()
        kind = "widened" if sorted(old) == self.landmarks else "replaced"
        self.events.append((n, kind, came, left, before, self.rho))

    def join(self, r, s):
        self.neighbours[r].add(s)
        self.neighbours[s].add(r)
        self.n_edges += 1

    def raise_radius(self, rho):
        """Let all pairs of length <= rho become edges."""
        self.rho = rho
        while self.waiting and self.waiting[0][0] <= rho:
            _, r, s = self.waiting.pop(0)
            self.join(r, s)

    def replace(self, x):
        """Algorithm 2, line by line."""
        degree = len(self.neighbours[x])
        if degree <= 2 * math.sqrt(self.n_edges):
            came = x
        else:
            came = min(y for y in self.neighbours[x] if len(self.neighbours[y]) <= math.sqrt(self.n_edges))
        self.landmarks.append(came)
        self.waiting.sort()  # Python's sort merges the sorted runs, which is Algorithm 4
        while True:
            length, r, s = self.waiting[0]
            if length > self.rho:
                self.rho = length
            self.waiting.pop(0)
            self.join(r, s)
            if r in self.landmarks or s in self.landmarks:
                break
        self.raise_radius(self.rho)
        gone = self.remove(r, s)
        while gone is None:
            self.raise_radius(self.waiting[0][0])
            gone = self.remove(r, s)
        self.landmarks.remove(gone)
        return came, gone

    def remove(self, r, s):
        """Algorithm 3."""
        if r in self.landmarks:
            if not self.only_by(r):
                return r
            if s in self.landmarks and not self.only_by(s):
                return s
            return None
        return s if not self.only_by(s) else None

    def only_by(self, z):
        return only_by(z, self.landmarks, self.neighbours)

    def nearest(self, y, landmarks):
        """The landmark nearest to y; of equally near ones, the earliest."""
        return min(landmarks, key=lambda z: (self.d(y, z), z))

    def replace_tight(self, x):
        """Drop the landmark whose loss costs least; the radius becomes the covering radius."""
        self.landmarks.append(x)

        def cost(z):
            others = [w for w in self.landmarks if w != z]
            cell = [y for y in range(len(self.points)) if self.nearest(y, self.landmarks) == z]
            return max(self.d(y, self.nearest(y, others)) for y in cell)

        gone = min(sorted(self.landmarks), key=lambda z: (cost(z), z))
        self.landmarks.remove(gone)
        self.waiting.sort()
        rho = self.covering_radius()
        if rho < self.rho:  # edges that are too long now go back to waiting
            self.rho = rho
            for (r, s), length in self.length.items():
                if length > rho and s in self.neighbours[r]:
                    self.neighbours[r].remove(s)
                    self.neighbours[s].remove(r)
                    self.n_edges -= 1
                    self.waiting.append((length, r, s))
            self.waiting.sort()
        else:
            self.raise_radius(rho)
        return x, gone

    def covering_radius(self):
        return max(self.d(y, self.nearest(y, self.landmarks)) for y in range(len(self.points)))

    def masses(self):
        nearest = [self.nearest(y, self.landmarks) for y in range(len(self.points))]
        return [nearest.count(z) for z in sorted(self.landmarks)]

    def dominates(self):
        return all(self.neighbours[y] & set(self.landmarks) or y in self.landmarks for y in range(len(self.points)))


def squared_distance_matrix(X):
    """All squared Euclidean distances, summed over coordinates in order: the bits of squared_euclidean, in numpy."""
    total = np.zeros((len(X), len(X)))
    for column in np.asarray(X, dtype=float).T:
        total += (column[:, None] - column[None, :]) * (column[:, None] - column[None, :])
    return total


def tight_by_matrix(D, m, rho):
    """The tight rule from a full distance matrix, for streams too long for Online: (landmarks, masses, rho)."""
    landmarks = []
    for x in range(len(D)):
        if landmarks and D[x, landmarks].min() <= rho:
            continue
        landmarks.append(x)
        if len(landmarks) <= m:
            continue
        to_landmarks = D[: x + 1, landmarks]
        order = np.argsort(to_landmarks, axis=1, kind="stable")
        second = np.take_along_axis(to_landmarks, order[:, 1:2], axis=1)[:, 0]
        cost = [second[order[:, 0] == place].max() for place in range(m + 1)]
        del landmarks[int(np.argmin(cost))]
        rho = D[: x + 1, landmarks].min(axis=1).max()
    masses = np.bincount(D[:, landmarks].argmin(axis=1), minlength=len(landmarks))
    return landmarks, masses.tolist(), rho


class Bounded:
    """The tight rule with at most ``memory`` stored points, each standing for those that joined it or merged into it.

    Each slot holds a landmark and the list of stored points nearest to it, in the order in which they came to it.
    ``distance`` is in the comparison scale, ``root`` gives the true distance, ``scale`` the way back.
    """

    def __init__(self, m, memory, distance, initial_radius, root=float, scale=float, boxes=None):
        self.m, self.memory, self.distance, self.root, self.scale = m, memory, distance, root, scale
        self.n_boxes, self.small, self.large = boxes, {}, {}  # witnesses that points of a box joined
        self.rho, self.resolution, self.seen = initial_radius, None, 0
        self.slots, self.lists = [None] * (m + 1), [[] for _ in range(m + 1)]
        self.points, self.weight, self.spread = {}, {}, {}
        self.everything = []

    def d(self, r, s):
        return self.distance(self.points[max(r, s)], self.points[min(r, s)]) if r != s else 0.0

    def landmarks(self):
        return sorted(z for z in self.slots if z is not None)

    def nearest(self, y, without=None):
        """Slot of the landmark nearest to a stored point; of equally near ones, the earliest."""
        taken = [s for s, z in enumerate(self.slots) if z is not None and s != without]
        return min(taken, key=lambda s: (self.d(y, self.slots[s]), self.slots[s]))

    def add(self, x):
        n = self.seen
        self.seen += 1
        self.everything.append(x)
        self.points[n] = x
        if not self.all():
            self.slots[0] = n
            self.store(n, 0)
            return
        if self.rejoin(n):
            return
        slot = self.nearest(n)
        uncovered = self.d(n, self.slots[slot]) > self.rho
        while True:
            if not uncovered and self.join(n, slot):
                return
            if len(self.weight) < self.memory:
                break
            self.make_room()
            if self.rejoin(n):
                return
        self.store(n, slot)
        if uncovered:
            self.enter(n)
            if None not in self.slots:
                self.leave(min(self.all(), key=lambda s: (self.cost(s), self.slots[s])))
                self.rho = self.covering_radius()

    def cost(self, slot):
        return max((self.d(y, self.slots[self.nearest(y, slot)]) for y in self.lists[slot]), default=0.0)

    def all(self):
        return [s for s, z in enumerate(self.slots) if z is not None]

    def store(self, n, slot):
        self.weight[n], self.spread[n] = 1, 0.0
        self.lists[slot].append(n)
        self.remember(n, n)

    def box(self, x, steps, grid, places):
        """Four signed sums of coordinates, in steps, as a number."""
        number = 0
        for axis, factor in enumerate(
            (11400714819323198485, 14029467366897019727, 9650029242287828579, 2870177450012600261)
        ):
            total = 0.0
            for j in range(axis, len(x), 4):
                total += float(x[j]) if ((j + 512 * grid) % 1024 * 2654435761 >> 7) & 1 else -float(x[j])
            step = total * steps + 0.5 * grid
            number += math.floor(step) * factor if abs(step) < 1e15 else 0
        number %= 2**64
        return ((number ^ (number >> 32)) * 11400714819323198485 % 2**64 >> 32) % places

    def has_boxes(self):
        return self.n_boxes is not None and self.resolution is not None and self.scale(self.resolution) > 1e-280

    def boxes_of(self, n):
        """Where the witness of the small box and those of the two large ones of a point are noted."""
        x, steps = self.points[n], 1 / math.sqrt(self.scale(self.resolution))
        small = self.box(x, 1.4 * steps, 0, self.n_boxes // 8)
        return small, [(grid, self.box(x, steps, grid, self.n_boxes // 16)) for grid in (0, 1)]

    def rejoin(self, n):
        """Join a witness that another point of one of the boxes joined before."""
        if not self.has_boxes():
            return False
        small, large = self.boxes_of(n)
        for w in self.small.get(small, []) + [w for box in large for w in self.large.get(box, [])]:
            if self.d(n, w) <= self.scale(self.resolution):
                self.gain(w)
                self.spread[w] = max(self.spread[w], self.root(self.d(n, w)))
                if w not in self.small.get(small, []):
                    self.note_small(small, w)
                return True
        return False

    def note_small(self, small, w):
        self.small[small] = [w, *self.small.get(small, [])[:3]]

    def remember(self, n, w):
        if self.has_boxes():
            small, large = self.boxes_of(n)
            self.note_small(small, w)
            for box in large:
                self.large[box] = [w, *self.large.get(box, [])[:3]]

    def join(self, n, slot):
        for w in self.lists[slot] if self.resolution is not None else []:
            if self.may_merge(w, n) and self.d(n, w) <= self.scale(self.resolution):
                self.gain(w)
                self.spread[w] = max(self.spread[w], self.root(self.d(n, w)))
                self.remember(n, w)
                return True
        return False

    def enter(self, n):
        new = self.slots.index(None)
        others = self.all()
        self.slots[new] = n
        for s in others:
            moving = [y for y in self.lists[s] if self.nearest(y) == new]
            self.lists[s] = [y for y in self.lists[s] if y not in moving]
            self.lists[new] += moving

    def leave(self, slot):
        self.slots[slot], moving, self.lists[slot] = None, self.lists[slot], []
        for y in moving:
            self.lists[self.nearest(y)].append(y)

    def covering_radius(self):
        return max(self.d(y, self.slots[s]) for s in self.all() for y in self.lists[s])

    def make_room(self):
        while len(self.weight) > self.memory - self.memory // 8:
            self.age()
            orders = [
                sorted(self.lists[s], key=lambda y, z=self.slots[s]: (self.root(self.d(y, z)), y != z))
                for s in self.all()
            ]
            pairs = [(order, j) for order in orders for j in range(1, len(order))]
            costs = []
            for order, j in pairs[:: math.ceil(len(pairs) / 1024)]:
                earlier = [y for y in order[:j] if self.may_merge(y, order[j])]
                least = min((self.root(self.d(order[j], y)) for y in earlier), default=math.inf)
                costs += [least + self.spread[order[j]]] if least < math.inf else []
            self.resolution = max(self.resolution or 0.0, sorted(costs)[len(costs) // 2])
            for order in orders:
                kept = []
                for y in order:
                    into = [k for k in kept if self.may_merge(k, y)]
                    into = [k for k in into if self.root(self.d(y, k)) + self.spread[y] <= self.resolution]
                    if into:
                        self.merge(y, into[-1])
                    else:
                        kept.append(y)
            self.lists = [[y for y in cell if y in self.weight] for cell in self.lists]
            self.small, self.large = {}, {}
            for y in sorted(self.weight):
                self.remember(y, y)

    def may_merge(self, y, z):
        return True

    def age(self):
        pass

    def gain(self, w):
        self.weight[w] += 1

    def merge(self, y, into):
        self.weight[into] += self.weight.pop(y)
        self.spread[into] = max(self.spread[into], self.root(self.d(y, into)) + self.spread.pop(y))

    def mass(self, y):
        return self.weight[y]

    def masses(self):
        return [sum(self.mass(y) for y in self.lists[self.slots.index(z)]) for z in self.landmarks()]

    def largest_distance(self):
        """Of all points ever seen to their nearest landmark."""
        return max(min(self.root(self.distance(x, self.points[z])) for z in self.landmarks()) for x in self.everything)


class Forgetful(Bounded):
    """Points are remembered for a while: in a window, or until what is left of their weight is too little.

    A landmark that nothing remembered is nearest to leaves; as long as slots are free, the point farthest from its
    landmark takes one; the radius shrinks to what the remembered points need.
    """

    def __init__(self, *args, window=None, half_life=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.least, self.window, self.half_life = self.rho, window, half_life
        self.time, self.now = {}, -math.inf

    def add_at(self, x, now):
        before, self.now = self.now, now
        self.forget()
        self.now = before  # witnesses merge as they were when the last point arrived
        self.arriving = now
        self.add(x)
        self.now = now
        limit = max(self.memory // 8, 1)
        if self.resolution and self.seen % limit == 0 and len(self.weight) < self.memory // 2:
            self.resolution *= 0.8

    def until(self, y):
        if self.resolution is None:
            return self.time[y] + self.window
        part = self.window / 8
        return (math.floor(self.time[y] / part) + 1) * part + self.window

    def forget(self):
        if self.window is not None:
            gone = [y for y in sorted(self.weight) if self.until(y) <= self.now]
        else:
            time_to_look = self.seen % max(int(min(self.half_life, 64)), 1) == 0
            gone = [y for y in sorted(self.weight) if time_to_look and self.mass(y) < 1 / 128]
        for y in gone:
            cell = self.lists[self.nearest(y)]
            last = cell.pop()
            if last != y:
                cell[cell.index(y)] = last
            del self.weight[y], self.spread[y], self.time[y]
        if not gone:
            return
        for s in self.all():
            if not self.lists[s]:
                self.leave(s)
        while 0 < len(self.all()) < self.m and self.covering_radius() > self.least:
            distance = {y: self.d(y, self.slots[s]) for s in self.all() for y in self.lists[s]}
            self.enter(min(distance, key=lambda y: (-distance[y], y)))
        covering = self.covering_radius() if self.all() else 0.0
        self.rho = min(self.rho, max(self.least, covering))

    def store(self, n, slot):
        super().store(n, slot)
        self.time[n] = self.arriving

    def may_merge(self, y, z):
        if self.window is None:
            return True
        times = [self.time.get(w, self.arriving) for w in (y, z)]
        return math.floor(times[0] / (self.window / 8)) == math.floor(times[1] / (self.window / 8))

    def mass(self, y):
        if self.half_life is None:
            return self.weight[y]
        return self.weight[y] * 2.0 ** ((self.time[y] - self.now) / self.half_life)

    def gain(self, w):
        if self.half_life is not None:
            self.weight[w] *= 2.0 ** ((self.time[w] - self.arriving) / self.half_life)
            self.time[w] = self.arriving
        super().gain(w)

    def age(self):
        """Bring all weights to the same time."""
        if self.half_life is not None:
            for y in self.weight:
                self.weight[y], self.time[y] = max(self.mass(y), 2.0**-1022), self.now

    def merge(self, y, into):
        super().merge(y, into)
        del self.time[y]


def only_by(z, landmarks, neighbours):
    """OnlyBy(z): the points of N(z) and z itself that z alone covers."""
    chosen = set(landmarks)
    return {y for y in neighbours[z] | {z} if len((neighbours[y] | {y}) & chosen) == 1}


def radius_graph(distances, rho):
    n = len(distances)
    return [{s for s in range(n) if s != r and distances[r][s] <= rho} for r in range(n)]


def greedy_dominating_set(neighbours):
    """Algorithm 1; of equally good nodes, the smallest."""
    chosen, uncovered = [], set(range(len(neighbours)))
    while uncovered:
        outside = [r for r in range(len(neighbours)) if r not in chosen]
        best = max(outside, key=lambda r: (len((neighbours[r] | {r}) & uncovered), -r))
        chosen.append(best)
        uncovered -= neighbours[best] | {best}
    return chosen


def merge_sorted(x, y):
    """Algorithm 4: two-way merge of two ascending lists."""
    z, r, s = [], 0, 0
    while r < len(x) and s < len(y):
        if x[r] <= y[s]:
            z.append(x[r])
            r += 1
        else:
            z.append(y[s])
            s += 1
    return z + y[s:] if r == len(x) else z + x[r:]


def farthest_first(points, m, distance):
    """Start with the first point; take the point farthest from those taken, the earliest of equals."""
    chosen = [0]
    while len(chosen) < min(m, len(points)):
        reach = [min(distance(x, points[c]) for c in chosen) for x in points]
        if max(reach) == 0:
            break
        chosen.append(reach.index(max(reach)))
    return chosen


def lmds(landmark_distances, point_distances, k):
    """Landmark MDS by its formulas: landmark coordinates (m, k) and point coordinates (n, k)."""
    delta = np.asarray(landmark_distances, dtype=float) ** 2
    m = len(delta)
    h = np.eye(m) - np.ones((m, m)) / m
    values, vectors = np.linalg.eigh(-0.5 * h @ delta @ h)
    order = np.argsort(values)[::-1][:k]
    values, vectors = values[order], vectors[:, order]
    coordinates = np.array([math.sqrt(values[r]) * vectors[:, r] for r in range(k)]).T
    projection = np.array([vectors[:, r] / math.sqrt(values[r]) for r in range(k)])
    delta_mu = delta.mean(axis=0)
    placed = [-0.5 * projection @ (np.asarray(row, dtype=float) ** 2 - delta_mu) for row in point_distances]
    return coordinates, np.array(placed)


def stress(distances, coordinates):
    """Normalised stress sigma: the double sum over pairs s < r."""
    above, below = 0.0, 0.0
    for r in range(len(distances)):
        for s in range(r):
            gap = distances[s][r] - math.dist(coordinates[s], coordinates[r])
            above += gap * gap
            below += distances[s][r] ** 2
    return math.sqrt(above / below)
