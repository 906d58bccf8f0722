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
