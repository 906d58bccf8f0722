// A space stores the points of a stream and measures how far apart they are.
//
// Distances are given as reduced distances: numbers that order pairs as their distances do (the square for Euclidean
// points, the distance itself otherwise). The radius is some pair's distance and is compared with that pair again, so a
// pair always has the same reduced distance.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace driftmap {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The landmarks: they live in numbered slots. An id names a landmark for good; it is never reused while a record holds
// it.
struct Landmarks {
    std::vector<std::int32_t> order;  // slots that are taken, in the order of arrival of their landmarks
    std::vector<std::int32_t> row;    // by slot: the stored point that is the landmark; -1: the slot is free
    std::vector<std::uint32_t> id;    // by slot
};

// The two nearest landmarks of a point, by id; infinity and 0 where there is none. Of equally near landmarks the one
// that arrived first is nearer.
struct Nearest {
    double distance = kInfinity, second_distance = kInfinity;
    std::uint32_t landmark = 0, second = 0;
};

inline Nearest two_nearest(const double* distances, const Landmarks& landmarks) {  // distances in order of arrival
    Nearest found;
    for (std::size_t j = 0; j < landmarks.order.size(); ++j) {
        const double t = distances[j];
        const std::uint32_t id = landmarks.id[landmarks.order[j]];
        if (t < found.distance) {
            found.second_distance = found.distance, found.second = found.landmark;
            found.distance = t, found.landmark = id;
        } else if (t < found.second_distance) {
            found.second_distance = t, found.second = id;
        }
    }
    return found;
}

class Space {
 public:
    virtual ~Space() = default;

    bool squared = false;   // whether reduced distances are squares
    bool triangle = true;   // whether the triangle inequality is known to hold
    bool fallible = false;  // whether measuring can fail, so that a batch may have to be undone

    virtual double reduced(double distance) const { return distance; }
    virtual double expanded(double reduced_distance) const { return reduced_distance; }
    // A reduced distance no smaller than that of `times` the distance, rounding included.
    virtual double scaled(double reduced_distance, double times) const { return reduced_distance * times * (1 + 1e-9); }

    // Rows `first` to `first + count` of the batch become the present block, numbered from 0.
    virtual void open(std::int64_t first, int count) = 0;
    // Distances of rows of the block to a stored point.
    virtual void block_to(int first, int count, std::int32_t point, double* out) = 0;
    // The first of some stored points within a true distance of row i of the block, and how far it is; -1: there is
    // none.
    virtual int first_within(int i, const std::int32_t* rows, int n, double within, double* distance) = 0;
    // Distances of stored points to one of them; that to itself is 0.
    virtual void between(const std::int32_t* rows, int n, std::int32_t point, double* out) = 0;
    // The two nearest landmarks of rows of the block.
    virtual void nearest_of_block(int first, int count, const Landmarks& landmarks, Nearest* out) = 0;
    // The two nearest landmarks of stored points.
    virtual void nearest_of_stored(const std::int32_t* rows, int n, const Landmarks& landmarks, Nearest* out) = 0;
    // Store row i of the block as the next point.
    virtual void keep(int i) = 0;
    // Keep only these points, ascending; they are renumbered.
    virtual void retain(const std::vector<std::int32_t>& rows) = 0;
    // A stored point has become the landmark of a slot.
    virtual void on_landmark(int, std::int32_t) {}
    // Remember the stored points, and go back to them.
    virtual void save() = 0;
    virtual void restore() = 0;
};

}  // namespace driftmap
