// The state of a stream as numbers and columns, which a checkpoint can hold, and back.
//
// driftmap/landmarks/state_validation.py checks every fact that the code relies on, but for one that is checked here:
// that distances are those of the points.
#pragma once

#include "arrays.h"
#include "rows.h"
#include "stream.h"

namespace driftmap {

// A record with the places of its landmarks in the order of arrival; -1: unknown.
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

// Forgotten points are dropped.
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

// Bring a stream that has seen nothing to a state. With a native metric it holds the points, too.
inline void restore(Stream& stream, const nb::dict& from) {
    State& state = stream.state;
    require(state.seen == 0, "the stream has seen points already");
    std::vector<PlacedRecord> records;
    each_number(state, [&]<class T>(const char* name, T& number) { number = value<T>(from, name); });
    each_column(state.representatives, records, [&]<class Row, class T>(const char* name, auto& rows, T Row::* field) {
        const std::vector<T> values = column<T>(from, name);
        rows.resize(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) rows[i].*field = values[i];
    });
    state.live = std::int32_t(records.size());
    for (const std::int64_t row : column<std::int64_t>(from, "landmarks")) {
        const std::int32_t slot = state.n_landmarks();
        state.landmarks.row[slot] = std::int32_t(row);
        state.landmarks.id[slot] += state.id_step;
        state.landmarks.order.push_back(slot);
    }
    std::vector<Nearest> measured(records.size());
    auto* space = dynamic_cast<RowSpace*>(stream.space.get());
    if (space != nullptr) {
        const auto points = value<Ndarray<const double, 2>>(from, "points");
        require(points.shape(1) == std::size_t(space->width), "its points have another number of features");
        space->keep_all({points.data(), false}, state.n);
        std::vector<std::int32_t> rows;
        for (const PlacedRecord& record : records) rows.push_back(std::int32_t(record.row));
        space->checked = false;  // pairs that were never measured, being far apart, may have no finite distance
        space->nearest(rows.data(), state.live, state.landmarks, measured.data());
        space->checked = true;
    }
    for (std::size_t i = 0; i < records.size(); ++i) {
        const auto [row, cell, second, t, u] = records[i];
        const Record record{t, u, second < 0 ? 0 : state.landmarks.id[second], std::int32_t(row)};
        const Nearest& found = measured[i];
        const bool same =
            second < 0 ? u <= found.second_distance : u == found.second_distance && record.second == found.second;
        require(space == nullptr || (same && t == found.distance && state.landmarks.id[cell] == found.landmark),
                "its distances are not those of its points");
        state.add(std::int32_t(cell), record);
    }
    ++state.departures;  // costs may be lower bounds
    const std::vector<std::int64_t> e = column<std::int64_t>(from, "event_numbers");
    const std::vector<double> r = column<double>(from, "event_radii");
    for (std::size_t i = 0; 2 * i < r.size(); ++i)
        state.events.push_back({e[3 * i], e[3 * i + 1], e[3 * i + 2], r[2 * i], r[2 * i + 1]});
}

}  // namespace driftmap
