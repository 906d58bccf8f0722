// Converts the state of a stream to numbers and columns for a checkpoint, and back.
//
// A checkpoint may be forged, so `restore` rejects a state with an index, an order or a number that could make the core
// read out of bounds or loop forever. It does not measure distances again: wrong distances give a wrong map, as a
// different checkpoint would.
#pragma once

#include "arrays.h"
#include "rows.h"
#include "stream.h"

namespace driftmap {

// A record that identifies landmarks by their position in order of arrival; -1: unknown.
struct PlacedRecord {
    std::int64_t row, cell, second;
    double distance, second_distance;
};

void each_number(State& state, auto visit) {
    visit("seen", state.seen), visit("n_replacements", state.n_replacements), visit("held", state.held);
    visit("n_points", state.n), visit("total", state.total), visit("radius", state.radius), visit("base", state.base);
    visit("resolution", state.resolution), visit("now", state.now);
}

void each_column(std::vector<Representative>& stored, std::vector<PlacedRecord>& records, auto visit) {
    visit("arrivals", stored, &Representative::arrival), visit("weights", stored, &Representative::weight);
    visit("spreads", stored, &Representative::spread), visit("times", stored, &Representative::time);
    visit("order", records, &PlacedRecord::row), visit("cells", records, &PlacedRecord::cell);
    visit("seconds", records, &PlacedRecord::second), visit("distances", records, &PlacedRecord::distance);
    visit("second_distances", records, &PlacedRecord::second_distance);
}

// Return the state as a dict; drops forgotten points first.
inline nb::dict dump(Stream& stream) {
    State& state = stream.state;
    drop_forgotten(state, *stream.space);
    std::vector<std::int64_t> places(state.cells.size()), landmarks, event_numbers;
    std::vector<double> event_radii, points;
    std::vector<PlacedRecord> records;
    for (const std::int32_t slot : state.landmarks.order) {
        places[slot] = std::int64_t(landmarks.size());
        landmarks.push_back(state.landmarks.row[slot]);
    }
    for (const std::int32_t slot : state.landmarks.order)
        for (const Record& record : state.cells[slot].records) {
            const std::int64_t second = state.is_landmark(record.second) ? places[state.slot_of(record.second)] : -1;
            records.push_back({record.row, places[slot], second, record.distance, record.second_distance});
        }
    for (const Event& event : state.events) {
        event_numbers.insert(event_numbers.end(), {event.arrival, event.came, event.left});
        event_radii.insert(event_radii.end(), {event.radius_before, event.radius_after});
    }
    nb::dict out;
    each_number(state, [&](const char* name, auto number) { out[name] = number; });
    each_column(state.representatives, records, [&]<class Row, class T>(const char* name, auto& rows, T Row::* field) {
        std::vector<T> column;
        for (const Row& row : rows) column.push_back(row.*field);
        out[name] = to_numpy(std::move(column));
    });
    out["landmarks"] = to_numpy(std::move(landmarks));
    out["event_numbers"] = to_numpy(std::move(event_numbers));
    out["event_radii"] = to_numpy(std::move(event_radii));
    if (const auto* space = dynamic_cast<RowSpace*>(stream.space.get())) {
        for (std::int32_t i = 0; i < state.n; ++i)
            points.insert(points.end(), space->points[i], space->points[i] + space->width);
        out["points"] = to_numpy(std::move(points), {std::size_t(state.n), std::size_t(space->width)});
    }
    return out;
}

template <class T>
T value(const nb::dict& from, const char* name) {
    const nb::object found = from[name];
    T out;
    if (!nb::try_cast(found, out, false))
        throw nb::type_error((std::string("its ") + name + " is of another type than in a state").c_str());
    return out;
}

template <class T>
std::vector<T> column(const nb::dict& from, const char* name) {
    const auto array = value<Ndarray<const T, 1>>(from, name);
    return {array.data(), array.data() + array.size()};
}

// Return true if the values are strictly ascending, from 0 to below `below`.
inline bool ascend(const std::vector<std::int64_t>& values, std::int64_t below) {
    std::int64_t least = 0;
    for (const std::int64_t value : values) {
        if (value < least || value >= below) return false;
        least = value + 1;
    }
    return true;
}

// False for NaN.
inline bool in_range(double value, double most = 1e300) { return value >= 0 && value < most; }

inline void check_numbers(const State& s) {
    const Parameters& p = s.parameters;
    require(0 < s.n && s.n <= s.seen && s.seen < (1LL << 62),
            "its number of points contradicts its number of arrivals");
    require(0 <= s.n_replacements && s.n_replacements <= s.seen && 0 <= s.held && s.held < kMostHeld,
            "its number of replacements or of uncovered arrivals is out of range");
    require(in_range(s.radius, kInfinity) && in_range(s.base, kInfinity) && s.base <= s.radius,
            "its radius is not a valid radius");
    require(s.resolution == -1.0 || (p.bounded() && in_range(s.resolution)), "its resolution is not a valid distance");
    require(p.expires() ? std::abs(s.now) < kInfinity : s.now == -kInfinity, "its last time is not a valid time");
}

inline void check_representatives(const State& s) {
    const Parameters& p = s.parameters;
    require(s.representatives.size() == (p.weighted() ? std::size_t(s.n) : 0), "its columns have different lengths");
    require(p.weighted() || s.n == s.seen, "its number of points contradicts its number of arrivals");
    std::int64_t least = 0;
    double earliest = -kInfinity, total = 0.0;
    for (const Representative& one : s.representatives) {
        require(one.arrival >= least && one.arrival < s.seen, "its arrivals are not in order");
        require(in_range(one.weight) && in_range(one.spread), "its weights or spreads are negative or too large");
        require(p.expires() ? std::abs(one.time) < kInfinity && one.time <= s.now : one.time == 0.0,
                "its times are later than the last time, or not valid");
        require(p.half_life < kInfinity || one.time >= earliest, "its times are not in order");
        least = one.arrival + 1, earliest = one.time, total += one.weight;
    }
    require(total < 0x1p62, "its weights are too large");
}

// Check that every live point is in exactly one cell, and every landmark in its own cell.
inline void check_cells(const State& s, const std::vector<std::int64_t>& landmarks,
                        const std::vector<PlacedRecord>& records) {
    const auto m = std::int64_t(landmarks.size());
    require(0 < m && m <= s.parameters.n_landmarks && ascend(landmarks, s.n), "its landmarks are not among its points");
    require(std::size_t(s.n) <= records.size() + landmarks.size(), "its cells do not hold each point once");
    std::vector<bool> is_landmark(s.n), found(s.n);
    for (const std::int64_t row : landmarks) is_landmark[row] = true;
    for (const auto& [row, cell, second, distance, second_distance] : records) {
        require(row >= 0 && row < s.n && !found[row], "its cells do not hold each point once");
        require(cell >= 0 && cell < m && second >= -1 && second < m && second != cell,
                "its cells name landmarks that do not exist");
        require(distance >= 0 && distance < kInfinity && distance <= second_distance &&
                    (second_distance < kInfinity || (m == 1 && second < 0)),
                "its distances are negative, not finite, or not in order");
        require(s.held > 0 || distance <= s.radius, "its radius does not cover its points");
        require(!is_landmark[row] || (landmarks[cell] == row && distance == 0.0),
                "its landmarks are not in their cells");
        found[row] = true;
    }
    for (std::int32_t row = 0; row < s.n; ++row) {
        const bool live = s.representatives.empty() || s.representatives[row].weight > 0.0;
        require(found[row] == live && (live || is_landmark[row]), "its cells do not hold each point once");
    }
    require(!s.parameters.bounded() || std::int64_t(records.size()) <= s.parameters.memory,
            "its points are more than its memory");
}

inline void check_points(const Ndarray<const double, 2>& points, const State& s, int width) {
    require(points.shape(0) == std::size_t(s.n) && points.shape(1) == std::size_t(width),
            "its points are not a matrix with a row for each");
    for (std::size_t i = 0; i < points.size(); ++i)
        require(std::abs(points.data()[i]) <= 1e140, "its points are not finite, or their squares overflow");
}

// Restore an empty stream from a state, which includes the points if the metric is native. An error changes nothing.
inline void restore(Stream& stream, const nb::dict& from) {
    require(stream.state.seen == 0, "the stream has seen points already");
    State state(stream.state.parameters);
    each_number(state, [&]<class T>(const char* name, T& number) { number = value<T>(from, name); });
    std::vector<PlacedRecord> records;
    each_column(state.representatives, records, [&]<class Row, class T>(const char* name, auto& rows, T Row::* field) {
        const std::vector<T> values = column<T>(from, name);
        if (rows.empty()) rows.resize(values.size());
        require(values.size() == rows.size(), "its columns have different lengths");
        for (std::size_t i = 0; i < values.size(); ++i) rows[i].*field = values[i];
    });
    const std::vector<std::int64_t> landmarks = column<std::int64_t>(from, "landmarks");
    check_numbers(state);
    check_representatives(state);
    check_cells(state, landmarks, records);
    for (const std::int64_t row : landmarks) {
        const std::int32_t slot = state.n_landmarks();
        state.landmarks.row[slot] = std::int32_t(row);
        state.landmarks.id[slot] += state.id_step;
        state.landmarks.order.push_back(slot);
    }
    for (const auto& [row, cell, second, distance, second_distance] : records) {
        const std::uint64_t id = second < 0 ? 0 : state.landmarks.id[second];
        state.add(std::int32_t(cell), {distance, second_distance, id, std::int32_t(row)});
    }
    state.live = std::int32_t(records.size());
    ++state.departures;  // costs may be lower bounds
    const std::vector<std::int64_t> e = column<std::int64_t>(from, "event_numbers");
    const std::vector<double> r = column<double>(from, "event_radii");
    const std::size_t k = r.size() / 2;
    require(k <= State::kMostEvents && r.size() == 2 * k && e.size() == 3 * k, "its events have different lengths");
    const auto exists = [&](std::int64_t arrival) { return arrival >= -1 && arrival < state.seen; };
    for (std::size_t i = 0; i < k; ++i) {
        const Event event{e[3 * i], e[3 * i + 1], e[3 * i + 2], r[2 * i], r[2 * i + 1]};
        require(event.arrival >= 0 && event.arrival <= state.seen && exists(event.came) && exists(event.left),
                "its events name points that have not arrived");
        require(in_range(event.radius_before, kInfinity) && in_range(event.radius_after, kInfinity),
                "its events have radii that are not valid");
        state.events.push_back(event);
    }
    if (auto* space = dynamic_cast<RowSpace*>(stream.space.get())) {
        const auto points = value<Ndarray<const double, 2>>(from, "points");
        check_points(points, state, space->width);
        space->keep_all({points.data(), false}, state.n);
    }
    stream.state = std::move(state);
}

}  // namespace driftmap
