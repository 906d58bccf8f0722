// Replacement: an uncovered point becomes a landmark, and if there are then too many, one is removed.
#pragma once

#include "cells.h"

namespace driftmap {

// --- the tight rule ---

// Return the slot of the landmark with the least cost (ties: the earliest). Costs are lower bounds; the lowest is
// refined until the lowest is exact.
inline std::int32_t cheapest(State& state, Space& space) {
    for (;;) {
        std::int32_t best = -1;
        double least = kInfinity, runner_up = kInfinity;
        for (const std::int32_t slot : state.landmarks.order) {
            const double cost = state.cells[slot].cost;
            if (best < 0 || cost < least)
                runner_up = least, least = cost, best = slot;
            else
                runner_up = std::min(runner_up, cost);
        }
        if (state.cells[best].exact_at == state.departures) return best;
        refine_cost(state, space, best, runner_up);
    }
}

// Add a point as a landmark and remove the landmark with the least cost. The radius becomes the covering radius, so it
// can shrink as well as grow. Records the event.
inline void exchange(State& state, Space& space, std::int32_t row) {
    const double before = state.radius;
    enter(state, space, row);
    const std::int32_t left = leave(state, cheapest(state, space));
    state.radius = state.covering_radius();
    if (state.parameters.expires()) state.radius = std::max(state.radius, state.parameters.least_radius);
    state.base = state.radius;
    state.note(state.seen - 1, row, left, before);
}

// --- Algorithms 2 and 3 of the paper, without edges ---

// Return the distances of all stored points to a point, which is stored or in the block.
inline std::vector<double> distances_to(const State& state, Space& space, std::int32_t y) {
    std::vector<std::int32_t> rows(state.n);
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<double> distances(rows.size());
    if (y < 0)
        space.measure(&y, 1, rows.data(), state.n, distances.data());
    else
        space.measure(rows.data(), state.n, &y, 1, distances.data());
    return distances;
}

// N(y): the stored points within the radius of a point, ascending.
inline std::vector<std::int32_t> neighbours(const State& state, Space& space, std::int32_t y) {
    const std::vector<double> distances = distances_to(state, space, y);
    std::vector<std::int32_t> rows;
    for (std::int32_t row = 0; row < state.n; ++row)
        if (row != y && distances[row] <= state.radius) rows.push_back(row);
    return rows;
}

// Return a lower bound on the number of edges among the stored points: every point that is not a landmark has an edge
// to one, and points within half the radius of a landmark are pairwise neighbours if the triangle inequality holds.
inline std::int64_t edges_at_least(const State& state, const Space& space) {
    std::int64_t pairs = 0;
    const double half = space.triangle ? space.reduced(space.expanded(state.radius) / 2 * (1 - 1e-9)) : -1.0;
    for (const Cell& cell : state.cells) {
        const auto close = [&](const Record& record) { return record.distance <= half; };
        const std::int64_t count = std::count_if(cell.records.begin(), cell.records.end(), close);
        pairs += count * (count - 1) / 2;
    }
    return std::max<std::int64_t>(state.n - state.n_landmarks(), pairs);
}

// Lines 1-6 of Algorithm 2: if the degree of the arrival, a row of the block, is too high, return a neighbour of low
// degree; otherwise, or without such a neighbour, -1. This may count all edges, which is slow.
inline std::int32_t neighbour_instead(const State& state, Space& space, std::int32_t arrival, const auto& interrupt) {
    const std::vector<std::int32_t> near = neighbours(state, space, arrival);
    const std::int64_t degree = std::int64_t(near.size());
    if (degree * degree <= 4 * (edges_at_least(state, space) + degree)) return -1;
    const auto degree_of = [&](std::int32_t y) {
        interrupt();
        const bool has_arrival = std::binary_search(near.begin(), near.end(), y);
        return std::int64_t(neighbours(state, space, y).size()) + has_arrival;
    };
    std::int64_t edges = degree;
    for (std::int32_t row = 0; row < state.n; ++row) edges += degree_of(row);
    edges /= 2;
    if (degree * degree <= 4 * edges) return -1;
    for (const std::int32_t y : near)
        if (const std::int64_t other = degree_of(y); other * other <= edges) return y;
    return -1;
}

// Lines 7-18: find the closest pair of a landmark and a stored point beyond the radius (ties: lexicographic); then
// REMOVE. The second loop of the paper tests this pair at growing radii: an end that is a landmark is redundant exactly
// from its cost on, because a larger radius can only shrink its OnlyBy.
inline void replace_as_printed(State& state, Space& space, std::int32_t came) {
    const double before = state.radius;
    enter(state, space, came);
    double closest = kInfinity;
    std::pair<std::int32_t, std::int32_t> pair;
    for (const std::int32_t slot : state.landmarks.order) {
        const std::int32_t landmark = state.landmarks.row[slot];
        const std::vector<double> distances = distances_to(state, space, landmark);
        for (std::int32_t row = 0; row < state.n; ++row) {
            const double t = distances[row];
            if (!(t > state.radius && t <= closest)) continue;
            const std::pair<std::int32_t, std::int32_t> ends = std::minmax(row, landmark);
            if (t < closest || ends < pair) closest = t, pair = ends;
        }
    }
    std::int32_t best = -1;
    double least = kInfinity;
    for (const std::int32_t end : {pair.first, pair.second}) {  // x_r first, so it wins a tie
        for (const std::int32_t slot : state.landmarks.order) {
            if (state.landmarks.row[slot] != end) continue;
            refine_cost(state, space, slot, kInfinity);
            const double needed = std::max(closest, state.cells[slot].cost);
            if (needed < least) best = slot, least = needed;
        }
    }
    const std::int32_t left = leave(state, best);
    state.radius = state.base = least;
    state.note(state.seen - 1, came, left, before);
}

// --- both rules ---

// Make a stored point a landmark after an uncovered arrival, and record the event.
inline void admit(State& state, Space& space, std::int32_t row) {
    if (state.n_landmarks() < state.parameters.n_landmarks) {
        const bool first = state.n_landmarks() == 0;
        enter(state, space, row);
        if (first) state.add(state.landmarks.order[0], {0.0, kInfinity, 0, row});  // not in any cell yet
        state.note(state.seen - 1, row, -1, state.radius);
    } else if (state.parameters.paper) {
        replace_as_printed(state, space, row);
    } else {
        exchange(state, space, row);
    }
}

}  // namespace driftmap
