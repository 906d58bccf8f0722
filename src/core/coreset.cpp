#include "coreset.h"

#include <algorithm>

namespace driftmap {
namespace {

constexpr double kFinest = 0.25;            // the least resolution, relative to the radius: cells stay quick to search
constexpr double kSearch = 1.0 / 3.0;       // up to this resolution, relative to the radius, arrivals search their cell
constexpr int kSample = 256;                // stored points by which a resolution is chosen
constexpr int kCandidates = 8;              // distances measured at a time while points merge
constexpr int kSearched = 64;               // records looked through at a time
constexpr int kMostCandidates = 256;        // distances measured before an arrival joins its landmark instead
constexpr double kLeastWeight = 0x1p-1022;  // of a point that is remembered: 0 is what is forgotten
constexpr double kRounding = 1 + 1e-9;      // of tests by the triangle inequality

// Reduced distances between which a distance lies, rounding included.
struct Range {
    Range(const State& state, double least, double most) {
        if (state.squared) least = least > 0 ? least * least : 0.0, most *= most;
        low = least > 1e-270 && least < kInfinity ? least * (1 - 1e-8) : 0.0;
        high = std::max(most * (1 + 1e-8), 1e-270);
    }
    bool holds(double reduced) const { return (reduced >= low) & (reduced <= high); }
    double low, high;
};

void gain(const State& state, Representative& one, const Arrival& arrival, double distance) {
    if (state.parameters.half_life < kInfinity) {
        one.weight *= std::exp2((one.time - arrival.time) / state.parameters.half_life);
        one.time = arrival.time;
    }
    one.weight += arrival.weight;
    one.spread = std::max(one.spread, sum_above(distance, arrival.spread));
}

// Let an arrival join a representative of its cell within a distance, of the same eighth. Returns -1 if it did, else
// how many were measured.
int join_nearby(State& state, Space& space, const Arrival& arrival, const Nearest& near, double within, double group) {
    within -= arrival.spread;
    if (within < 0) return 0;
    // By the triangle inequality, the distances of such a representative to both landmarks differ from those of the
    // arrival by no more than that.
    const double apart = within * kRounding, distance = space.expanded(near.distance);
    const double second = space.expanded(near.second_distance);
    const Range ring(state, distance - apart, distance + apart), second_ring(state, second - apart, second + apart);
    std::vector<Record>& records = state.cells[state.slot_of(near.landmark)].records;
    const bool windowed = state.parameters.window < kInfinity;
    std::size_t places[kSearched];
    std::int32_t rows[kSearched];
    int measured = 0;
    for (std::size_t first = 0, last = 4; first < records.size() && measured < kMostCandidates;
         first = last, last += kSearched) {
        int count = 0;
        for (std::size_t i = first; i < std::min(last, records.size());
             ++i) {  // without a branch: they would be guesses
            const Record& record = records[i];
            const bool known = state.is_landmark(record.second);
            places[count] = i, rows[count] = record.row;
            count += ring.holds(record.distance) & (record.second_distance <= second_ring.high) &
                     ((record.second_distance >= second_ring.low) | !known) &
                     (!windowed || eighth(state, state.representatives[record.row].time) == group);
        }
        double t;
        const int hit = space.first_within(arrival.i, rows, count, within, &t);
        if (hit >= 0) {
            gain(state, state.representatives[rows[hit]], arrival, t);
            std::swap(records[places[hit]], records.front());  // the next arrivals are likely near, too
            return -1;
        }
        measured += count;
    }
    return measured;
}

// A stored point on its way into another one.
struct Entry {
    bool landmark;
    double to_landmark;
    std::int32_t row;
    double group;
};

// The entries of each cell in order of their distances to the landmark, which is the first.
std::vector<std::vector<Entry>> sorted_cells(const State& state, const Space& space) {
    std::vector<std::vector<Entry>> cells;
    for (const std::int32_t slot : state.landmarks.order) {
        const std::int32_t landmark = state.landmarks.row[slot];
        std::vector<Entry> entries;
        for (const Record& record : state.cells[slot].records)
            entries.push_back({record.row == landmark, space.expanded(record.distance), record.row,
                               eighth(state, state.representatives[record.row].time)});
        std::sort(entries.begin(), entries.end(), [](const Entry& x, const Entry& y) {
            if (x.landmark != y.landmark) return x.landmark;
            return x.to_landmark != y.to_landmark ? x.to_landmark < y.to_landmark : x.row < y.row;
        });
        cells.push_back(std::move(entries));
    }
    return cells;
}

// Walks from entry j back to earlier ones of its group, some at a time, as long as the difference of their distances to
// the landmark leaves them within `reach`; `visit` gets their places and distances, and says how far to go on.
template <class Visit>
void walk_back(const std::vector<Entry>& entries, const std::vector<int>& earlier, int j, double reach, Space& space,
               Visit visit) {
    int places[kCandidates];
    std::int32_t rows[kCandidates];
    double distances[kCandidates];
    const Entry& entry = entries[j];
    for (int i = int(earlier.size()) - 1, count = 0; i >= -1; --i) {
        const bool far = i < 0 || entry.to_landmark - entries[earlier[i]].to_landmark > reach * kRounding;
        if (!far && entries[earlier[i]].group == entry.group) {
            places[count] = earlier[i], rows[count++] = entries[earlier[i]].row;
        }
        if (count == kCandidates || (far && count > 0)) {
            space.between(rows, count, entry.row, distances);
            for (int k = 0; k < count; ++k) reach = visit(places[k], space.expanded(distances[k]));
            count = 0;
        }
        if (far || reach < 0) return;
    }
}

// The median, over a sample, of the resolution at which a point could merge into an earlier one of its cell.
double median_cost(const State& state, Space& space, const std::vector<std::vector<Entry>>& cells) {
    std::vector<double> costs;
    const int step = std::max(1, state.live / kSample);
    int position = 0;
    for (const std::vector<Entry>& entries : cells) {
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
void merge(State& state, Space& space, const std::vector<Entry>& entries, std::vector<char>& gone) {
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
        gone[entries[j].row] = 1;
        --state.live;
    }
}

}  // namespace

double eighth(const State& state, double time) {
    return state.parameters.window < kInfinity ? std::floor(time / (state.parameters.window / 8)) : 0.0;
}

double present_weight(const State& state, const Representative& one) {
    if (!(state.parameters.half_life < kInfinity) || one.weight == 0.0) return one.weight;
    return one.weight * std::exp2((one.time - state.now) / state.parameters.half_life);
}

bool is_too_fine(const State& state, const Space& space) {
    return state.resolution >= 0 && state.resolution < 0.5 * kFinest * space.expanded(state.radius);
}

bool join(State& state, Space& space, const Arrival& arrival, const Nearest& near) {
    if (state.resolution < 0) return false;
    const double radius = space.expanded(state.radius), group = eighth(state, arrival.time);
    if (state.resolution <= kSearch * radius || state.parameters.window < kInfinity) {
        const int searched = join_nearby(state, space, arrival, near, std::min(state.resolution, radius), group);
        if (searched < 0) return true;
        if (searched < kMostCandidates) return false;
    }
    const std::int32_t slot = state.slot_of(near.landmark);
    const double distance = space.expanded(near.distance);
    Representative& one = state.representatives[state.landmarks.row[slot]];
    if (near.distance > state.cells[slot].reach || near.second_distance > state.cells[slot].cost || one.weight == 0.0 ||
        sum_above(distance, arrival.spread) > radius || eighth(state, one.time) != group)
        return false;
    gain(state, one, arrival, distance);
    return true;
}

void coarsen(State& state, Space& space, double resolution) {
    if (state.parameters.half_life < kInfinity)  // weights are added as of the same time
        for (Representative& one : state.representatives)
            if (one.weight > 0) one.weight = std::max(present_weight(state, one), kLeastWeight), one.time = state.now;
    state.resolution = std::max({resolution, state.resolution, kFinest * space.expanded(state.radius)});
    std::vector<char> gone(state.n, 0);
    for (const std::vector<Entry>& entries : sorted_cells(state, space)) merge(state, space, entries, gone);
    for (std::int32_t row = 0; row < state.n; ++row)
        if (state.representatives[row].weight == 0.0) gone[row] = 1;
    for (const std::int32_t slot : state.landmarks.order) gone[state.landmarks.row[slot]] = 0;
    retain(state, space, gone);
}

void thin(State& state, Space& space) {
    while (state.live > state.parameters.memory - state.parameters.memory / 8) {
        const std::int32_t before = state.live;
        coarsen(state, space, median_cost(state, space, sorted_cells(state, space)));
        if (state.live == before)
            state.resolution = std::max(2 * state.resolution, 1e-300);  // no merge was cheap enough
    }
}

}  // namespace driftmap
