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

// The landmarks: they live in numbered slots. An id names a landmark for good.
struct Landmarks {
    std::vector<std::int32_t> order;  // slots that are taken, in the order of arrival of their landmarks
    std::vector<std::int32_t> row;    // by slot: the stored point that is the landmark; -1: the slot is free
    std::vector<std::uint64_t> id;    // by slot

    std::vector<std::int32_t> rows() const {
        std::vector<std::int32_t> rows;
        for (const std::int32_t slot : order) rows.push_back(row[slot]);
        return rows;
    }
};

// The two nearest landmarks of a point, by id; infinity and 0 where there is none. Of equally near landmarks the one
// that arrived first is nearer.
struct Nearest {
    double distance = kInfinity, second_distance = kInfinity;
    std::uint64_t landmark = 0, second = 0;

    void compare(double t, std::uint64_t id) {  // with landmarks in the order of their arrival
        if (t < distance)
            *this = {t, distance, id, landmark};
        else if (t < second_distance)
            second_distance = t, second = id;
    }
};

// Points are named by numbers: stored ones by their rows, from 0 on, and row i of the present block by ~i.
class Space {
 public:
    virtual ~Space() = default;

    bool squared = false;   // whether reduced distances are squares
    bool triangle = true;   // whether the triangle inequality is known to hold
    bool fallible = false;  // whether measuring can fail: batches are undone, by a copy of the state made before

    double expanded(double reduced) const { return squared ? std::sqrt(reduced) : reduced; }
    // The largest reduced distance that is expanded to at most this distance.
    double reduced(double distance) const {
        double square = distance * distance;
        if (!squared || !(square < kInfinity)) return squared ? square : distance;
        while (std::sqrt(square) > distance) square = std::nextafter(square, 0.0);
        for (double above; std::sqrt(above = std::nextafter(square, kInfinity)) <= distance;) square = above;
        return square;
    }
    double about(double distance) const { return squared ? distance * distance : distance; }  // but for rounding
    // A reduced distance no smaller than that of `times` the distance: rounding included, also of tiny squares.
    double scaled(double reduced, double times) const {
        const double bound = reduced * (squared ? times * times : times) * (1 + 1e-9);
        return bound > 1e-280 ? bound : 1e-280;
    }

    // Rows `first` to `first + count` of the batch become the present block.
    virtual void open(std::int64_t first, int count) = 0;
    // Reduced distances, (n, m), of points, all stored or all of the block, to stored ones; those to themselves are 0.
    virtual void measure(const std::int32_t* rows, int n, const std::int32_t* points, int m, double* out) = 0;
    // The two nearest landmarks of points, all stored or all of the block.
    virtual void nearest(const std::int32_t* rows, int n, const Landmarks& landmarks, Nearest* out) {
        const std::vector<std::int32_t> points = landmarks.rows();
        std::vector<double> distances(n * points.size());
        measure(rows, n, points.data(), int(points.size()), distances.data());
        for (int i = 0; i < n; ++i) {
            out[i] = {};
            for (std::size_t j = 0; j < points.size(); ++j)
                out[i].compare(distances[i * points.size() + j], landmarks.id[landmarks.order[j]]);
        }
    }
    // Store a row of the block as the next point.
    virtual void keep(std::int32_t row) = 0;
    // Keep only these points, ascending; they are renumbered.
    virtual void retain(const std::vector<std::int32_t>& rows) = 0;
    // Remember the stored points; go back to them; or need them no more.
    virtual void save() = 0;
    virtual void restore() = 0;
    virtual void release() {}
};

}  // namespace driftmap
