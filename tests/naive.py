"""The literal algorithms, slow and obvious: the oracle that decides what is correct.

Imports numpy and the standard library only, nothing of the package. Graphs are explicit edge sets. Conventions: an edge
joins points at distance <= rho; edges of equal length enter together; among equal pairs the lexicographically smallest
comes first; an "arbitrary" neighbour is the one with the smallest index. Of equally near landmarks the earliest is the
nearest. Points are named by their arrival numbers 0, 1, 2, ...

**Reduced distances.** Euclidean distances are compared by their squares: that orders pairs as their distances do,
without the rounding of a square root. All other distances are compared as they are.
"""

import functools
import math
from fractions import Fraction

import numpy as np

# --- distances --------------------------------------------------------------------------------------------------------


def total(terms):
    """The sum of one term per coordinate, in the one order that gives a pair of points its distance to the bit.

    Below 16 coordinates: one after the other. From 16 on: sixteen partial sums, coordinate k going to number k mod 16;
    then number i is added to number i + 8, i + 4, i + 2 and i + 1. Terms are numbers, or arrays of one shape.
    """
    terms = list(terms)
    partial = [0.0] * (16 if len(terms) >= 16 else 1)
    for k, term in enumerate(terms):
        partial[k % len(partial)] = partial[k % len(partial)] + term
    while len(partial) > 1:
        half = len(partial) // 2
        partial = [partial[i] + partial[i + half] for i in range(half)]
    return partial[0]


def _ratio(a, b):
    """a / b, where 0 / 0 = 0."""
    return np.where(a == 0, 0.0, a / np.where(a == 0, 1.0, b))


_power = np.vectorize(math.pow, otypes=[float])  # numpy has a power of its own, with other last digits


def squared_euclidean(x, y):
    return total((a - b) * (a - b) for a, b in zip(x, y, strict=True))


def cityblock(x, y):
    return total(abs(a - b) for a, b in zip(x, y, strict=True))


def chebyshev(x, y):
    return functools.reduce(np.maximum, (abs(a - b) for a, b in zip(x, y, strict=True)))


def minkowski(x, y, p):
    """Whole exponents up to 32 are products of so many factors, the others libm's powers."""
    term = (lambda gap: math.prod([gap] * int(p))) if p == int(p) and 1 <= p <= 32 else (lambda gap: _power(gap, p))
    return _power(total(term(abs(a - b)) for a, b in zip(x, y, strict=True)), 1 / p)


def canberra(x, y):
    return total(_ratio(abs(a - b), abs(a) + abs(b)) for a, b in zip(x, y, strict=True))


def braycurtis(x, y):
    return _ratio(
        total(abs(a - b) for a, b in zip(x, y, strict=True)), total(abs(a + b) for a, b in zip(x, y, strict=True))
    )


def cosine(x, y):
    xy, xx, yy = (total(a * b for a, b in zip(u, v, strict=True)) for u, v in ((x, y), (x, x), (y, y)))
    return np.maximum(1 - xy / (np.sqrt(xx) * np.sqrt(yy)), 0.0)


def correlation(x, y):
    x_mean, y_mean = total(x) / len(x), total(y) / len(y)
    return cosine([a - x_mean for a in x], [b - y_mean for b in y])


def hamming(x, y):
    return total((a != b) * 1.0 for a, b in zip(x, y, strict=True)) / len(x)


METRICS = {
    "euclidean": squared_euclidean,
    "cityblock": cityblock,
    "chebyshev": chebyshev,
    "minkowski": minkowski,
    "canberra": canberra,
    "braycurtis": braycurtis,
    "cosine": cosine,
    "correlation": correlation,
    "hamming": hamming,
}
"""Reduced distances of two points: sequences of coordinates, which are numbers, or arrays to measure many pairs."""


def reduced_distances(X, Y, metric="euclidean", **params):
    """Reduced distances between the rows of two matrices."""
    columns = [np.asarray(Z, dtype=np.float64).T for Z in (X, Y)]
    x, y = list(columns[0][:, :, None]), list(columns[1][:, None, :])
    return np.broadcast_to(METRICS[metric](x, y, **params), (len(X), len(Y)))


def squared_distance_matrix(X):
    """All squared Euclidean distances."""
    return reduced_distances(X, X)


def true(reduced, metric="euclidean"):
    """Reduced distances as distances."""
    return np.sqrt(reduced) if metric == "euclidean" else reduced


def distances(X, Y, metric="euclidean", **params):
    """Distances between the rows of two matrices."""
    return true(reduced_distances(X, Y, metric, **params), metric)


def squared_radius(radius):
    """The largest square of a distance that is at most the radius."""
    square = radius * radius
    while math.sqrt(square) > radius:
        square = math.nextafter(square, 0)
    while math.sqrt(math.nextafter(square, math.inf)) <= radius:
        square = math.nextafter(square, math.inf)
    return square


def reduced_radius(radius, metric="euclidean"):
    """A radius in the scale of reduced distances."""
    return squared_radius(radius) if metric == "euclidean" else radius


# --- landmarks --------------------------------------------------------------------------------------------------------


class Online:
    """What both rules share: points, landmarks, and which landmark is nearest to each point.

    ``distance(later, earlier)``, ``initial_radius`` and the radius (the paper's rho) are reduced.
    """

    def __init__(self, m, distance, initial_radius):
        self.m, self.distance = m, distance
        self.rho = initial_radius
        self.points, self.landmarks, self.events = [], [], []
        self.lengths = []  # lengths[r][s], s < r
        self.remembered = []

    def d(self, r, s):
        """A point is no distance away from itself, also where rounding says otherwise (cosine)."""
        return 0.0 if r == s else self.lengths[max(r, s)][min(r, s)]

    def store(self, x):
        """Returns the number of the arrival."""
        self.lengths.append([self.distance(x, y) for y in self.points])
        self.points.append(x)
        self.remembered.append(len(self.points) - 1)
        return len(self.points) - 1

    def nearest(self, y, landmarks=None):
        """The landmark nearest to y; of equally near ones, the earliest."""
        return min(self.landmarks if landmarks is None else landmarks, key=lambda z: (self.d(y, z), z))

    def nearest_before(self, n):
        """The nearest landmark of an arrival that has not been learnt, and the distance."""
        z = self.nearest(n) if self.landmarks else -1
        return (z, self.d(n, z)) if z >= 0 else (-1, math.inf)

    def cells(self):
        """For each landmark, the remembered points nearest to it."""
        cells = {z: [] for z in sorted(self.landmarks)}
        for y in self.remembered:
            cells[self.nearest(y)].append(y)
        return cells

    def masses(self):
        return [len(cell) for cell in self.cells().values()]

    def covering_radius(self):
        return max((self.d(y, z) for z, cell in self.cells().items() for y in cell), default=0.0)

    def change(self, n, kind, came, left, before):
        self.landmarks.sort()
        self.events.append((n, kind, came, left, before, self.rho))


class Paper(Online):
    """Algorithms 2 and 3, arrival by arrival, with explicit edges."""

    def __init__(self, m, distance, initial_radius):
        super().__init__(m, distance, initial_radius)
        self.neighbours = []  # adjacency of the graph at rho
        self.n_edges = 0
        self.waiting = []  # pairs that are no edges yet, (length, r, s), ascending once sorted

    def add(self, x):
        n = self.store(x)
        before_it = self.nearest_before(n)
        self.neighbours.append(set())
        for s in range(n):
            if self.d(s, n) <= self.rho:
                self.join(s, n)
            else:
                self.waiting.append((self.d(s, n), s, n))
        if self.neighbours[n] & set(self.landmarks):
            return before_it
        before = self.rho
        if len(self.landmarks) < self.m:
            self.landmarks.append(n)
            self.change(n, "added", n, None, before)
        else:
            came, left = self.replace(n)
            self.change(n, "widened" if came == left else "replaced", came, left, before)
        return before_it

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
            if not only_by(r, self.landmarks, self.neighbours):
                return r
            if s in self.landmarks and not only_by(s, self.landmarks, self.neighbours):
                return s
            return None
        return s if not only_by(s, self.landmarks, self.neighbours) else None

    def dominates(self):
        return all(self.neighbours[y] & set(self.landmarks) or y in self.landmarks for y in range(len(self.points)))


class Tight(Online):
    """The tight rule: the landmark whose loss costs least leaves, and the radius becomes the covering radius.

    ``slack``: an arrival counts as covered while its distance is at most 1 + slack times the covering radius right
    after the last replacement; the radius is the largest distance accepted since.

    ``gate``: once all landmarks are there, it is shown the distance of each arrival to its nearest landmark, divided by
    the radius, at most 10. An uncovered arrival is held. When the gate returns True and something is held, or when 32
    arrivals are, the point farthest from its landmark is exchanged in.
    """

    HELD = 32

    def __init__(self, m, distance, initial_radius, *, slack=0.0, gate=None, squared=False):
        super().__init__(m, distance, initial_radius)
        self.tolerance = (1 + slack) * (1 + slack) if squared else 1 + slack
        self.least = initial_radius
        self.covered_at = initial_radius  # right after the last replacement
        self.gate, self.held = gate, 0
        self.root = math.sqrt if squared else float

    def add(self, x):
        n = self.store(x)
        before_it = _, distance = self.nearest_before(n)
        complete = len(self.landmarks) == self.m
        signal = False
        if complete and self.gate is not None:
            signal = self.gate(min(self.root(distance) / self.root(self.rho), 10.0))
        if distance <= self.tolerance * self.covered_at:
            self.rho = max(self.rho, distance)
        elif not complete:
            self.landmarks.append(n)
            self.change(n, "added", n, None, self.rho)
        elif self.gate is None:
            self.exchange(n, n)
        else:
            self.held += 1
        if self.held >= self.HELD or (self.held and signal):
            self.held = 0
            point, distance = self.farthest()
            if distance > self.rho:
                self.exchange(n, point)
        return before_it

    def farthest(self):
        """The remembered point farthest from its landmark, the earliest of equals, and its distance."""
        reach = {y: self.d(y, self.nearest(y)) for y in self.remembered}
        point = min(reach, key=lambda y: (-reach[y], y))
        return point, reach[point]

    def exchange(self, n, point):
        before = self.rho
        self.landmarks.append(point)

        def cost(z, cell):
            others = [w for w in self.landmarks if w != z]
            return max((self.d(y, self.nearest(y, others)) for y in cell), default=0.0)

        costs = {z: cost(z, cell) for z, cell in self.cells().items()}
        left = min(costs, key=lambda z: (costs[z], z))
        self.landmarks.remove(left)
        self.rho = self.covered_at = max(self.least, self.covering_radius())  # it may be less where points expire
        self.change(n, "widened" if left == point else "replaced", point, left, before)

    def dominates(self):
        return self.held > 0 or self.covering_radius() <= self.rho


RULES = {"tight": Tight, "paper": Paper}


class Forgetful(Tight):
    """The tight rule where points are forgotten, and nothing is merged.

    A landmark that no remembered point is nearest to leaves, whether it is remembered itself or not; as long as there
    are fewer than m, the point farthest from its landmark becomes one, if it is beyond the initial radius; and the
    radius shrinks to what the remembered points need.
    """

    def __init__(self, m, distance, initial_radius, **options):
        super().__init__(m, distance, initial_radius, **options)
        self.times = []

    def add_at(self, x, time, gone):
        """Forget some points, then take in an arrival."""
        if gone:
            self.forget(gone)
        self.times.append(time)
        return self.add(x)

    def forget(self, gone):
        n, before, first = len(self.points), self.rho, len(self.events)
        self.remembered = [y for y in self.remembered if y not in gone]
        for z, cell in self.cells().items():
            if not cell:
                self.landmarks = [w for w in self.landmarks if w != z]
                self.change(n, "forgotten", None, z, before)
        while 0 < len(self.landmarks) < self.m and self.covering_radius() > self.least:
            point, _ = self.farthest()
            self.landmarks.append(point)
            self.change(n, "added", point, None, before)
        self.rho = min(self.rho, max(self.least, self.covering_radius()))
        self.covered_at = min(self.covered_at, self.rho)
        self.events[first:] = [(*event[:5], self.rho) for event in self.events[first:]]

    def expired(self, now, window):
        """The points whose time in the window is over."""
        return {y for y in self.remembered if self.times[y] + window <= now}


def tight_by_matrix(D, m, rho, slack=0.0):
    """The tight rule from a matrix of squared distances, for streams too long for Tight.

    Returns landmarks, masses, radius and, for each exchange, (arrival, the one that left, radius).
    """
    landmarks, history, covered_at = [], [], rho
    for x in range(len(D)):
        distance = D[x, landmarks].min() if landmarks else math.inf
        if distance <= (1 + slack) * (1 + slack) * covered_at:
            rho = max(rho, distance)
            continue
        landmarks.append(x)
        if len(landmarks) <= m:
            continue
        to_landmarks = D[: x + 1, landmarks]
        order = np.argsort(to_landmarks, axis=1, kind="stable")
        second = np.take_along_axis(to_landmarks, order[:, 1:2], axis=1)[:, 0]
        cost = [second[order[:, 0] == place].max() for place in range(m + 1)]
        left = landmarks.pop(int(np.argmin(cost)))
        rho = covered_at = D[: x + 1, landmarks].min(axis=1).max()
        history.append((x, left, rho))
    masses = np.bincount(D[:, landmarks].argmin(axis=1), minlength=len(landmarks))
    return landmarks, masses.tolist(), rho, history


# --- graphs -----------------------------------------------------------------------------------------------------------


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


# --- yardsticks and maps ----------------------------------------------------------------------------------------------


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


# --- other landmark methods -------------------------------------------------------------------------------------------


def nearest_neighbours(D, ids, k):
    """The k nearest of each point among ``ids`` by distance, then number; those at distance 0 do not count."""
    lists = [sorted((D[i, j], j) for j in ids if D[i, j] > 0)[:k] for i in ids]
    return [[j for _, j in one] + [-1] * (k - len(one)) for one in lists]


def geodesics(D, k):
    """Lengths of shortest paths (Floyd and Warshall) in the graph that joins each point to its k nearest others."""
    n = len(D)
    G = np.where(D == 0, 0.0, np.inf)
    for i, near in enumerate(nearest_neighbours(D, range(n), k)):
        for j in near:
            if j >= 0:
                G[i, j] = G[j, i] = D[i, j]
    for j in range(n):
        G = np.minimum(G, G[:, j : j + 1] + G[j])
    return G


def diffusion_map(D, sigma, alpha, time, k):
    """Coifman and Lafon's diffusion map of equally heavy points, eigenfunctions of mean square 1; and eigenvalues."""
    K = np.exp(-(D**2) / (2 * sigma**2))
    K = K / np.outer(K.sum(axis=1), K.sum(axis=1)) ** alpha
    degrees = K.sum(axis=1)
    values, vectors = np.linalg.eigh(K / np.sqrt(np.outer(degrees, degrees)))  # similar to K / degrees[:, None]
    values, functions = values[::-1][: k + 1], (vectors / np.sqrt(degrees)[:, None])[:, ::-1][:, : k + 1]
    functions = functions / np.sqrt((degrees / degrees.sum()) @ functions**2)
    return functions[:, 1:] * values[1:] ** time, values


def perplexity(shares):
    shares = shares[shares > 0]
    return float(np.exp(-np.sum(shares * np.log(shares))))


def tsne_gradient(P, Y):
    """The gradient of the Kullback-Leibler divergence, one point at a time (van der Maaten and Hinton, Eq. 5)."""
    m = len(Y)
    nearness = np.array([[0.0 if i == j else 1 / (1 + np.sum((Y[i] - Y[j]) ** 2)) for j in range(m)] for i in range(m)])
    Q = nearness / nearness.sum()
    pull = (P - Q) * nearness
    return np.array([4 * sum(pull[i, j] * (Y[i] - Y[j]) for j in range(m)) for i in range(m)])


def affinities(squared, perplexity, n_nearest):
    """Shares exp(-beta d^2) of the nearest points, of this perplexity: beta by bisection. All others have none."""
    near = sorted(range(len(squared)), key=lambda j: (squared[j], j))[:n_nearest]
    low, high = 1e-12, 1e12
    for _ in range(100):
        beta = np.sqrt(low * high)
        weights = np.exp(-beta * (np.array([squared[j] for j in near]) - squared[near[0]]))
        low, high = (beta, high) if perplexity_of_weights(weights) > perplexity else (low, beta)
    shares = np.zeros(len(squared))
    shares[near] = weights / weights.sum()
    return shares


def perplexity_of_weights(weights):
    return perplexity(weights / weights.sum())


def tsne_row_loss(shares, Y, y):
    """The part of t-SNE's loss that depends on where one more row is, but for a factor; and its gradient.

    With P = shares / n for the row, this is -sum P log w, and log of the sum of w over all pairs to first order.
    """
    n = len(Y)
    w = 1 / (1 + np.sum((y - Y) ** 2, axis=1))
    pairs = np.sum(1 / (1 + np.sum((Y[:, None] - Y) ** 2, axis=2))) - n
    loss = np.sum(shares * np.log(1 / w)) + n * np.sum(w) / pairs
    gradient = sum(2 * (shares[j] * w[j] - n * w[j] ** 2 / pairs) * (y - Y[j]) for j in range(n))
    return loss, gradient


def tsne_row(shares, Y, n_steps=11, tolerance=1e-3):
    """Where a row with these affinities to points at Y goes: from the neighbour that the others attract most, downhill.

    A step is the gradient over 2 sum P w, which leads to the minimum of a quadratic bound of the attraction.
    """
    near = np.flatnonzero(shares)
    y = max((Y[i] for i in near), key=lambda place: np.sum(shares / (1 + np.sum((place - Y) ** 2, axis=1))))
    length = 1.0
    for _ in range(n_steps):
        loss, gradient = tsne_row_loss(shares, Y, y)
        step = length * gradient / (2 * np.sum(shares / (1 + np.sum((y - Y) ** 2, axis=1))))
        if np.linalg.norm(step) < tolerance:
            break
        is_down = tsne_row_loss(shares, Y, y - step)[0] <= loss
        y, length = (y - step, min(1.5 * length, 4.0)) if is_down else (y, 0.3 * length)
    return y


def tsne_loss(P, Y):
    """The Kullback-Leibler divergence of affinities on the map from P."""
    m = len(Y)
    nearness = np.array([[0.0 if i == j else 1 / (1 + np.sum((Y[i] - Y[j]) ** 2)) for j in range(m)] for i in range(m)])
    Q = nearness / nearness.sum()
    return sum(P[i, j] * np.log(P[i, j] / Q[i, j]) for i in range(m) for j in range(m) if P[i, j] > 0)


def kernel_tsne(D, Y, Dx, width):
    """Kernel t-SNE for a fixed map of the landmarks (Gisbrecht, Schulz and Hammer)."""
    sigma = [width * min(D[j, i] for i in range(len(D)) if i != j) for j in range(len(D))]

    def shares(distances):
        exponents = [[-((d / s) ** 2) / 2 for d, s in zip(row, sigma, strict=True)] for row in distances]
        rows = [np.exp(np.array(row) - max(row)) for row in exponents]
        return np.array([row / row.sum() for row in rows])

    return shares(Dx) @ np.linalg.pinv(shares(D)) @ Y


def bikernel_tsne(D, T, Dx, k):
    """Bi-kernel t-SNE for a fixed map T of the landmarks (Zhang et al.): landmarks and points."""
    m = len(D)

    def gaussian(distances, between):
        farthest = sorted(between[i, j] for i in range(m) for j in range(i))[-10:]
        sigma = np.median(farthest) / np.sqrt(-2 * np.log(0.6))
        return np.exp(-(distances**2) / (2 * sigma**2))

    between = np.linalg.norm(T[:, None] - T, axis=2)
    KX, KT, kx = gaussian(D, D), gaussian(between, between), gaussian(Dx, D)
    A = np.linalg.pinv(KX.T @ KX) @ KX.T @ KT
    centred = KT - KT.mean(axis=0)
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :k]
    return centred @ axes, (kx @ A - KT.mean(axis=0)) @ axes


def exact_square(x, y):
    """The squared Euclidean distance of two points, without rounding."""
    return sum((Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(x, y, strict=True))


# --- drift: two samples of distances to landmarks ---------------------------------------------------------------------


def two_sample(reference, window):
    """G of the pooled cells and its number of cells, and z-scores of mean distances and of their contrasts.

    Cells in which the window expects fewer than 5 rows are one; if that expects fewer, it joins the smallest other.
    A z-score is that of a mean drawn without replacement from both samples together: first of the distance to each
    landmark, then of |a - b| for standardised distances to two landmarks, each with up to 4 before it (cyclically).
    """
    m, w, n = len(window[0]), len(window), len(window) + len(reference)
    cell = [[min(range(m), key=lambda j: row[j]) for row in rows] for rows in (reference, window)]
    groups, small = [], []
    for j in range(m):
        total = cell[0].count(j) + cell[1].count(j)
        (groups if total * w / n >= 5 else small).append([j])
    rest = [j for group in small for j in group]

    def size(group):
        return sum(part.count(j) for part in cell for j in group)

    if rest and groups and size(rest) * w / n < 5:
        min(groups, key=size).extend(rest)
    elif rest:
        groups.append(rest)
    g = 0.0
    for group in groups:
        for part in cell:
            observed = sum(part.count(j) for j in group)
            if observed:
                g += 2 * observed * math.log(observed / (size(group) * len(part) / n))
    rows = [*reference, *window]
    columns = [_standard_scores([row[j] for row in rows]) for j in range(m)]
    for k in range(1, min(4, (m - 1) // 2) + 1):
        for j in range(m):
            pair = zip(columns[j], columns[(j - k) % m], strict=True)
            columns.append([abs(a - b) for a, b in pair])
    z = []
    for column in columns:
        scores = _standard_scores(column)
        z.append(math.fsum(scores[-w:]) / math.sqrt(w * (n - w) / (n - 1)))
    return g, len(groups), z


def _standard_scores(values):
    """The values with mean 0 and deviation 1; 0 if they are all the same."""
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    return [0.0 if max(values) == min(values) else (value - mean) / deviation for value in values]


def isolation(stored, row, distance):
    """Distance of a row to the nearest stored point over a weighted mean of the distances of stored points to their
    nearest other one: 1/4 for those as near as the 20th nearest to the row, 3/4 for all.
    """
    if len(stored) < 2:
        return math.inf
    own = [min(distance(p, q) for j, q in enumerate(stored) if j != i) for i, p in enumerate(stored)]
    far = [distance(row, p) for p in stored]
    cut = sorted(far)[19] if len(far) > 20 else math.inf
    around = [one for one, d in zip(own, far, strict=True) if d <= cut]
    scale = (math.fsum(around) / len(around) + 3 * math.fsum(own) / len(own)) / 4
    return min(far) / scale if scale else (math.inf if min(far) else 0.0)
