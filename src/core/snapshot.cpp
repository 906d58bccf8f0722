#include "snapshot.h"

#include <algorithm>
#include <stdexcept>

namespace driftmap {
namespace {

constexpr double kLargest = 1e300;

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

bool is_distance(double x) { return x >= 0 && x < kLargest; }

void restore_scalars(State& state, const Snapshot& from) {
    const bool known = from.resolution == -1.0 || (state.parameters.bounded() && is_distance(from.resolution));
    require(from.n_points > 0 && from.n_points <= from.seen &&
                from.n_points < std::numeric_limits<std::int32_t>::max() && from.n_replacements >= 0 &&
                from.held >= 0 && from.held < 32,
            "its counts contradict each other");
    require(is_distance(from.radius) && from.base >= 0 && from.base <= from.radius && known, "its radius is none");
    require(state.parameters.expires() ? std::fabs(from.now) < kInfinity : from.now == -kInfinity, "its time is none");
    state.seen = from.seen, state.n_replacements = from.n_replacements, state.held = int(from.held);
    state.total = from.total, state.radius = from.radius, state.base = from.base;
    state.resolution = from.resolution, state.now = from.now;
    state.n = state.live = std::int32_t(from.n_points);
}

void restore_representatives(State& state, const Snapshot& from) {
    const Parameters& parameters = state.parameters;
    const std::size_t n = parameters.weighted() ? std::size_t(state.n) : 0;
    require(from.arrivals.size() == n && from.weights.size() == n && from.spreads.size() == n && from.times.size() == n,
            "its arrays have different lengths");
    require(n > 0 || state.seen == state.n, "it does not hold all points");
    std::int64_t arrival = -1;
    double time = -kInfinity, sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        const Representative one{from.arrivals[i], from.weights[i], from.spreads[i], from.times[i], 0};
        require(one.arrival > arrival && one.arrival < state.seen, "its arrivals are not in order");
        require(is_distance(one.weight) && is_distance(one.spread), "its weights or spreads are none");
        require(parameters.expires() ? one.time > -kInfinity && one.time <= state.now : one.time == 0,
                "its times are none");
        require(one.time >= time || parameters.half_life < kInfinity, "its times are not in order");
        arrival = one.arrival, time = one.time, sum += one.weight;
        state.live -= one.weight == 0.0;
        state.representatives.push_back(one);
    }
    require(n == 0 || (parameters.expires() ? sum <= state.total : sum == state.total), "its weights do not add up");
    require(!parameters.bounded() || state.live <= parameters.memory, "it holds more points than its memory");
}

void restore_landmarks(State& state, Space& space, const Snapshot& from) {
    const std::size_t m = from.landmarks.size();
    require(m > 0 && m <= std::size_t(state.parameters.n_landmarks), "its landmarks are too few or too many");
    std::int32_t forgotten = state.n - state.live;
    for (std::size_t j = 0; j < m; ++j) {
        const std::int64_t row = from.landmarks[j];
        require(row > (j == 0 ? -1 : from.landmarks[j - 1]) && row < state.n, "its landmarks are not among its points");
        state.landmarks.row[j] = std::int32_t(row);
        state.landmarks.id[j] += state.id_step;
        state.landmarks.order.push_back(std::int32_t(j));
        space.on_landmark(int(j), std::int32_t(row));
        forgotten -= !state.representatives.empty() && state.representatives[row].weight == 0.0;
    }
    require(forgotten == 0, "it holds forgotten points");
}

void restore_cells(State& state, Space& space, const Snapshot& from, bool measure) {
    const std::size_t n = std::size_t(state.live);
    const std::int64_t m = state.n_landmarks();
    require(from.order.size() == n && from.cells.size() == n && from.seconds.size() == n &&
                from.distances.size() == n && from.second_distances.size() == n,
            "its arrays have different lengths");
    std::vector<char> found(state.n, 0);
    std::vector<std::int32_t> rows;
    for (const std::int64_t row : from.order) {
        require(row >= 0 && row < state.n && !found[row], "its order is none");
        require(state.representatives.empty() || state.representatives[row].weight > 0, "it holds forgotten points");
        found[row] = 1;
        rows.push_back(std::int32_t(row));
    }
    std::vector<Nearest> measured(measure ? n : 0);
    space.nearest_of_stored(rows.data(), int(measured.size()), state.landmarks, measured.data());
    for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t cell = from.cells[i], second = from.seconds[i];
        const double t = from.distances[i], u = from.second_distances[i];
        require(cell >= 0 && cell < m && second >= -1 && second < m && second != cell, "its cells are none");
        require(t >= 0 && t <= u && t < kInfinity && (u < kInfinity || (m == 1 && second < 0)),
                "its distances are none");
        require(state.landmarks.row[cell] != rows[i] || t == 0, "its landmarks are not in their cells");
        const Record record{t, u, second < 0 ? 0 : state.landmarks.id[second], rows[i]};
        if (measure) {
            const bool same = t == measured[i].distance && state.landmarks.id[cell] == measured[i].landmark;
            const bool known = u == measured[i].second_distance && record.second == measured[i].second;
            const bool bound = second < 0 && u <= measured[i].second_distance;
            require(same && (known || bound), "its distances are not those of its points");
        }
        state.add(std::int32_t(cell), record);
    }
    ++state.departures;  // costs may be lower bounds
    require(state.held > 0 || state.covering_radius() <= state.radius, "its radius does not cover its points");
}

void restore_events(State& state, const Snapshot& from) {
    const std::size_t n = from.event_radii.size() / 2;
    require(from.event_radii.size() == 2 * n && from.event_numbers.size() == 3 * n && n <= State::kMostEvents,
            "its events have different lengths");
    for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t* e = from.event_numbers.data() + 3 * i;
        const double* r = from.event_radii.data() + 2 * i;
        require(e[0] >= 0 && e[0] <= state.seen && std::min(e[1], e[2]) >= -1 && std::max(e[1], e[2]) >= 0 &&
                    std::max(e[1], e[2]) < state.seen && is_distance(r[0]) && is_distance(r[1]),
                "its events are none");
        state.events.push_back({e[0], e[1], e[2], r[0], r[1]});
    }
}

}  // namespace

Snapshot take_snapshot(const State& state) {
    Snapshot to;
    to.seen = state.seen, to.n_replacements = state.n_replacements, to.held = state.held, to.n_points = state.n;
    to.total = state.total, to.radius = state.radius, to.base = state.base;
    to.resolution = state.resolution, to.now = state.now;
    for (const Representative& one : state.representatives) {
        to.arrivals.push_back(one.arrival), to.weights.push_back(one.weight);
        to.spreads.push_back(one.spread), to.times.push_back(one.time);
    }
    std::vector<std::int64_t> place(state.cells.size());
    for (const std::int32_t slot : state.landmarks.order) {
        place[slot] = std::int64_t(to.landmarks.size());
        to.landmarks.push_back(state.landmarks.row[slot]);
    }
    for (const std::int32_t slot : state.landmarks.order)
        for (const Record& record : state.cells[slot].records) {
            to.order.push_back(record.row), to.cells.push_back(place[slot]);
            to.seconds.push_back(state.is_landmark(record.second) ? place[state.slot_of(record.second)] : -1);
            to.distances.push_back(record.distance), to.second_distances.push_back(record.second_distance);
        }
    for (const Event& event : state.events) {
        to.event_numbers.insert(to.event_numbers.end(), {event.arrival, event.came, event.left});
        to.event_radii.insert(to.event_radii.end(), {event.radius_before, event.radius_after});
    }
    return to;
}

void restore_snapshot(Stream& stream, const Snapshot& from, bool measure) {
    restore_scalars(stream.state, from);
    restore_representatives(stream.state, from);
    restore_landmarks(stream.state, *stream.space, from);
    restore_cells(stream.state, *stream.space, from, measure);
    restore_events(stream.state, from);
}

}  // namespace driftmap
