// Bounded memory: the stored points are a core-set, in which each represents the points that joined it or merged into
// it.
//
// Nothing merges before the memory is full. Then the resolution is raised until an eighth of the memory is free, and
// stored points within the resolution of each other merge inside their Voronoi cells. From then on a covered arrival
// joins the nearest representative of its cell within the resolution. Where the resolution is not small against the
// radius (many dimensions), it joins its landmark instead, without a search, unless it would have widened the cell. A
// representative knows its weight and its spread: by the triangle inequality all it represents lies within it, however
// often it merged. A landmark never merges into another point, so merging changes neither landmarks nor radius.
#pragma once

#include "cells.h"

namespace driftmap {

constexpr double kFinest = 0.25;        // the least resolution, relative to the radius: cells stay quick to search
constexpr double kSearch = 1.0 / 3.0;   // up to this resolution, relative to the radius, arrivals search their cell
constexpr int kSample = 256;            // stored points by which a resolution is chosen
constexpr int kCandidates = 8;          // distances measured at a time while points merge
constexpr int kSearched = 16;           // records looked through at a time
constexpr int kMostCandidates = 256;    // distances measured before an arrival joins its landmark instead
constexpr int kMostMeasured = 64;       // distances measured before a stored point is given up for this merge
constexpr double kRounding = 1 + 1e-9;  // of tests by the triangle inequality

struct Arrival {
    std::int32_t row;  // of the block
    double time, weight, spread;
};

// The eighth of the window that a time belongs to: only points of the same one merge.
inline double eighth(const State& state, double time) {
    return state.parameters.window < kInfinity ? std::floor(time / (state.parameters.window / 8)) : 0.0;
}

inline void gain(const State& state, Representative& one, const Arrival& arrival, double distance) {
    one.weight = state.weight_at(arrival.time, one) + arrival.weight;
    if (state.parameters.half_life < kInfinity) one.time = arrival.time;
    one.spread = std::max(one.spread, sum_above(distance, arrival.spread));
}

// Reduced distances between which a distance lies, rounding included.
struct Range {
    Range(const Space& space, double least, double most) {
        if (space.squared) least = least > 0 ? least * least : 0.0, most *= most;
        low = least > 1e-270 && least < kInfinity ? least * (1 - 1e-8) : 0.0;
        high = std::max(most * (1 + 1e-8), 1e-270);
    }
    double low, high;
};

// Let an arrival join a representative of its cell within a distance, of the same eighth. Returns -1 if it did, else
// how many were measured.
inline int join_nearby(State& state, Space& space, const Arrival& arrival, const Nearest& near, double within) {
    within -= arrival.spread;
    if (within < 0) return 0;
    // By the triangle inequality, the distance of such a representative to the landmark differs from that of the
    // arrival by no more than that.
    const double apart = within * kRounding, distance = space.expanded(near.distance);
    const double group = eighth(state, arrival.time);
    const Range ring(space, distance - apart, distance + apart);
    std::vector<Record>& records = state.cells[state.slot_of(near.landmark)].records;
    const bool windowed = state.parameters.window < kInfinity;
    std::size_t places[kSearched];
    std::int32_t rows[kSearched];
    int measured = 0;
    for (std::size_t first = 0, last = 4; first < records.size() && measured < kMostCandidates;
         first = last, last += kSearched) {
        int count = 0;
        for (std::size_t i = first; i < std::min(last, records.size()); ++i) {  // branches would be guesses: none
            const Record& record = records[i];
            places[count] = i, rows[count] = record.row;
            count += (record.distance >= ring.low) & (record.distance <= ring.high) &
                     (!windowed || eighth(state, state.representatives[record.row].time) == group);
        }
        double t;
        const int hit = space.first_within(arrival.row, rows, count, within, &t);
        if (hit >= 0) {
            gain(state, state.representatives[rows[hit]], arrival, t);
            std::swap(records[places[hit]], records[places[hit] / 2]);  // those that arrivals join often move ahead
            return -1;
        }
        measured += count;
    }
    return measured;
}

// Let an arrival join a stored point, if one represents it; `near` are its nearest landmarks.
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

// A stored point on its way into another one.
struct Entry {
    bool landmark;
    double to_landmark;
    std::int32_t row;
    double group;
};

// The entries of each cell in order of their distances to the landmark, which is the first.
inline std::vector<std::vector<Entry>> sorted_cells(const State& state, const Space& space) {
    std::vector<std::vector<Entry>> cells;
    for (const std::int32_t slot : state.landmarks.order) {
        std::vector<Entry>& entries = cells.emplace_back();
        for (const Record& record : state.cells[slot].records)
            entries.push_back({record.row == state.landmarks.row[slot], space.expanded(record.distance), record.row,
                               eighth(state, state.representatives[record.row].time)});
        std::sort(entries.begin(), entries.end(), [](const Entry& x, const Entry& y) {
            if (x.landmark != y.landmark) return x.landmark;
            return x.to_landmark != y.to_landmark ? x.to_landmark < y.to_landmark : x.row < y.row;
        });
    }
    return cells;
}

// Walks from entry j back to earlier ones of its group, some at a time, as long as the difference of their distances to
// the landmark leaves them within `reach`; `visit` gets their places and distances, and says how far to go on.
inline void walk_back(const std::vector<Entry>& entries, const std::vector<int>& earlier, int j, double reach,
                      Space& space, auto visit) {
    int places[kCandidates];
    std::int32_t rows[kCandidates];
    double distances[kCandidates];
    const Entry& entry = entries[j];
    for (int i = int(earlier.size()) - 1, count = 0, measured = 0; i >= -1; --i) {
        const bool far = i < 0 || measured == kMostMeasured ||
                         entry.to_landmark - entries[earlier[i]].to_landmark > reach * kRounding;
        if (!far && entries[earlier[i]].group == entry.group) {
            places[count] = earlier[i], rows[count++] = entries[earlier[i]].row;
        }
        if (count == kCandidates || (far && count > 0)) {
            space.distances(rows, count, entry.row, distances);
            for (int k = 0; k < count; ++k) reach = visit(places[k], space.expanded(distances[k]));
            measured += count, count = 0;
        }
        if (far || reach < 0) return;
    }
}

// The median, over a sample, of the resolution at which a point could merge into an earlier one of its cell.
inline double median_cost(const State& state, Space& space) {
    std::vector<double> costs;
    const int step = std::max(1, state.live / kSample);
    int position = 0;
    for (const std::vector<Entry>& entries : sorted_cells(state, space)) {
        std::vector<int> earlier;
        for (int j = 0; j < int(entries.size()); ++j) {
            if (j > 0 && position++ % step == 0) {
                double least = kInfinity;
                walk_back(entries, earlier, j, least, space, [&](int, double t) { return least = std::min(least, t); });
                if (least < kInfinity) costs.push_back(sum_above(least, state.representatives[entries[j].row].spread));
            }
            earlier.push_back(j);
        }
    }
    if (costs.empty()) return 0.0;
    const auto middle = costs.begin() + std::ptrdiff_t(costs.size() / 2);
    std::nth_element(costs.begin(), middle, costs.end());
    return *middle;
}

// Merge each point of a cell into the last one before it that is within the resolution; the landmark stays.
inline void merge(State& state, Space& space, const std::vector<Entry>& entries) {
    std::vector<int> kept;
    for (int j = 0; j < int(entries.size()); ++j) {
        Representative& one = state.representatives[entries[j].row];
        int into = -1;
        double spread = 0.0;
        if (one.spread <= state.resolution)
            walk_back(entries, kept, j, state.resolution - one.spread, space, [&](int i, double t) {
                if (into < 0 && sum_above(t, one.spread) <= state.resolution)
                    into = i, spread = sum_above(t, one.spread);
                return into < 0 ? state.resolution - one.spread : -1.0;
            });
        if (into < 0) {
            kept.push_back(j);
            continue;
        }
        Representative& other = state.representatives[entries[into].row];
        other.weight += one.weight;
        other.spread = std::max(other.spread, spread);
        one.weight = 0.0;
        --state.live;
    }
}

// Raise the resolution to at least this and merge the stored points within it.
inline void coarsen(State& state, Space& space, double resolution) {
    if (state.parameters.half_life < kInfinity)  // weights are added as of the same time
        for (Representative& one : state.representatives)
            one.weight = state.weight_at(state.now, one), one.time = state.now;
    state.resolution = std::max({resolution, state.resolution, kFinest * space.expanded(state.radius)});
    for (const std::vector<Entry>& entries : sorted_cells(state, space)) merge(state, space, entries);
    drop_forgotten(state, space);
}

// Whether the radius has grown so far since points last merged that a coarser resolution serves as well.
inline bool is_too_fine(const State& state, const Space& space) {
    return state.resolution >= 0 && state.resolution < 0.5 * kFinest * space.expanded(state.radius);
}

// Merge so many points, those that raise the resolution least, into their landmarks.
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

// Raise the resolution and merge stored points until an eighth of the memory is free. `merged`: streams were merged. On
// every level of a tree of merges the spread of a point is added to that of the next merge, so few points should have
// one: where the resolution is not small against the radius, they merge into landmarks only.
inline void thin(State& state, Space& space, bool merged = false) {
    const std::int32_t most = state.parameters.memory - state.parameters.memory / 8;
    while (state.live > most) {
        if (merged && state.resolution > kSearch * space.expanded(state.radius)) {
            merge_into_landmarks(state, space, state.live - most);
            continue;
        }
        const std::int32_t before = state.live;
        coarsen(state, space, median_cost(state, space));
        if (state.live == before)
            state.resolution = std::max(2 * state.resolution, 1e-300);  // no merge was cheap enough
    }
}

}  // namespace driftmap
