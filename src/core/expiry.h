// Expiry: points are forgotten after a window, or when their weight has decayed by several half-lives.
#pragma once

#include "coreset.h"

namespace driftmap {

constexpr double kLightest = 1.0 / 128;  // least weight: a single point is forgotten after seven half-lives
constexpr double kSweep = 64;            // most arrivals between two sweeps for points below the least weight

inline bool is_due(const State& state, const Representative& one, double now) {
    const Parameters& parameters = state.parameters;
    if (one.weight == 0.0) return true;
    if (parameters.half_life < kInfinity) return state.weight_at(now, one) < kLightest;
    // a representative may represent any point of its eighth of the window
    const double until = state.resolution < 0 ? one.time : (eighth(state, one.time) + 1) * (parameters.window / 8);
    return now - until >= parameters.window;
}

inline void forget(State& state, std::int32_t row) {
    Representative& one = state.representatives[row];
    Cell& cell = state.cells[one.slot];
    const auto record =
        std::find_if(cell.records.begin(), cell.records.end(), [&](const Record& r) { return r.row == row; });
    const bool extreme = record->distance == cell.reach || record->second_distance == cell.cost;
    *record = cell.records.back();
    cell.records.pop_back();
    if (extreme) cell.recompute();
    one.weight = one.spread = 0.0;
    --state.live;
}

// Forget the points that are due when the next point arrives at `now`. Landmarks without points are removed, the
// farthest points take the free slots, and the radius shrinks to cover the rest. Returns true if landmarks changed.
inline bool expire(State& state, Space& space, double now) {
    const Parameters& parameters = state.parameters;
    const std::int32_t before = state.live;
    const bool windowed = parameters.window < kInfinity;
    if (windowed || state.seen % std::max<std::int64_t>(1, std::int64_t(std::min(parameters.half_life, kSweep))) == 0)
        for (std::int32_t row = state.oldest; row < state.n; ++row) {
            const bool due = is_due(state, state.representatives[row], now);
            if (due && state.representatives[row].weight > 0) forget(state, row);
            if (windowed && !due) break;  // rows are in the order of their times
            if (windowed) state.oldest = row + 1;
        }
    if (state.live == before) return false;
    const std::uint64_t version = state.version;
    std::vector<std::pair<std::int32_t, std::int32_t>> changes;  // came, left
    for (const std::int32_t slot : std::vector<std::int32_t>(state.landmarks.order))
        if (state.cells[slot].records.empty()) changes.emplace_back(-1, leave(state, slot));
    while (state.n_landmarks() > 0 && state.n_landmarks() < parameters.n_landmarks) {
        const std::int32_t row = farthest(state, parameters.least_radius);
        if (row < 0) break;
        enter(state, space, row);
        changes.emplace_back(row, -1);
    }
    const double radius = state.radius;
    state.radius = std::min(radius, std::max(parameters.least_radius, state.covering_radius()));
    state.base = std::min(state.base, state.radius);
    for (const auto& [came, left] : changes) state.note(state.seen, came, left, radius);
    return state.version != version;
}

// After an arrival: drop forgotten rows, and refine the resolution if half of the memory is free, or cells are at most
// half full.
inline void relax(State& state, Space& space) {
    const Parameters& parameters = state.parameters;
    const std::int64_t most = std::min<std::int64_t>(parameters.memory, kCrowded * state.n_landmarks());
    if (parameters.bounded() && state.resolution > 0 && state.live < most / 2 &&
        state.seen % std::max<std::int64_t>(1, parameters.memory / 8) == 0)
        state.resolution *= 0.8;
    if (state.n > 2 * state.live + 64) drop_forgotten(state, space);
}

}  // namespace driftmap
