// The arrival loop, shared by all metrics, rules and memory settings.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include "expiry.h"
#include "replacement.h"

namespace driftmap {

constexpr int kBlock = 128;           // arrivals whose nearest landmarks are found together
constexpr int kMostHeld = 32;         // most uncovered arrivals that wait for a signal of the gate
constexpr double kLargestRatio = 10;  // limit on the gate's input: the radius is tiny before the first replacement

// Optional columns of a batch. Null: every point has weight 1, spread 0 and no time.
struct Columns {
    const double *times = nullptr, *weights = nullptr, *spreads = nullptr;
    // Arrival numbers of stored points of another stream, followed by its number of points seen.
    const std::int64_t* arrivals = nullptr;
    // Outputs: arrival number (-1: none) and distance of the nearest landmark before each row was learnt.
    std::int64_t* landmarks = nullptr;
    double* distances = nullptr;
};

class Stream {
 public:
    // Given the distance of an arrival divided by the radius, returns true if replacements may happen now.
    using Gate = std::function<bool(double)>;
    // Called between blocks of arrivals and after replacements, which may be slow; may throw to stop learning.
    using Interrupt = std::function<void()>;

    Stream(std::unique_ptr<Space> space_, const Parameters& parameters)
        : state(parameters), space(std::move(space_)), block_(kBlock), nearest_(kBlock) {
        for (std::int32_t i = 0; i < kBlock; ++i) block_[i] = ~i;
    }

    State state;
    std::unique_ptr<Space> space;

    // Set when an exception (in practice bad_alloc) interrupts an arrival; the stream is then unusable.
    bool broken = false;

    // Learn the rows of the space's batch. An exception of the space or the gate undoes the whole batch; after an
    // interrupt, the arrivals before it stay learnt, unless the space or the gate can fail.
    void learn(std::int64_t rows, const Columns& columns, const Gate& gate, const Interrupt& interrupt) {
        const bool expires = state.parameters.expires();
        is_whole_ = true;
        fallible_ = space->fallible || gate;
        merging_ = columns.arrivals != nullptr;
        saved_.reset();
        try {
            for (std::int64_t first = 0; first < rows; first += count_) {
                interrupt();
                count_ = int(std::min<std::int64_t>(kBlock, rows - first));
                space->open(first, count_);
                scan(0, count_);
                for (int i = 0; i < count_; ++i) {
                    const std::int64_t at = first + i;
                    const Arrival arrival{~i, columns.times ? columns.times[at] : 0.0,
                                          columns.weights ? columns.weights[at] : 1.0,
                                          columns.spreads ? columns.spreads[at] : 0.0};
                    if (at + 1 < rows || gate || expires) save();
                    is_whole_ = !expires;
                    if (expires && expire(state, *space, arrival.time)) scan(i, count_ - i);
                    if (columns.landmarks != nullptr) {
                        const std::int32_t row = state.landmarks.row[state.slot_of(nearest_[i].landmark)];
                        columns.landmarks[at] = nearest_[i].distance < kInfinity ? state.arrival(row) : -1;
                        columns.distances[at] = space->expanded(nearest_[i].distance);
                    }
                    if (expires) state.now = arrival.time;
                    if (merging_) state.seen = columns.arrivals[at];
                    const bool changed = arrive(arrival, nearest_[i], gate, interrupt);
                    if (expires) relax(state, *space);
                    is_whole_ = true;
                    if (changed) interrupt();
                }
            }
            if (merging_) {
                is_whole_ = false;
                state.seen = columns.arrivals[rows];
                if (state.live > state.parameters.memory) thin(state, *space, true);
            }
        } catch (...) {
            if (saved_) {
                state = std::move(*saved_);
                space->restore();
            }
            broken = !saved_ && !is_whole_;
            throw;
        }
        saved_.reset();
        space->release();
    }

    // An upper bound on the distance of every point to its nearest landmark.
    double coverage_bound() const {
        double bound = 0.0;
        for (const Cell& cell : state.cells)
            for (const Record& record : cell.records)
                bound = std::max(bound, sum_above(space->expanded(record.distance), state.spread(record.row)));
        return bound;
    }

 private:
    // Save the state before its first change in a batch, if measuring can fail.
    void save() {
        if (!fallible_ || saved_) return;
        space->save();
        saved_ = state;
    }

    void scan(int first, int count) {
        std::fill_n(nearest_.begin() + first, count, Nearest{});
        if (state.n_landmarks() > 0) space->nearest(&block_[first], count, state.landmarks, &nearest_[first]);
    }

    // Update the nearest landmarks of the rows from `first` on, after one landmark was added and one may have been
    // removed.
    void patch(int first, std::int32_t newcomer) {
        const Landmarks& landmarks = state.landmarks;
        const auto slot = std::find_if(landmarks.order.begin(), landmarks.order.end(),
                                       [&](std::int32_t s) { return landmarks.row[s] == newcomer; });
        const bool stays = slot != landmarks.order.end();
        double distances[kBlock] = {};
        if (stays) space->measure(block_.data() + first, count_ - first, &newcomer, 1, distances + first);
        const auto is_lost = [&](double t, std::uint64_t id) { return t < kInfinity && !state.is_landmark(id); };
        for (int i = first; i < count_; ++i) {
            Nearest& near = nearest_[i];
            const double t = distances[i];
            if (is_lost(near.distance, near.landmark) || is_lost(near.second_distance, near.second)) {
                scan(i, 1);
            } else if (stays && state.is_nearer(t, newcomer, near.distance, near.landmark)) {
                near = {t, near.distance, landmarks.id[*slot], near.landmark};
            } else if (stays && state.is_nearer(t, newcomer, near.second_distance, near.second)) {
                near.second_distance = t, near.second = landmarks.id[*slot];
            }
        }
    }

    std::int32_t store(const Arrival& arrival, const Nearest& near) {
        const std::int32_t row = state.n;
        if (row == std::numeric_limits<std::int32_t>::max()) throw std::length_error("more than 2^31 stored points");
        const bool undo = fallible_ && !saved_;  // nothing has changed yet
        if (undo) space->save();
        try {
            space->keep(arrival.row);
        } catch (...) {
            if (undo) space->restore();
            throw;
        }
        is_whole_ = false;
        if (state.parameters.weighted())
            state.representatives.push_back({state.seen, arrival.weight, arrival.spread, arrival.time, 0});
        ++state.n, ++state.live;
        if (near.distance < kInfinity)
            state.add(state.slot_of(near.landmark), {near.distance, near.second_distance, near.second, row});
        return row;
    }

    // The largest distance at which an arrival is covered.
    double limit() const {
        const Parameters& parameters = state.parameters;
        const double factor = 1.0 + parameters.slack;
        if (!(parameters.slack > 0.0) || parameters.paper) return state.radius;
        return state.base * (space->squared ? factor * factor : factor);
    }

    // Learn an arrival; return true if landmarks have changed.
    bool arrive(const Arrival& arrival, const Nearest near, const Gate& gate, const Interrupt& interrupt) {
        const bool gated = gate && state.n_landmarks() == state.parameters.n_landmarks;
        const bool covered = near.distance <= limit();
        bool open = false;
        if (gated) {
            const double radius = std::max(space->expanded(state.radius), std::numeric_limits<double>::min());
            open = gate(std::min(space->expanded(near.distance) / radius, kLargestRatio));
            state.held += !covered;
        }
        if (!(near.distance <= state.radius) || (state.parameters.bounded() && is_too_fine(state, *space, 1))) save();
        if (covered && near.distance > state.radius) is_whole_ = false, state.radius = near.distance;
        bool joined = (covered || gated) && !merging_ && join(state, *space, arrival, near);
        if (!joined && !merging_ && state.parameters.bounded() && state.live >= state.parameters.memory) {
            save();
            is_whole_ = false;
            thin(state, *space);
            joined = (covered || gated) && join(state, *space, arrival, near);
        }
        std::int32_t instead = -1;
        if (!covered && !gated && state.parameters.paper && state.n_landmarks() == state.parameters.n_landmarks)
            instead = neighbour_instead(state, *space, arrival.row, interrupt);
        const std::int32_t row = joined ? -1 : store(arrival, near);
        is_whole_ = false;
        ++state.seen;
        state.total += arrival.weight;
        std::int32_t newcomer = -1;
        if (!covered && !gated) {
            newcomer = instead < 0 ? row : instead;
            admit(state, *space, newcomer);
        } else if (gated && state.held > 0 && (open || state.held >= kMostHeld)) {
            newcomer = farthest(state, state.radius);
            state.held = 0;
            if (newcomer >= 0) exchange(state, *space, newcomer);
        }
        if (newcomer >= 0) patch(~arrival.row + 1, newcomer);
        if (state.parameters.bounded() && !merging_ && is_too_fine(state, *space)) thin(state, *space);
        return newcomer >= 0;
    }

    std::vector<std::int32_t> block_;  // numbers of the rows of a block: ~0, ~1, ...
    std::vector<Nearest> nearest_;     // nearest landmarks of these rows
    std::optional<State> saved_;
    bool fallible_ = false;
    bool is_whole_ = true;  // true while the state is consistent, so that an exception leaves it usable
    bool merging_ = false;  // true if arrivals are stored points of another stream, which do not join others
    int count_ = 0;         // number of rows in the block
};

}  // namespace driftmap
