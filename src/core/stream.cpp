#include "stream.h"

#include <algorithm>
#include <numeric>

namespace driftmap {
namespace {

constexpr int kBlock = 128;           // arrivals whose nearest landmarks are found at once
constexpr int kMostHeld = 32;         // uncovered arrivals that wait for a signal of the gate
constexpr double kLargestRatio = 10;  // shown to the gate: before the first replacement there is no radius to speak of

}  // namespace

Stream::Stream(std::unique_ptr<Space> space_, const Parameters& parameters)
    : state(parameters), space(std::move(space_)) {
    state.squared = space->squared;
}

void Stream::learn(std::int64_t rows, const Attributes& attributes, const Gate& gate, const Prior& prior,
                   const Interrupt& interrupt) {
    fallible_ = space->fallible || gate;
    merging_ = attributes.arrivals != nullptr;
    saved_.reset();
    try {
        for (std::int64_t first = 0; first < rows; first += count_) {
            interrupt();
            count_ = int(std::min<std::int64_t>(kBlock, rows - first));
            space->open(first, count_);
            nearest_.resize(count_);
            scan(0, count_);
            for (int i = 0; i < count_; ++i) {
                const std::int64_t at = first + i;
                const Arrival arrival{i, attributes.times ? attributes.times[at] : 0.0,
                                      attributes.weights ? attributes.weights[at] : 1.0,
                                      attributes.spreads ? attributes.spreads[at] : 0.0};
                if (at + 1 < rows || gate || state.parameters.expires()) save();
                if (state.parameters.expires() && expire(state, *space, arrival.time)) scan(i, count_ - i);
                if (prior.landmarks != nullptr) {
                    const Nearest& near = nearest_[i];
                    const bool known = near.distance < kInfinity;
                    prior.landmarks[at] = known ? state.arrival(state.landmarks.row[state.slot_of(near.landmark)]) : -1;
                    prior.distances[at] = space->expanded(near.distance);
                }
                if (state.parameters.expires()) state.now = arrival.time;
                if (attributes.arrivals) state.seen = attributes.arrivals[at];
                arrive(arrival, gate);
                if (state.parameters.expires()) relax(state, *space);
            }
        }
    } catch (...) {
        if (saved_) {
            state = std::move(*saved_);
            space->restore();
            for (const std::int32_t slot : state.landmarks.order) space->on_landmark(slot, state.landmarks.row[slot]);
            saved_.reset();
        }
        throw;
    }
    saved_.reset();
    if (merging_) {
        state.seen = attributes.arrivals[rows];
        if (state.live > state.parameters.memory) thin(state, *space);
    }
}

// Remember the state before it changes, once per batch, if measuring can fail.
void Stream::save() {
    if (!fallible_ || saved_) return;
    space->save();
    saved_ = state;
}

void Stream::scan(int first, int count) {
    if (state.landmarks.order.empty())
        std::fill_n(nearest_.begin() + first, count, Nearest{});
    else
        space->nearest_of_block(first, count, state.landmarks, nearest_.data() + first);
}

// Bring the nearest landmarks of the rows from `first` on up to date, after one landmark came and one may have left.
void Stream::patch(int first, std::int32_t newcomer_row) {
    const Landmarks& landmarks = state.landmarks;
    const auto slot = std::find_if(landmarks.order.begin(), landmarks.order.end(),
                                   [&](std::int32_t s) { return landmarks.row[s] == newcomer_row; });
    const bool stays = slot != landmarks.order.end();
    std::vector<double> distances(count_);
    if (stays) space->block_to(first, count_ - first, newcomer_row, distances.data() + first);
    for (int i = first; i < count_; ++i) {
        Nearest& near = nearest_[i];
        const bool lost = near.distance < kInfinity && !state.is_landmark(near.landmark);
        if (lost || (near.second_distance < kInfinity && !state.is_landmark(near.second))) {
            scan(i, 1);
        } else if (stays) {
            const double t = distances[i];
            const auto is_nearer = [&](double distance, std::uint32_t than) {
                return t < distance ||
                       (t == distance && state.is_landmark(than) && newcomer_row < landmarks.row[state.slot_of(than)]);
            };
            const std::uint32_t id = landmarks.id[*slot];
            if (is_nearer(near.distance, near.landmark))
                near = {t, near.distance, id, near.landmark};
            else if (is_nearer(near.second_distance, near.second))
                near.second_distance = t, near.second = id;
        }
    }
}

std::int32_t Stream::store(const Arrival& arrival, const Nearest& near) {
    const std::int32_t row = state.n;
    if (row == std::numeric_limits<std::int32_t>::max()) throw std::length_error("more than 2^31 stored points");
    space->keep(arrival.i);
    if (state.parameters.weighted())
        state.representatives.push_back({state.seen, arrival.weight, arrival.spread, arrival.time, 0});
    ++state.n, ++state.live;
    if (near.distance < kInfinity)
        state.add(state.slot_of(near.landmark), {near.distance, near.second_distance, near.second, row});
    return row;
}

void Stream::arrive(const Arrival& arrival, const Gate& gate) {
    const Nearest near = nearest_[arrival.i];
    const bool gated = gate && state.n_landmarks() == state.parameters.n_landmarks;
    const bool covered = near.distance <= state.limit();
    bool open = false;
    if (gated) {
        const double radius = std::max(space->expanded(state.radius), std::numeric_limits<double>::min());
        open = gate(std::min(space->expanded(near.distance) / radius, kLargestRatio));
        state.held += !covered;
    }
    if (!(near.distance <= state.radius)) save();
    if (covered && near.distance > state.radius) state.radius = near.distance;
    bool joined = (covered || gated) && !merging_ && join(state, *space, arrival, near);
    if (!joined && !merging_ && state.parameters.bounded() && state.live >= state.parameters.memory) {
        save();
        thin(state, *space);
        joined = (covered || gated) && join(state, *space, arrival, near);
    }
    const std::int32_t row = joined ? -1 : store(arrival, near);
    ++state.seen;
    state.total += arrival.weight;
    std::int32_t newcomer = -1;
    if (!covered && !gated) {
        newcomer = admit(state, *space, row);
    } else if (gated && state.held > 0 && (open || state.held >= kMostHeld)) {
        newcomer = farthest(state, state.radius);
        state.held = 0;
        if (newcomer >= 0) exchange(state, *space, newcomer);
    }
    if (newcomer >= 0) patch(arrival.i + 1, newcomer);
    if (state.parameters.bounded() && !merging_ && is_too_fine(state, *space)) {
        save();
        coarsen(state, *space, 0.0);
    }
}

double Stream::coverage_bound() const {
    double bound = 0.0;
    for (const Cell& cell : state.cells)
        for (const Record& record : cell.records)
            bound = std::max(bound, sum_above(space->expanded(record.distance), state.spread(record.row)));
    return bound;
}

double Stream::resolution() const {
    double largest = 0.0;
    for (const Representative& one : state.representatives) largest = std::max(largest, one.spread);
    return largest;
}

std::vector<double> Stream::masses() const {
    std::vector<double> masses(state.n, 1.0);
    for (std::size_t row = 0; row < state.representatives.size(); ++row)
        masses[row] = present_weight(state, state.representatives[row]);
    return masses;
}

std::vector<double> Stream::landmark_masses() const {
    std::vector<double> by_slot(state.cells.size(), 0.0), out;
    if (state.representatives.empty())
        for (std::size_t slot = 0; slot < state.cells.size(); ++slot)
            by_slot[slot] = double(state.cells[slot].records.size());
    for (const Representative& one : state.representatives)  // by row: records are in no particular order
        if (one.weight > 0) by_slot[one.slot] += present_weight(state, one);
    for (const std::int32_t slot : state.landmarks.order) out.push_back(by_slot[slot]);
    return out;
}

}  // namespace driftmap
