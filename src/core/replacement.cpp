#include "replacement.h"

#include <algorithm>
#include <numeric>

namespace driftmap {
namespace {

// The slot of the landmark that is cheapest to lose, the earliest of equals. Lower bounds of all costs are at hand;
// they are made exact from the lowest on, until the lowest is exact.
std::int32_t cheapest(State& state, Space& space) {
    for (;;) {
        std::int32_t best = -1;
        double runner_up = kInfinity;
        for (const std::int32_t slot : state.landmarks.order) {
            const double cost = state.cells[slot].cost;
            if (best < 0 || cost < state.cells[best].cost) {
                if (best >= 0) runner_up = state.cells[best].cost;
                best = slot;
            } else if (cost < runner_up) {
                runner_up = cost;
            }
        }
        if (state.cells[best].exact_at == state.departures) return best;
        refine_cost(state, space, best, runner_up);
    }
}

// --- Algorithms 2 and 3 of the paper, without edges ---

std::vector<std::int32_t> all_rows(const State& state) {
    std::vector<std::int32_t> rows(state.n);
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
}

// N(y): the stored points within the radius of one of them, ascending.
std::vector<std::int32_t> neighbours(const State& state, Space& space, std::int32_t y) {
    std::vector<std::int32_t> rows = all_rows(state);
    std::vector<double> distances(rows.size());
    space.between(rows.data(), state.n, y, distances.data());
    std::erase_if(rows, [&](std::int32_t row) { return row == y || distances[row] > state.radius; });
    return rows;
}

// A lower bound on the number of edges among the points before the newest: every point that is no landmark has an edge
// to one, and points within half the radius of one landmark are pairwise neighbours where the triangle inequality
// holds.
std::int64_t edges_at_least(const State& state, const Space& space) {
    std::int64_t pairs = 0;
    if (space.triangle) {
        const double half = space.reduced(space.expanded(state.radius) / 2 * (1 - 1e-9));
        for (const Cell& cell : state.cells) {
            const auto close = [&](const Record& record) { return record.distance <= half; };
            const std::int64_t count = std::count_if(cell.records.begin(), cell.records.end(), close);
            pairs += count * (count - 1) / 2;
        }
    }
    return std::max<std::int64_t>(state.n - 1 - state.n_landmarks(), pairs);
}

std::int64_t count_edges(const State& state, Space& space) {
    std::int64_t edges = 0;
    for (std::int32_t row = 0; row < state.n; ++row) edges += std::int64_t(neighbours(state, space, row).size());
    return edges / 2;
}

// Lines 1-6 of Algorithm 2: the arrival, or, if its degree is too high, a neighbour of low degree.
std::int32_t newcomer(const State& state, Space& space, std::int32_t arrival) {
    const std::vector<std::int32_t> near = neighbours(state, space, arrival);
    const std::int64_t degree = std::int64_t(near.size());
    if (degree * degree <= 4 * (edges_at_least(state, space) + degree)) return arrival;
    const std::int64_t edges = count_edges(state, space);
    if (degree * degree <= 4 * edges) return arrival;
    for (const std::int32_t y : near) {
        const std::int64_t other = std::int64_t(neighbours(state, space, y).size());
        if (other * other <= edges) return y;
    }
    return arrival;
}

// Lines 7-12: the closest pair of a landmark and a stored point beyond the radius, lexicographically first of equals.
struct Pair {
    double distance = kInfinity;
    std::int32_t r = -1, s = -1;
};

Pair closest_beyond(const State& state, Space& space) {
    const std::vector<std::int32_t> rows = all_rows(state);
    std::vector<double> distances(rows.size());
    Pair best;
    for (const std::int32_t slot : state.landmarks.order) {
        const std::int32_t landmark = state.landmarks.row[slot];
        space.between(rows.data(), state.n, landmark, distances.data());
        for (const std::int32_t row : rows) {
            const double t = distances[row];
            if (!(t > state.radius && t <= best.distance)) continue;
            const std::int32_t r = std::min(row, landmark), s = std::max(row, landmark);
            if (t < best.distance || r < best.r || (r == best.r && s < best.s)) best = {t, r, s};
        }
    }
    return best;
}

// The second loop (lines 13-18) keeps asking REMOVE about that one pair: an end of it that is a landmark is redundant
// exactly from its cost on, because raising the radius can only shrink OnlyBy of it.
std::int32_t replace_as_printed(State& state, Space& space, std::int32_t arrival) {
    const double before = state.radius;
    const std::int64_t number = state.arrival(arrival);
    const std::int32_t came = newcomer(state, space, arrival);
    enter(state, space, came);
    const Pair pair = closest_beyond(state, space);
    std::int32_t best = -1;
    double least = kInfinity;
    for (const std::int32_t end : {pair.r, pair.s}) {  // x_r first, so it wins a tie
        for (const std::int32_t slot : state.landmarks.order) {
            if (state.landmarks.row[slot] != end) continue;
            refine_cost(state, space, slot, kInfinity);
            const double needed = std::max(pair.distance, state.cells[slot].cost);
            if (needed < least) best = slot, least = needed;
        }
    }
    const std::int32_t left = leave(state, best);
    state.radius = state.base = least;
    state.note(number, came, left, before);
    return came;
}

}  // namespace

void exchange(State& state, Space& space, std::int32_t row) {
    const double before = state.radius;
    enter(state, space, row);
    const std::int32_t left = leave(state, cheapest(state, space));
    state.radius = state.covering_radius();
    if (state.parameters.expires()) state.radius = std::max(state.radius, state.parameters.least_radius);
    state.base = state.radius;
    state.note(state.seen - 1, row, left, before);
}

std::int32_t admit(State& state, Space& space, std::int32_t row) {
    if (state.n_landmarks() == state.parameters.n_landmarks) {
        if (state.parameters.paper) return replace_as_printed(state, space, row);
        exchange(state, space, row);
        return row;
    }
    const bool first = state.n_landmarks() == 0;
    enter(state, space, row);
    if (first) state.add(state.landmarks.order[0], {0.0, kInfinity, 0, row});  // there was no cell to take it from
    state.note(state.seen - 1, row, -1, state.radius);
    return row;
}

}  // namespace driftmap
