// Bounded memory: the stored points are a core-set, in which each represents the points that joined or merged into it.
//
// Merging starts when the memory is full. The resolution is then raised until an eighth of the memory is free: stored
// points within the resolution of each other merge inside their Voronoi cells. If cells are still crowded, and so slow
// to search, it is raised further, up to a share of the radius; otherwise it is raised to at least another share, so
// that stored points are evenly spaced. From then on, a covered arrival joins a representative of its cell within the
// resolution. If the resolution is not small relative to the radius (many dimensions), it joins its landmark instead,
// without a search, unless it would widen the cell. A representative has a weight and a spread: by the triangle
// inequality, all points it represents lie within the spread, after any number of merges. Landmarks never merge into
// other points, so merging changes neither landmarks nor radius.
#pragma once

#include <tuple>

#include "cells.h"

namespace driftmap {

constexpr int kCrowded = 48;            // with more stored points per landmark than this, cells are slow to search
constexpr double kFine = 0.25;          // least resolution, relative to the radius, when merging cells not crowded
constexpr double kCoarse = 0.3;         // resolution, relative to the radius, to which crowded cells are thinned
constexpr double kStale = 0.9;          // crowded cells are thinned if the resolution is below this share of kCoarse
constexpr double kSearch = 1.0 / 3.0;   // up to this resolution, relative to the radius, arrivals search their cell
constexpr int kSample = 256;            // number of stored points from which a resolution is estimated
constexpr int kCandidates = 8;          // distances measured per call while merging
constexpr int kSearched = 8;            // records searched per step
constexpr int kMostCandidates = 256;    // most distances measured before an arrival joins its landmark instead
constexpr int kMostMeasured = 32;       // most distances measured before a merge skips a stored point
constexpr double kRounding = 1 + 1e-9;  // tolerance of tests by the triangle inequality

struct Arrival {
    std::int32_t row;  // in the block
    double time, weight, spread;
};

// The eighth of the window that a time belongs to; points merge only within an eighth.
inline double eighth(const State& state, double time) {
    return state.parameters.window < kInfinity ? std::floor(time / (state.parameters.window / 8)) : 0.0;
}

inline void gain(const State& state, Representative& one, const Arrival& arrival, double distance) {
    one.weight = state.weight_at(arrival.time, one) + arrival.weight;
    if (state.parameters.half_life < kInfinity) one.time = arrival.time;
    one.spread = std::max(one.spread, sum_above(distance, arrival.spread));
}

// Let an arrival join a representative of its cell and eighth of the window within a distance. Returns -1 on success,
// otherwise the number of distances measured.
inline int join_nearby(State& state, Space& space, const Arrival& arrival, const Nearest& near, double within) {
    within -= arrival.spread;
    if (within < 0) return 0;
    // By the triangle inequality, the distances of arrival and representative to the landmark differ by at most
    // `within`.
    const double apart = within * kRounding, distance = space.expanded(near.distance);
    const double least = space.about(std::max(distance - apart, 0.0)), group = eighth(state, arrival.time);
    const double low = least > 1e-270 ? least * (1 - 1e-9) : 0.0,
                 high = space.scaled(space.about(distance + apart), 1.0);
    const double about = space.scaled(space.about(within), 1.0);
    const bool windowed = state.parameters.window < kInfinity;
    std::vector<Record>& records = state.cells[state.slot_of(near.landmark)].records;
    std::size_t places[kSearched];
    std::int32_t rows[kSearched];
    double distances[kSearched];
    int measured = 0;
    for (std::size_t first = 0, last = 2; first < records.size() && measured < kMostCandidates;
         first = last, last += kSearched) {
        int count = 0;
        for (std::size_t i = first; i < std::min(last, records.size()); ++i) {  // branch-free
            const Record& record = records[i];
            places[count] = i, rows[count] = record.row;
            count += (record.distance >= low) & (record.distance <= high) &
                     (!windowed || eighth(state, state.representatives[record.row].time) == group);
        }
        space.measure(&arrival.row, 1, rows, count, distances);
        for (int k = 0; k < count; ++k) {
            const double t = distances[k] <= about ? space.expanded(distances[k]) : kInfinity;
            if (t > within) continue;
            gain(state, state.representatives[rows[k]], arrival, t);
            std::swap(records[places[k]], records[places[k] / 2]);  // move frequently joined records towards the front
            return -1;
        }
        measured += count;
    }
    return measured;
}

// Let an arrival join a stored point that can represent it; `near` are its nearest landmarks. Returns true on success.
inline bool join(State& state, Space& space, const Arrival& arrival, const Nearest& near) {
    if (state.resolution < 0) return false;
    const double radius = space.expanded(state.radius);
    if (state.resolution <= kSearch * radius || state.parameters.window < kInfinity) {
        const int searched = join_nearby(state, space, arrival, near, std::min(state.resolution, radius));
        if (searched < kMostCandidates) return searched < 0;
    }
    const std::int32_t slot = state.slot_of(near.landmark);
    const double distance = space.expanded(near.distance);
    Representative& one = state.representatives[state.landmarks.row[slot]];
    if (near.distance > state.cells[slot].reach || near.second_distance > state.cells[slot].cost || one.weight == 0.0 ||
        sum_above(distance, arrival.spread) > radius || eighth(state, one.time) != eighth(state, arrival.time))
        return false;
    gain(state, one, arrival, distance);
    return true;
}

// A stored point of a cell. Entries are sorted by distance to the landmark, which comes first; each may merge into an
// earlier one.
struct Entry {
    bool other;  // false for the landmark
    double to_landmark;
    std::int32_t row;
};

inline std::vector<std::vector<Entry>> sorted_cells(const State& state, const Space& space) {
    std::vector<std::vector<Entry>> cells;
    for (const std::int32_t slot : state.landmarks.order) {
        std::vector<Entry>& entries = cells.emplace_back();
        for (const Record& record : state.cells[slot].records)
            entries.push_back({record.row != state.landmarks.row[slot], space.expanded(record.distance), record.row});
        std::sort(entries.begin(), entries.end(), [](const Entry& x, const Entry& y) {
            return std::tie(x.other, x.to_landmark, x.row) < std::tie(y.other, y.to_landmark, y.row);
        });
    }
    return cells;
}

// Measure an entry to those before it, the last first, while the triangle inequality with the landmark allows a
// distance within `reach`. `visit` receives their rows and distances, and returns the new `reach`.
inline void walk_back(const State& state, Space& space, const std::vector<Entry>& earlier, const Entry& entry,
                      double reach, auto visit) {
    std::int32_t rows[kCandidates];
    double distances[kCandidates];
    const double group = eighth(state, state.representatives[entry.row].time);
    for (int i = int(earlier.size()) - 1, count = 0, measured = 0; i >= -1 && reach >= 0; --i) {
        const bool far =
            i < 0 || measured == kMostMeasured || entry.to_landmark - earlier[i].to_landmark > reach * kRounding;
        if (!far && eighth(state, state.representatives[earlier[i].row].time) == group) rows[count++] = earlier[i].row;
        if (count < kCandidates && !far) continue;
        space.measure(rows, count, &entry.row, 1, distances);
        for (int k = 0; k < count; ++k) reach = visit(rows[k], space.expanded(distances[k]));
        if (far) return;
        measured += count, count = 0;
    }
}

// Return the resolution at which this share of a sample of points could merge into earlier points of their cells.
inline double merge_cost(const State& state, Space& space, double share) {
    std::vector<double> costs;
    const int step = std::max(1, state.live / kSample);
    int position = 0;
    for (const std::vector<Entry>& entries : sorted_cells(state, space)) {
        std::vector<Entry> earlier;
        for (const Entry& entry : entries) {
            double least = kInfinity;
            if (!earlier.empty() && position++ % step == 0)
                walk_back(state, space, earlier, entry, least,
                          [&](std::int32_t, double t) { return least = std::min(least, t); });
            if (least < kInfinity) costs.push_back(sum_above(least, state.spread(entry.row)));
            earlier.push_back(entry);
        }
    }
    if (costs.empty()) return 0.0;
    const auto last = costs.begin() + std::ptrdiff_t(share * double(costs.size()));
    std::nth_element(costs.begin(), last, costs.end());
    return *last;
}

// Merge each point of a cell, except the landmark, into the last point before it within the resolution.
inline void merge(State& state, Space& space, const std::vector<Entry>& entries) {
    std::vector<Entry> kept;
    for (const Entry& entry : entries) {
        Representative& one = state.representatives[entry.row];
        const double reach = state.resolution - one.spread;
        walk_back(state, space, kept, entry, reach, [&](std::int32_t row, double t) {
            const double spread = sum_above(t, one.spread);
            if (one.weight == 0.0 || spread > state.resolution) return one.weight == 0.0 ? -1.0 : reach;
            Representative& other = state.representatives[row];
            other.weight += one.weight;
            other.spread = std::max(other.spread, spread);
            one.weight = 0.0;
            --state.live;
            return -1.0;
        });
        if (one.weight > 0.0) kept.push_back(entry);
    }
}

// Raise the resolution to at least `resolution`, and merge the stored points within it.
inline void coarsen(State& state, Space& space, double resolution) {
    if (state.parameters.half_life < kInfinity)  // decay all weights to the same time before adding
        for (Representative& one : state.representatives)
            one.weight = state.weight_at(state.now, one), one.time = state.now;
    state.resolution = std::max(resolution, state.resolution);
    for (const std::vector<Entry>& entries : sorted_cells(state, space)) merge(state, space, entries);
    drop_forgotten(state, space);
}

inline bool is_crowded(const State& state, int further = 0) {
    return state.live + further > kCrowded * state.n_landmarks();
}

// Return true if cells would be crowded after `further` points, and the resolution is too fine for the radius.
inline bool is_too_fine(const State& state, const Space& space, int further = 0) {
    return state.resolution >= 0 && is_crowded(state, further) &&
           state.resolution < kStale * kCoarse * space.expanded(state.radius);
}

// Merge the n points that raise the resolution least into their landmarks.
inline void merge_into_landmarks(State& state, Space& space, std::int32_t n) {
    struct Cost {
        double resolution;
        std::int32_t row, landmark;
    };
    std::vector<Cost> costs;
    for (const std::int32_t slot : state.landmarks.order)
        for (const Record& record : state.cells[slot].records)
            if (record.row != state.landmarks.row[slot])
                costs.push_back({sum_above(space.expanded(record.distance), state.spread(record.row)), record.row,
                                 state.landmarks.row[slot]});
    std::nth_element(costs.begin(), costs.begin() + (n - 1), costs.end(), [](const Cost& x, const Cost& y) {
        return x.resolution != y.resolution ? x.resolution < y.resolution : x.row < y.row;
    });
    for (auto cost = costs.begin(); cost != costs.begin() + n; ++cost) {
        Representative &one = state.representatives[cost->row], &other = state.representatives[cost->landmark];
        other.weight += one.weight;
        other.spread = std::max(other.spread, cost->resolution);
        one.weight = 0.0;
        --state.live;
        state.resolution = std::max(state.resolution, cost->resolution);
    }
    drop_forgotten(state, space);
}

// Raise the resolution and merge stored points until an eighth of the memory is free and cells are not crowded.
//
// `merged` is true after streams were merged. Each level of a tree of merges adds to the spreads of points, so few
// points should have one: if the resolution is not small relative to the radius, points merge only into landmarks.
inline void thin(State& state, Space& space, bool merged = false) {
    const std::int64_t most = state.parameters.memory - state.parameters.memory / 8;
    while (state.live > most || is_too_fine(state, space)) {
        const std::int32_t before = state.live;
        const double radius = space.expanded(state.radius), enough = before > most ? radius : kCoarse * radius;
        if (merged && before > most && state.resolution > kSearch * radius) {
            merge_into_landmarks(state, space, std::int32_t(before - most));
            continue;
        }
        const double least = is_crowded(state) ? 0.0 : kFine * radius;
        coarsen(state, space, std::clamp(merge_cost(state, space, 0.5), least, std::max(enough, state.resolution)));
        // If nearly every stored point is a landmark, no two points may be within the radius.
        if (state.live == before && before > most) coarsen(state, space, merge_cost(state, space, 0.125));
        if (state.live == before)  // no two points could merge
            state.resolution = before > most ? std::max(2 * state.resolution, 1e-300) : enough;
    }
}

}  // namespace driftmap
