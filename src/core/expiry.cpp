#include "expiry.h"

#include <algorithm>

namespace driftmap {
namespace {

constexpr double kLightest = 1.0 / 128;  // a point that nothing joined is forgotten after seven half-lives
constexpr double kSweep = 64;            // the most arrivals between two looks for points that have become too light

bool is_due(const State& state, const Representative& one, double now) {
    const Parameters& parameters = state.parameters;
    if (one.weight == 0.0) return true;
    if (parameters.half_life < kInfinity)
        return one.weight * std::exp2((one.time - now) / parameters.half_life) < kLightest;
    // a representative may stand for any point of its eighth of the window
    const double until = state.resolution < 0 ? one.time : (eighth(state, one.time) + 1) * (parameters.window / 8);
    return until + parameters.window <= now;
}

void forget(State& state, std::int32_t row) {
    Representative& one = state.representatives[row];
    Cell& cell = state.cells[one.slot];
    const auto record =
        std::find_if(cell.records.begin(), cell.records.end(), [&](const Record& r) { return r.row == row; });
    const bool extreme = record->distance == cell.reach || record->second_distance == cell.cost;
    *record = cell.records.back();
    cell.records.pop_back();
    if (extreme) cell.measure_all();
    one.weight = one.spread = 0.0;
    --state.live;
}

}  // namespace

bool expire(State& state, Space& space, double now) {
    const std::int32_t before = state.live;
    if (state.parameters.window < kInfinity) {
        for (; state.oldest < state.n && is_due(state, state.representatives[state.oldest], now); ++state.oldest)
            if (state.representatives[state.oldest].weight > 0) forget(state, state.oldest);
    } else if (state.seen % std::max<std::int64_t>(1, std::int64_t(std::min(state.parameters.half_life, kSweep))) ==
               0) {
        for (std::int32_t row = 0; row < state.n; ++row)
            if (state.representatives[row].weight > 0 && is_due(state, state.representatives[row], now))
                forget(state, row);
    }
    if (state.live == before) return false;
    const std::uint64_t version = state.version;
    std::vector<std::pair<std::int32_t, std::int32_t>> changes;  // came, left
    for (const std::int32_t slot : std::vector<std::int32_t>(state.landmarks.order))
        if (state.cells[slot].records.empty()) changes.emplace_back(-1, leave(state, slot));
    while (state.n_landmarks() > 0 && state.n_landmarks() < state.parameters.n_landmarks) {
        const std::int32_t row = farthest(state, state.parameters.least_radius);
        if (row < 0) break;
        enter(state, space, row);
        changes.emplace_back(row, -1);
    }
    const double radius = state.radius;
    state.radius = std::min(radius, std::max(state.parameters.least_radius, state.covering_radius()));
    state.base = std::min(state.base, state.radius);
    for (const auto& [came, left] : changes) state.note(state.seen, came, left, radius);
    return state.version != version;
}

void relax(State& state, Space& space) {
    const Parameters& parameters = state.parameters;
    if (parameters.bounded() && state.resolution > 0 && state.live < parameters.memory / 2 &&
        state.seen % std::max<std::int64_t>(1, parameters.memory / 8) == 0)
        state.resolution *= 0.8;
    if (state.n > 2 * state.live + 64) drop_forgotten(state, space);
}

void drop_forgotten(State& state, Space& space) {
    std::vector<char> gone(state.n, 0);
    for (std::int32_t row = 0; row < std::int32_t(state.representatives.size()); ++row)
        gone[row] = state.representatives[row].weight == 0.0;
    for (const std::int32_t slot : state.landmarks.order) gone[state.landmarks.row[slot]] = 0;
    retain(state, space, gone);
}

}  // namespace driftmap
