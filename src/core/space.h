// A space stores the points of a stream and measures their distances.
//
// It returns reduced distances, which order pairs like distances do: squares for Euclidean points, otherwise the
// distances themselves. The radius is the distance of a pair and is compared with that pair again, so measuring a pair
// must always give the same bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace driftmap {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The landmarks, stored in numbered slots. Ids are never reused.
struct Landmarks {
    std::vector<std::int32_t> order;  // occupied slots, in the order of arrival of their landmarks
    std::vector<std::int32_t> row;    // by slot: the row of the landmark; -1: free
    std::vector<std::uint64_t> id;    // by slot

    std::vector<std::int32_t> rows() const {
        std::vector<std::int32_t> rows;
        for (const std::int32_t slot : order) rows.push_back(row[slot]);
        return rows;
    }
};

// The two nearest landmarks of a point, by id; infinity and 0 if missing. Ties go to the landmark that arrived first.
struct Nearest {
    double distance = kInfinity, second_distance = kInfinity;
    std::uint64_t landmark = 0, second = 0;

    void compare(double t, std::uint64_t id) {  // call in the order of arrival of the landmarks
        if (t < distance)
            *this = {t, distance, id, landmark};
        else if (t < second_distance)
            second_distance = t, second = id;
    }
};

// Points are identified by numbers: stored points by their row, from 0, and row i of the current block by ~i.
class Space {
 public:
    virtual ~Space() = default;

    bool squared = false;   // true if reduced distances are squares
    bool triangle = true;   // true if the triangle inequality is known to hold
    bool fallible = false;  // true if measuring can fail; a failed batch is undone from a copy of the state

    double expanded(double reduced) const { return squared ? std::sqrt(reduced) : reduced; }
    // The largest reduced distance that expands to at most this distance.
    double reduced(double distance) const {
        double square = distance * distance;
        if (!squared || !(square < kInfinity)) return squared ? square : distance;
        while (std::sqrt(square) > distance) square = std::nextafter(square, 0.0);
        for (double above; std::sqrt(above = std::nextafter(square, kInfinity)) <= distance;) square = above;
        return square;
    }
    double about(double distance) const { return squared ? distance * distance : distance; }  // up to rounding
    // An upper bound on the reduced distance of `times` the distance, including rounding and tiny squares.
    double scaled(double reduced, double times) const {
        const double bound = reduced * (squared ? times * times : times) * (1 + 1e-9);
        return bound > 1e-280 ? bound : 1e-280;
    }

    // Make rows `first` to `first + count` of the batch the current block.
    virtual void open(std::int64_t first, int count) = 0;
    // Measure reduced distances, (n, m), of points (all stored or all in the block) to stored points.
    virtual void measure(const std::int32_t* rows, int n, const std::int32_t* points, int m, double* out) = 0;
    // Find the two nearest landmarks of points (all stored or all in the block).
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
    // Store a row of the block as a new point.
    virtual void keep(std::int32_t row) = 0;
    // Keep only these points (ascending), and renumber them.
    virtual void retain(const std::vector<std::int32_t>& rows) = 0;
    // Save the stored points, restore the saved ones, or discard these.
    virtual void save() = 0;
    virtual void restore() = 0;
    virtual void release() {}
};

}  // namespace driftmap
