// Placement of points on a map, by their distances to points that stay where they are.
//
// A point starts where landmark MDS puts it and goes to a minimum of its stress. Searches run in single precision,
// whose roots and quotients take a third of the time, in as many lanes as the machine has; the last step is in double
// precision. Where that step is not short, or single precision does not converge (a point that is far away), the search
// goes on in double precision. On the line the least of all minima is found.
#pragma once

#include <cstdint>
#include <numeric>

#include "line.h"
#include "stress.h"

namespace driftmap {

// (x - centre) matrix + offsets for each row x, or x^2 matrix + offsets without a centre (distances are squared), or
// x^2 without a matrix. Sums run in the order of the features, whatever the level.
class Affine {
 public:
    int n_features, n_outputs;

    Affine(int n_features, int n_outputs, const double* matrix, const double* offsets, const double* centre)
        : n_features(n_features), n_outputs(n_outputs), width((n_outputs + BLOCK - 1) / BLOCK * BLOCK) {
        if (centre) this->centre.assign(centre, centre + n_features);
        if (!matrix) return;
        this->offsets.assign(offsets, offsets + n_outputs);
        this->offsets.resize(width);
        this->matrix.resize(size_t(n_features) * width);
        for (int c = 0; c < n_features; ++c)
            std::copy_n(matrix + size_t(c) * n_outputs, n_outputs, &this->matrix[size_t(c) * width]);
    }

    // One row in each lane, row 0 where there is none. Returns the squared length of x - centre, or 0 without a centre.
    template <int N>
    Lanes<double, N> apply(const double* X, const int64_t* rows, std::vector<Lanes<double, N>>& features,
                           std::vector<Lanes<double, N>>& out) const {
        using V = Lanes<double, N>;
        features.resize(n_features);
        out.resize(width);
        for (int lane = 0; lane < N; ++lane)
            for (int c = 0; c < n_features; ++c)
                features[c].set(lane, X[std::max<int64_t>(rows[lane], 0) * n_features + c]);
        V square = 0;
        for (int c = 0; c < n_features; ++c) {
            V& x = features[c];
            x = centre.empty() ? x * x : x - centre[c];
            square += x * x;
        }
        if (matrix.empty()) std::copy(features.begin(), features.end(), out.begin());
        for (int j = 0; j < width && !matrix.empty(); j += BLOCK) {
            V sums[BLOCK];
            for (int b = 0; b < BLOCK; ++b) sums[b] = offsets[j + b];
            for (int c = 0; c < n_features; ++c)
                for (int b = 0; b < BLOCK; ++b) sums[b] += features[c] * matrix[size_t(c) * width + j + b];
            std::copy(sums, sums + BLOCK, &out[j]);
        }
        return centre.empty() ? V(0) : square;
    }

    // All rows, to (n, n_outputs).
    void apply(const double* X, int64_t n, double* out) const {
        std::vector<Lanes<double, 8>> features, results;
        for (int64_t first = 0; first < n; first += 8) {
            int64_t rows[8];
            for (int lane = 0; lane < 8; ++lane) rows[lane] = std::min(first + lane, n - 1);
            apply(X, rows, features, results);
            for (int lane = 0; lane < 8; ++lane)
                for (int j = 0; j < n_outputs; ++j) out[rows[lane] * n_outputs + j] = results[j].get(lane);
        }
    }

 private:
    static constexpr int BLOCK = 4;  // outputs whose sums stay in registers
    int width;
    std::vector<double> centre, matrix, offsets;
};

// The fixed points, on a map of size 1 round 0, and all else it takes to place points by them.
struct Placement {
    int n, k;
    Doubles fixed;              // their coordinates, (k, n), and weights
    std::vector<float> single;  // the same
    Doubles projection, shift;  // a search starts from projection (k, n) squared distances + shift
    Doubles origin;             // where 0 is on the true map,
    double size;                // and how large that is
    double tolerance;           // steps shorter than this are the last
    int max_tries;
    double steadiness;  // weight of the squared distance to where landmark MDS puts a point
    Affine squares;     // squared distances to the fixed points, on the true map, of what is given

    // Places each of these rows by itself, to (n_rows, k).
    void place(const double* X, int64_t n_rows, double* out) const {
        if (n_rows < 8) {
            place_in_lanes<4>(X, n_rows, out);
        } else {
            place_in_lanes<kVectorBytes / sizeof(float)>(X, n_rows, out);
        }
        for (int64_t i = 0; i < n_rows * k; ++i) out[i] = origin[i % k] + size * out[i];
    }

 private:
    template <int N>
    void place_in_lanes(const double* X, int64_t n_rows, double* out) const {
        std::vector<int64_t> rows(n_rows);
        std::iota(rows.begin(), rows.end(), 0);
        if (k == 1) place_on_line<N>(X, n_rows, out);
        if (k == 2) descend<double, N / 2, 2>(X, descend<float, N, 2>(X, rows, out), out);
        if (k == 3) descend<double, N / 2, 3>(X, descend<float, N, 3>(X, rows, out), out);
        if (k > 3) descend<double, N / 2, 0>(X, descend<float, N, 0>(X, rows, out), out);
    }

    // Squared distances to the fixed points, in sizes of the map; returns where searches start. Distances below a tenth
    // of the tolerance count as none: those that follow from others are roots of differences.
    template <int K, int N, class V = Lanes<double, N>>
    Array<V, K> measure(const double* X, const int64_t* rows, std::vector<V>& features,
                        std::vector<V>& distances) const {
        const V more = squares.apply(X, rows, features, distances);
        const double scale = 1 / (size * size), none = 0.01 * tolerance * tolerance;
        auto y = zeros<V, K>(k);
        std::copy(shift.begin(), shift.end(), y.begin());
        for (int j = 0; j < n; ++j) {
            const V square = (distances[j] + more) * scale;
            distances[j] = select(square > none, square, 0);
            for (size_t c = 0; c < y.size(); ++c) y[c] += distances[j] * projection[c * n + j];
        }
        for (V& x : y) x = larger<V>(0 - larger<V>(0 - x, -1e150), -1e150);
        return y;
    }

    // Searches for the positions of rows in one precision and returns the rows that it does not place. Single precision
    // starts from landmark MDS, double precision from where a row was left. When most lanes have finished they take new
    // rows, and all lanes are measured again, which for a row gives the same bits at any time.
    template <class T, int N, int K>
    std::vector<int64_t> descend(const double* X, const std::vector<int64_t>& rows, double* out) const {
        constexpr bool SINGLE = sizeof(T) == 4;
        const double within = std::clamp(0.3 * tolerance, 1e-10, 3e-6), last = SINGLE ? 3e-6 : 0.01 * within;
        const int tries = SINGLE ? std::min(max_tries, 100) : max_tries;
        const auto point = [&](int c, int j) -> Lanes<T, N> { return SINGLE ? single[c * n + j] : fixed[c * n + j]; };
        const auto exact = [&](int c, int j) -> Lanes<double, N> { return fixed[c * n + j]; };
        Search<T, N, K> search(k, T(steadiness));
        std::vector<Lanes<double, N>> features, squared;
        std::vector<Lanes<T, N>> distances(n);
        std::vector<int64_t> left;
        int64_t row[N];
        std::fill_n(row, N, -1);
        for (size_t next = 0, searching = 0; next < rows.size() || searching > 0;) {
            bool fresh[N];
            for (int lane = 0; lane < N; ++lane)
                if ((fresh[lane] = row[lane] < 0 && next < rows.size())) row[lane] = rows[next++];
            const auto from = measure<K, N>(X, row, features, squared);
            auto y = from;
            for (int lane = 0; lane < N; ++lane) {
                if (!fresh[lane]) continue;
                double* position = out + row[lane] * k;
                for (int c = 0; c < k && SINGLE; ++c) position[c] = y[c].get(lane);
                search.start(lane, position, from);
            }
            for (int j = 0; j < n; ++j) distances[j] = sqrt(Lanes<T, N>(squared[j]));
            const size_t few = next < rows.size() ? N / 8 : 0;
            do {
                searching = search.advance(point, distances.data(), n, last, tries);
            } while (searching > few);
            Lanes<double, N> moved = 0;
            if constexpr (SINGLE) moved = search.polish(y, from, exact, squared.data(), n);
            for (int lane = 0; lane < N; ++lane) {
                const auto status = search.status_of(lane);
                if (row[lane] < 0 || status == search.SEARCHING) continue;
                double* position = out + row[lane] * k;
                const bool near = search.is_near(lane);
                const bool placed = near && status == search.CONVERGED && moved.get(lane) <= within * within;
                for (int c = 0; c < k && near; ++c)
                    position[c] = SINGLE && placed ? y[c].get(lane) : search.position(lane, c);
                if (!placed) left.push_back(row[lane]);
                row[lane] = -1;
            }
        }
        return left;
    }

    template <int N>
    void place_on_line(const double* X, int64_t n_rows, double* out) const {
        std::vector<int> order(n);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return fixed[i] < fixed[j]; });
        Doubles points, weights, distances(n);
        for (int j : order) {
            points.push_back(fixed[j]);
            weights.push_back(fixed[n + j]);
        }
        std::vector<Lanes<double, N>> features, squared;
        for (int64_t first = 0; first < n_rows; first += N) {
            int64_t row[N];
            for (int lane = 0; lane < N; ++lane) row[lane] = std::min(first + lane, n_rows - 1);
            measure<1, N>(X, row, features, squared);
            for (int lane = 0; lane < N; ++lane) {
                for (int j = 0; j < n; ++j) distances[j] = std::sqrt(squared[order[j]].get(lane));
                out[row[lane]] = best_on_line(points, distances, weights);
            }
        }
    }
};

}  // namespace driftmap
