#include "cells.h"

#include <algorithm>

namespace driftmap {
namespace {

// Records that the newcomer may be nearer to than their second-nearest landmark, cell by cell.
struct Contest {
    std::vector<std::size_t> places;  // in the records of the cell
    std::vector<std::int32_t> rows;
    std::vector<double> distances;
};

// By the triangle inequality such a newcomer is within twice the second distance of both landmarks of the record.
void find_contested(const State& state, const Space& space, std::int32_t slot, const std::vector<double>& from_newcomer,
                    Contest& contest) {
    const Cell& cell = state.cells[slot];
    if (space.triangle && from_newcomer[slot] > space.scaled(cell.cost, 2.0)) return;
    for (std::size_t i = 0; i < cell.records.size(); ++i) {
        const Record& record = cell.records[i];
        if (space.triangle) {
            const double within = space.scaled(record.second_distance, 2.0);
            if (from_newcomer[slot] > within) continue;
            if (state.is_landmark(record.second) && from_newcomer[state.slot_of(record.second)] > within) continue;
        }
        contest.places.push_back(i);
        contest.rows.push_back(record.row);
    }
}

// Let the newcomer take the contested points of a cell, from `next` to `last`, that it is nearest to.
void compete(State& state, std::int32_t slot, std::int32_t newcomer, const Contest& contest, std::size_t next,
             std::size_t last) {
    Cell& cell = state.cells[slot];
    const Landmarks& landmarks = state.landmarks;
    const bool earlier = landmarks.row[newcomer] < landmarks.row[slot];
    std::size_t kept = contest.places[next];
    for (std::size_t i = kept; i < cell.records.size(); ++i) {
        Record record = cell.records[i];
        if (next < last && contest.places[next] == i) {
            const double t = contest.distances[next++];
            if (t < record.distance || (t == record.distance && earlier)) {
                state.add(newcomer, {t, record.distance, landmarks.id[slot], record.row});
                continue;
            }
            // also where the second is unknown: it is no nearer than its lower bound
            if (t < record.second_distance || (t == record.second_distance && state.is_landmark(record.second) &&
                                               landmarks.row[newcomer] < landmarks.row[state.slot_of(record.second)])) {
                record.second_distance = t, record.second = landmarks.id[newcomer];
            }
        }
        cell.records[kept++] = record;
    }
    cell.records.resize(kept);
    cell.measure_all();
}

}  // namespace

void enter(State& state, Space& space, std::int32_t row) {
    Landmarks& landmarks = state.landmarks;
    const auto free = std::find(landmarks.row.begin(), landmarks.row.end(), -1);
    const std::int32_t newcomer = std::int32_t(free - landmarks.row.begin());
    const std::vector<std::int32_t> others = landmarks.order;
    std::vector<std::int32_t> rows(others.size());
    for (std::size_t j = 0; j < others.size(); ++j) rows[j] = landmarks.row[others[j]];
    std::vector<double> to_landmarks(others.size()), from_newcomer(state.cells.size(), kInfinity);
    space.between(rows.data(), int(rows.size()), row, to_landmarks.data());
    for (std::size_t j = 0; j < others.size(); ++j) from_newcomer[others[j]] = to_landmarks[j];

    if (landmarks.id[newcomer] > ~std::uint32_t(0) - state.id_step) {  // ids are used up: begin again
        for (Cell& cell : state.cells) {
            cell.exact_at = 0;
            for (Record& record : cell.records) record.second = 0;
        }
        for (std::size_t slot = 0; slot < state.cells.size(); ++slot)
            landmarks.id[slot] = std::uint32_t(slot) + state.id_step;
        ++state.departures;
    }
    landmarks.id[newcomer] += state.id_step;
    landmarks.row[newcomer] = row;
    const auto after = std::find_if(landmarks.order.begin(), landmarks.order.end(),
                                    [&](std::int32_t slot) { return landmarks.row[slot] > row; });
    landmarks.order.insert(after, newcomer);
    state.cells[newcomer] = Cell{};
    space.on_landmark(newcomer, row);
    ++state.version;

    Contest contest;
    std::vector<std::size_t> ends;
    for (const std::int32_t slot : others) {
        find_contested(state, space, slot, from_newcomer, contest);
        ends.push_back(contest.rows.size());
    }
    contest.distances.resize(contest.rows.size());
    space.between(contest.rows.data(), int(contest.rows.size()), row, contest.distances.data());
    for (std::size_t j = 0, first = 0; j < others.size(); first = ends[j++])
        if (ends[j] > first) compete(state, others[j], newcomer, contest, first, ends[j]);
    // Its points know their second-nearest landmark if it is the one they came from.
    state.cells[newcomer].exact_at = state.departures;
}

std::int32_t leave(State& state, std::int32_t slot) {
    Landmarks& landmarks = state.landmarks;
    const std::int32_t row = landmarks.row[slot];
    landmarks.row[slot] = -1;
    landmarks.order.erase(std::find(landmarks.order.begin(), landmarks.order.end(), slot));
    ++state.departures, ++state.version;
    const std::vector<Record> records = std::move(state.cells[slot].records);
    state.cells[slot] = Cell{};
    for (const Record& record : records)
        state.add(state.slot_of(record.second), {record.second_distance, record.second_distance, 0, record.row});
    return row;
}

void refine_cost(State& state, Space& space, std::int32_t slot, double enough) {
    constexpr int kAtOnce = 32;
    Cell& cell = state.cells[slot];
    std::size_t places[kAtOnce];
    std::int32_t rows[kAtOnce];
    Nearest found[kAtOnce];
    int waiting = 0;
    for (std::size_t i = 0; i <= cell.records.size(); ++i) {
        const bool done = i == cell.records.size();
        if (!done && !state.is_landmark(cell.records[i].second)) {
            places[waiting] = i, rows[waiting++] = cell.records[i].row;
        }
        if (waiting == kAtOnce || (done && waiting > 0)) {
            space.nearest_of_stored(rows, waiting, state.landmarks, found);
            for (int k = 0; k < waiting; ++k) {
                Record& record = cell.records[places[k]];
                record.second_distance = found[k].second_distance, record.second = found[k].second;
                cell.measure(record);
            }
            waiting = 0;
            if (cell.cost > enough) return;
        }
    }
    cell.exact_at = state.departures;
}

std::int32_t farthest(const State& state, double limit) {
    std::int32_t best = -1;
    for (const Cell& cell : state.cells) {
        if (cell.reach < limit || (cell.reach == limit && best < 0)) continue;
        for (const Record& record : cell.records)
            if (record.distance > limit || (record.distance == limit && best >= 0 && record.row < best))
                best = record.row, limit = record.distance;
    }
    return best;
}

void retain(State& state, Space& space, const std::vector<char>& gone) {
    std::vector<std::int32_t> rows, renumbered(state.n);
    for (std::int32_t row = 0; row < state.n; ++row) {
        renumbered[row] = std::int32_t(rows.size());
        if (!gone[row]) rows.push_back(row);
    }
    if (std::int32_t(rows.size()) == state.n) return;
    space.retain(rows);
    for (Cell& cell : state.cells) {
        std::erase_if(cell.records, [&](const Record& record) { return gone[record.row]; });
        for (Record& record : cell.records) record.row = renumbered[record.row];
        cell.measure_all();
    }
    for (std::int32_t& row : state.landmarks.row)
        if (row >= 0) row = renumbered[row];
    for (std::size_t i = 0; i < rows.size(); ++i) state.representatives[i] = state.representatives[rows[i]];
    state.representatives.resize(rows.size());
    state.n = std::int32_t(rows.size());
    state.oldest = 0;
    ++state.version;
}

}  // namespace driftmap
