// The state of a stream as numbers and arrays, which a checkpoint can hold, and back.
#pragma once

#include "stream.h"

namespace driftmap {

struct Snapshot {
    std::int64_t seen = 0, n_replacements = 0, held = 0, n_points = 0;
    double total = 0, radius = 0, base = 0, resolution = 0, now = 0;
    std::vector<std::int64_t> landmarks;  // rows, ascending
    // Per row, where memory is bounded or points expire.
    std::vector<std::int64_t> arrivals;
    std::vector<double> weights, spreads, times;
    // Per record, cell by cell: its row, and how it lies to the landmarks, which are named by their places above (-1:
    // none).
    std::vector<std::int64_t> order, cells, seconds;
    std::vector<double> distances, second_distances;
    std::vector<std::int64_t> event_numbers;  // arrival, came, left of one event after the other
    std::vector<double> event_radii;          // before, after

    template <class Visit>
    void each(Visit visit) {
        visit("seen", seen), visit("n_replacements", n_replacements), visit("held", held), visit("n_points", n_points);
        visit("total", total), visit("radius", radius), visit("base", base), visit("resolution", resolution);
        visit("now", now), visit("landmarks", landmarks), visit("arrivals", arrivals), visit("weights", weights);
        visit("spreads", spreads), visit("times", times), visit("order", order), visit("cells", cells);
        visit("seconds", seconds), visit("distances", distances), visit("second_distances", second_distances);
        visit("event_numbers", event_numbers), visit("event_radii", event_radii);
    }
};

// Forgotten points have been dropped.
Snapshot take_snapshot(const State& state);

// Bring a stream that has seen nothing, but whose space holds the points, to a snapshot. Every fact that the code
// relies on is checked; std::invalid_argument says what is wrong. With `measure`, distances are compared with measured
// ones.
void restore_snapshot(Stream& stream, const Snapshot& from, bool measure);

}  // namespace driftmap
