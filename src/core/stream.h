// The arrival loop, one for every metric, rule and memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "expiry.h"
#include "replacement.h"

namespace driftmap {

// What a batch brings besides its points; null: every point has weight 1, no spread and no time.
struct Attributes {
    const double* times = nullptr;
    const double* weights = nullptr;
    const double* spreads = nullptr;
    const std::int64_t* arrivals = nullptr;  // numbers of stored points of another stream, and how many it has seen
};

// The nearest landmark of each arrival before it was learnt: arrival number (-1: none) and distance.
struct Prior {
    std::int64_t* landmarks = nullptr;
    double* distances = nullptr;
};

class Stream {
 public:
    Stream(std::unique_ptr<Space> space, const Parameters& parameters);

    // Returns whether replacements may happen now, given the distance of an arrival divided by the radius.
    using Gate = std::function<bool(double)>;
    // Called between blocks of arrivals; an exception ends learning there.
    using Interrupt = std::function<void()>;

    // Take in the rows of the batch that the space has been given. After an exception of the space or the gate the
    // whole batch is undone; after an interrupt the arrivals before it stay, unless the space or the gate can fail.
    void learn(std::int64_t rows, const Attributes& attributes, const Gate& gate, const Prior& prior,
               const Interrupt& interrupt);

    double coverage_bound() const;
    double resolution() const;
    std::vector<double> masses() const;
    std::vector<double> landmark_masses() const;

    State state;
    std::unique_ptr<Space> space;

 private:
    void arrive(const Arrival& arrival, const Gate& gate);
    void scan(int first, int count);
    void patch(int first, std::int32_t newcomer_row);
    std::int32_t store(const Arrival& arrival, const Nearest& near);
    void save();

    std::vector<Nearest> nearest_;  // of the rows of the block
    std::optional<State> saved_;
    bool fallible_ = false;
    bool merging_ = false;  // whether arrivals are stored points of another stream, each of which stays one
    int count_ = 0;         // rows of the block
};

}  // namespace driftmap
