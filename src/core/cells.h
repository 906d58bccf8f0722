// Voronoi cells of the landmarks, updated as landmarks are added and removed.
//
// Two numbers per stored point, its distances to the nearest and second-nearest landmark, replace the edges of the
// paper's graph (as in FastPAM for k-medoids): a landmark z is redundant from the radius rho*(z) on, the largest second
// distance in its cell.
#pragma once

#include "state.h"

namespace driftmap {

// Move the points of a cell that are nearer to a new landmark into its cell. `distances` are those of the new landmark
// to the contested points, which are in the order of their records.
inline void compete(State& state, std::int32_t slot, std::int32_t newcomer, const std::int32_t* contested,
                    const double* distances, std::size_t n) {
    Cell& cell = state.cells[slot];
    const Landmarks& landmarks = state.landmarks;
    std::size_t next = 0, kept = 0;
    for (Record record : cell.records) {
        if (next < n && contested[next] == record.row) {
            const double t = distances[next++];
            if (state.is_nearer(t, landmarks.row[newcomer], record.distance, landmarks.id[slot])) {
                state.add(newcomer, {t, record.distance, landmarks.id[slot], record.row});
                continue;
            }
            // valid even if the second is unknown: it is at least as far as its lower bound
            if (state.is_nearer(t, landmarks.row[newcomer], record.second_distance, record.second))
                record.second_distance = t, record.second = landmarks.id[newcomer];
        }
        cell.records[kept++] = record;
    }
    cell.records.resize(kept);
    cell.recompute();
}

// Make a stored point a landmark: it competes for the points of all cells.
inline void enter(State& state, Space& space, std::int32_t row) {
    Landmarks& landmarks = state.landmarks;
    const std::vector<std::int32_t> others = landmarks.order;
    std::vector<std::int32_t> rows = landmarks.rows();
    std::vector<double> distances(rows.size()), from_newcomer(state.cells.size());
    space.measure(rows.data(), int(rows.size()), &row, 1, distances.data());
    for (std::size_t j = 0; j < others.size(); ++j) from_newcomer[others[j]] = distances[j];

    const auto free = std::find(landmarks.row.begin(), landmarks.row.end(), -1);
    const auto newcomer = std::int32_t(free - landmarks.row.begin());
    landmarks.id[newcomer] += state.id_step;
    landmarks.row[newcomer] = row;
    const auto after = std::find_if(landmarks.order.begin(), landmarks.order.end(),
                                    [&](std::int32_t slot) { return landmarks.row[slot] > row; });
    landmarks.order.insert(after, newcomer);
    state.cells[newcomer] = Cell{};
    ++state.version;

    // By the triangle inequality, a newcomer that is nearer to a point than its second-nearest landmark is within twice
    // the second distance of both its landmarks.
    rows.clear();
    std::vector<std::size_t> ends;
    for (const std::int32_t slot : others) {
        const Cell& cell = state.cells[slot];
        const double apart = space.triangle ? from_newcomer[slot] : 0.0;
        if (apart <= space.scaled(cell.cost, 2.0))
            for (const Record& record : cell.records) {
                const double within = space.scaled(record.second_distance, 2.0);
                const bool known = space.triangle && state.is_landmark(record.second);
                if (apart <= within && !(known && from_newcomer[state.slot_of(record.second)] > within))
                    rows.push_back(record.row);
            }
        ends.push_back(rows.size());
    }
    distances.resize(rows.size());
    space.measure(rows.data(), int(rows.size()), &row, 1, distances.data());
    for (std::size_t j = 0, first = 0; j < others.size(); first = ends[j++])
        if (ends[j] > first)
            compete(state, others[j], newcomer, rows.data() + first, distances.data() + first, ends[j] - first);
    // The second-nearest landmark of its points is exact: the one of the cell they left.
    state.cells[newcomer].exact_at = state.departures;
}

// Remove a landmark whose cost is exact (or whose cell is empty); its points move to their second-nearest landmarks.
// Returns the row of the landmark.
inline std::int32_t leave(State& state, std::int32_t slot) {
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

// Compute the exact cost of a cell, or stop when it is known to exceed `enough`.
inline void refine_cost(State& state, Space& space, std::int32_t slot, double enough) {
    constexpr int kAtOnce = 32;
    Cell& cell = state.cells[slot];
    std::size_t places[kAtOnce];
    std::int32_t rows[kAtOnce];
    Nearest found[kAtOnce];
    for (std::size_t i = 0; i < cell.records.size();) {
        int waiting = 0;
        for (; i < cell.records.size() && waiting < kAtOnce; ++i)
            if (!state.is_landmark(cell.records[i].second)) places[waiting] = i, rows[waiting++] = cell.records[i].row;
        space.nearest(rows, waiting, state.landmarks, found);
        for (int k = 0; k < waiting; ++k) {
            Record& record = cell.records[places[k]];
            // If the dissimilarity violates the triangle inequality, another landmark may be the nearest by now; the
            // second must differ from the cell's landmark.
            const bool is_own = found[k].second == state.landmarks.id[slot];
            record.second_distance = is_own ? found[k].distance : found[k].second_distance;
            record.second = is_own ? found[k].landmark : found[k].second;
            cell.include(record);
        }
        if (waiting > 0 && cell.cost > enough) return;
    }
    cell.exact_at = state.departures;
}

// Return the stored point farthest from its landmark (ties: the earliest) if it is beyond the limit, otherwise -1.
inline std::int32_t farthest(const State& state, double limit) {
    std::int32_t best = -1;
    for (const Cell& cell : state.cells) {
        if (cell.reach < limit || (cell.reach == limit && best < 0)) continue;
        for (const Record& record : cell.records)
            if (record.distance > limit || (record.distance == limit && best >= 0 && record.row < best))
                best = record.row, limit = record.distance;
    }
    return best;
}

// Drop all forgotten points that are not landmarks, and renumber the rest.
inline void drop_forgotten(State& state, Space& space) {
    std::vector<std::int32_t> rows, renumbered(state.n, -1);
    for (const std::int32_t slot : state.landmarks.order) renumbered[state.landmarks.row[slot]] = 0;
    for (std::int32_t row = 0; row < std::int32_t(state.representatives.size()); ++row) {
        if (renumbered[row] < 0 && state.representatives[row].weight == 0.0) continue;
        renumbered[row] = std::int32_t(rows.size());
        rows.push_back(row);
    }
    if (rows.size() == state.representatives.size()) return;
    space.retain(rows);
    for (Cell& cell : state.cells) {
        std::erase_if(cell.records, [&](const Record& record) { return renumbered[record.row] < 0; });
        for (Record& record : cell.records) record.row = renumbered[record.row];
        cell.recompute();
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
