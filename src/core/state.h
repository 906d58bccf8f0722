// The state of a stream: the landmarks, their Voronoi cells, and what the stored points represent.
//
// It is a plain value, of which a copy allows to undo a batch. The points themselves are in the space.
#pragma once

#include <algorithm>
#include <bit>
#include <deque>
#include <numeric>

#include "space.h"

namespace driftmap {

// The sum of two distances, rounded up so that it bounds the third side of the triangle despite rounding errors.
inline double sum_above(double x, double y) { return y == 0.0 ? x : (x + y) * (1 + 1e-12); }

// The nearest landmarks of a stored point. The second-nearest is invalidated lazily: after the landmark `second` was
// removed, `second_distance` is a lower bound until the exact value is needed.
struct Record {
    double distance;         // to the landmark of its cell
    double second_distance;  // to the second-nearest landmark, or a lower bound
    std::uint64_t second;    // id of that landmark; 0: unknown
    std::int32_t row;
};

// The stored points nearest to one landmark.
struct Cell {
    double reach = 0.0;           // the largest distance
    double cost = 0.0;            // the largest second distance: the radius needed without the landmark
    std::uint64_t exact_at = 0;   // the cost is exact, not a lower bound, up to this number of departures
    std::vector<Record> records;  // frequently joined points tend to come first

    void include(const Record& record) {
        reach = std::max(reach, record.distance);
        cost = std::max(cost, record.second_distance);
    }
    void recompute() {
        reach = cost = 0.0;
        for (const Record& record : records) include(record);
    }
};

// What a stored point represents, if memory is bounded or points expire.
struct Representative {
    std::int64_t arrival;
    double weight;      // number of points; with a half-life, as of `time`; 0: forgotten
    double spread;      // all of them lie within this distance
    double time;        // time of arrival; with a half-life, time of the last change of the weight
    std::int32_t slot;  // slot of the cell that contains its record
};

struct Event {
    std::int64_t arrival, came, left;  // -1: none
    double radius_before, radius_after;
};

struct Parameters {
    int n_landmarks = 1;
    bool paper = false;         // Algorithm 2 as printed instead of the tight rule
    double least_radius = 0.0;  // the initial radius, reduced
    double slack = 0.0;
    std::int64_t memory = -1;      // maximum number of stored points; negative: unlimited
    double window = kInfinity;     // how long points are remembered
    double half_life = kInfinity;  // the time in which weights halve

    bool bounded() const { return memory >= 0; }
    bool expires() const { return window < kInfinity || half_life < kInfinity; }
    bool weighted() const { return bounded() || expires(); }
};

struct State {
    explicit State(const Parameters& parameters_)
        : parameters(parameters_), radius(parameters_.least_radius), base(radius), cells(parameters_.n_landmarks + 1) {
        landmarks.row.assign(cells.size(), -1);
        landmarks.id.resize(cells.size());
        std::iota(landmarks.id.begin(), landmarks.id.end(), 0);
        id_step = std::bit_ceil(cells.size());
    }

    static constexpr std::size_t kMostEvents = 10000;
    static constexpr double kLeastWeight = 0x1p-1022;  // of live points: 0 means forgotten

    Parameters parameters;
    std::int64_t seen = 0;
    double total = 0.0;     // weight of all arrivals
    std::int32_t n = 0;     // number of stored points, including forgotten ones
    std::int32_t live = 0;  // number of stored points that are not forgotten
    double radius;          // reduced
    double base;            // the covering radius after the last replacement, reduced
    Landmarks landmarks;
    std::uint64_t id_step;                        // ids of a slot differ by multiples of this power of two
    std::vector<Cell> cells;                      // by slot; n_landmarks + 1, since one is added before one leaves
    std::vector<Representative> representatives;  // by row; empty if every point is stored and represents itself
    double resolution = -1.0;                     // points within this distance may merge; negative: not merged yet
    std::int32_t oldest = 0;                      // all rows before this one are forgotten
    double now = -kInfinity;                      // time of the last arrival
    int held = 0;                                 // uncovered arrivals since the last signal of the gate
    std::uint64_t departures = 0;                 // number of removed landmarks
    std::uint64_t version = 0;                    // changes with landmarks and row numbers
    std::int64_t n_replacements = 0;
    std::deque<Event> events;

    std::int32_t n_landmarks() const { return std::int32_t(landmarks.order.size()); }
    std::int32_t slot_of(std::uint64_t id) const { return std::int32_t(id & (id_step - 1)); }
    bool is_landmark(std::uint64_t id) const {
        const std::int32_t slot = slot_of(id);
        const bool named = landmarks.id[slot] == id,
                   taken = landmarks.row[slot] >= 0;  // both evaluated, to avoid a branch
        return named && taken;
    }
    // Return true if a landmark at distance t is nearer than another; ties go to the earlier one.
    bool is_nearer(double t, std::int32_t row, double distance, std::uint64_t id) const {
        return t < distance || (t == distance && is_landmark(id) && row < landmarks.row[slot_of(id)]);
    }
    std::int64_t arrival(std::int32_t row) const {
        return representatives.empty() ? row : representatives[row].arrival;
    }
    double weight_at(double time, const Representative& one) const {
        if (!(parameters.half_life < kInfinity) || one.weight == 0.0) return one.weight;
        return std::max(one.weight * std::exp2((one.time - time) / parameters.half_life), kLeastWeight);
    }
    double mass(std::int32_t row) const { return representatives.empty() ? 1.0 : weight_at(now, representatives[row]); }
    double spread(std::int32_t row) const { return representatives.empty() ? 0.0 : representatives[row].spread; }
    double largest_spread() const {
        double spread = 0.0;
        for (const Representative& one : representatives)
            if (one.weight > 0.0) spread = std::max(spread, one.spread);
        return spread;
    }
    double covering_radius() const {
        double reach = 0.0;
        for (const Cell& cell : cells) reach = std::max(reach, cell.reach);
        return reach;
    }
    void add(std::int32_t slot, const Record& record) {
        cells[slot].records.push_back(record);
        cells[slot].include(record);
        if (!representatives.empty()) representatives[record.row].slot = slot;
    }
    void note(std::int64_t arrival, std::int32_t came, std::int32_t left, double before) {
        const std::int64_t in = came < 0 ? -1 : this->arrival(came), out = left < 0 ? -1 : this->arrival(left);
        if (in >= 0 && out >= 0 && in != out) ++n_replacements;
        events.push_back({arrival, in, out, before, radius});
        if (events.size() > kMostEvents) events.pop_front();
    }
};

}  // namespace driftmap
