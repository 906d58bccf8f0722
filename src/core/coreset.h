// Bounded memory: the stored points are a core-set, in which each represents the points that joined it or merged into
// it.
//
// Nothing merges before the memory is full. Then the resolution is raised until an eighth of the memory is free, and
// stored points within the resolution of each other merge inside their Voronoi cells. Where cells are still crowded,
// and slow to search, it is raised further, up to a share of the radius; where they are not, to a share at once, so
// that stored points lie evenly. From then on a covered arrival joins the nearest representative of its cell within the
// resolution. Where the resolution is not small against the radius (many dimensions), it joins its landmark instead,
// without a search, unless it would have widened the cell. A representative knows its weight and its spread: by the
// triangle inequality all it represents lies within it, however often it merged. A landmark never merges into another
// point, so merging changes neither landmarks nor radius.
#pragma once

#include <tuple>

#include "cells.h"

namespace driftmap {

constexpr int kCrowded = 48;            // more stored points than this per landmark are slow to search
constexpr double kFine = 0.25;          // the least resolution, relative to the radius, of cells that are not crowded
constexpr double kCoarse = 0.3;         // the resolution, relative to the radius, that crowded cells are thinned to
constexpr double kStale = 0.9;          // they are thinned when it has fallen below this share of kCoarse
constexpr double kSearch = 1.0 / 3.0;   // up to this resolution, relative to the radius, arrivals search their cell
constexpr int kSample = 256;            // stored points by which a resolution is chosen
constexpr int kCandidates = 8;          // distances measured at a time while points merge
constexpr int kSearched = 8;            // records looked through at a time
constexpr int kMostCandidates = 256;    // distances measured before an arrival joins its landmark instead
constexpr int kMostMeasured = 32;       // distances measured before a stored point is given up for this merge
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

// Let an arrival join a representative of its cell within a distance, of the same eighth. Returns -1 if it did, else
// how many were measured.
inline int join_nearby(State& state, Space& space, const Arrival& arrival, const Nearest& near, double within) {
    within -= arrival.spread;
    if (within < 0) return 0;
    // By the triangle inequality, the distance of such a representative to the landmark differs from that of the
    // arrival by no more than that.
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
        for (std::size_t i = first; i < std::min(last, records.size()); ++i) {  // branches would be guesses
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
            std::swap(records[places[k]], records[places[k] / 2]);  // those that arrivals join often move ahead
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

// The stored points of a cell in order of their distances to the landmark, which is the first; each may merge into one
// before it.
struct Entry {
    bool other;  // than the landmark
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

// Measures an entry to those before it, the last first, as long as the triangle inequality with the landmark leaves
// them within `reach`; `visit` gets their rows and distances, and says how far to go on.
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

// The resolution at which this share of a sample of points could merge into an earlier one of their cells.
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

// Merge each point of a cell into the last one before it that is within the resolution; the landmark stays.
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

// Raise the resolution to at least this and merge the stored points within it.
inline void coarsen(State& state, Space& space, double resolution) {
    if (state.parameters.half_life < kInfinity)  // weights are added as of the same time
        for (Representative& one : state.representatives)
            one.weight = state.weight_at(state.now, one), one.time = state.now;
    state.resolution = std::max(resolution, state.resolution);
    for (const std::vector<Entry>& entries : sorted_cells(state, space)) merge(state, space, entries);
    drop_forgotten(state, space);
}

inline bool is_crowded(const State& state, int further = 0) {
    return state.live + further > kCrowded * state.n_landmarks();
}

// Whether cells are crowded, with so many further points, and a coarser resolution is worth its price.
inline bool is_too_fine(const State& state, const Space& space, int further = 0) {
    return state.resolution >= 0 && is_crowded(state, further) &&
           state.resolution < kStale * kCoarse * space.expanded(state.radius);
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

// Raise the resolution and merge stored points until an eighth of the memory is free and no cells are crowded.
// `merged`: streams were merged. On every level of a tree of merges the spread of a point is added to that of the next
// merge, so few points should have one: where the resolution is not small against the radius, they merge into landmarks
// only.
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
        // Where almost all stored points represent cells of their own, none may be within the radius of another.
        if (state.live == before && before > most) coarsen(state, space, merge_cost(state, space, 0.125));
        if (state.live == before)  // no merge was cheap enough
            state.resolution = before > most ? std::max(2 * state.resolution, 1e-300) : enough;
    }
}

}  // namespace driftmap
