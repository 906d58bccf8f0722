// Placement of points on a map, by their distances to points that stay where they are.
//
// A point starts where landmark MDS puts it and goes to a minimum of its stress. Searches run in single precision,
// whose roots and quotients take a third of the time, in as many lanes as the machine has; the last step is in double
// precision. Where that step is not short, or single precision does not converge (a point that is far away), the search
// goes on in double precision. On the line the least of all minima is found.
#pragma once

#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>

#include "line.h"
#include "stress.h"

namespace driftmap {

// A C-contiguous matrix of doubles or floats, read as doubles.
struct Matrix {
    const void* data;
    bool single;
    int64_t rows, columns;

    double operator()(int64_t i, int64_t j) const {
        const int64_t at = i * columns + j;
        return single ? static_cast<const float*>(data)[at] : static_cast<const double*>(data)[at];
    }
};

// (x - centre) matrix + offsets for each row x, or x^2 matrix + offsets without a centre (distances are squared), or
// x^2 without a matrix. Sums run in the order of the features.
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

    // One row in each lane. Returns the squared length of x - centre, or 0 without a centre.
    template <int N>
    Lanes<double, N> apply(const Matrix& X, const int64_t* rows, std::vector<Lanes<double, N>>& features,
                           std::vector<Lanes<double, N>>& out) const {
        using V = Lanes<double, N>;
        features.resize(n_features);
        out.resize(width);
        for (int lane = 0; lane < N; ++lane)
            for (int c = 0; c < n_features; ++c) features[c].set(lane, X(rows[lane], c));
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
            for (int b = 0; b < BLOCK; ++b) out[j + b] = sums[b];
        }
        return centre.empty() ? V(0) : square;
    }

    // All rows, to (rows, n_outputs).
    void apply(const Matrix& X, double* out) const {
        std::vector<Lanes<double, 8>> features, results;
        for (int64_t first = 0; first < X.rows; first += 8) {
            int64_t rows[8];
            for (int lane = 0; lane < 8; ++lane) rows[lane] = std::min(first + lane, X.rows - 1);
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

// What a placement is made of, on a map of size 1 round 0.
struct Map {
    int n, k;
    std::vector<double> fixed;              // coordinates of n fixed points, (k, n), and their weights
    std::vector<double> projection, shift;  // a search starts from projection (k, n) squared distances + shift
    std::vector<double> origin;             // where 0 is on the true map
    double size;                            // of the true map
    double tolerance;                       // steps shorter than this are the last
    int max_tries;
    Affine squares;  // from what is given of a row to squared distances to the fixed points, of the true map
};

class Placement {
 public:
    const Map map;

    explicit Placement(Map map_) : map(std::move(map_)), single(map.fixed.begin(), map.fixed.end()) {}

    // Places each row by itself, to (rows, k).
    void place(const Matrix& X, double* out) const {
        if (X.rows < 8) return place_in_lanes<4>(X, out);
        place_in_lanes<REGISTER_BYTES / sizeof(float)>(X, out);
    }

 private:
    static constexpr double FAR = 200;  // sizes of the map up to which single precision serves
    const std::vector<float> single;

    template <int N>
    void place_in_lanes(const Matrix& X, double* out) const {
        std::vector<int64_t> rows(X.rows);
        std::iota(rows.begin(), rows.end(), 0);
        if (map.k == 1) place_on_line<N>(X, rows, out);
        if (map.k == 2) descend<double, N / 2, 2>(X, descend<float, N, 2>(X, rows, out), out);
        if (map.k == 3) descend<double, N / 2, 3>(X, descend<float, N, 3>(X, rows, out), out);
        if (map.k > 3) descend<double, N / 2, 0>(X, descend<float, N, 0>(X, rows, out), out);
        for (int64_t i = 0; i < X.rows; ++i)
            for (int c = 0; c < map.k; ++c) out[i * map.k + c] = map.origin[c] + map.size * out[i * map.k + c];
    }

    // Squared distances to the fixed points, in sizes of the map. Those below a tenth of the tolerance count as none:
    // distances that follow from others are roots of differences.
    template <int N>
    void measure(const Matrix& X, const int64_t* rows, std::vector<Lanes<double, N>>& features,
                 std::vector<Lanes<double, N>>& squares) const {
        const auto more = map.squares.apply(X, rows, features, squares);
        const double scale = 1 / (map.size * map.size), none = 0.01 * map.tolerance * map.tolerance;
        for (auto& square : squares) {
            square = (square + more) * scale;
            square = select(square > none, square, 0);
        }
    }

    // Where searches start; far too large numbers are cut.
    template <int N, int K>
    Array<Lanes<double, N>, K> starts(const std::vector<Lanes<double, N>>& squares) const {
        using V = Lanes<double, N>;
        auto y = zeros<V, K>(map.k);
        for (size_t c = 0; c < y.size(); ++c) {
            y[c] = map.shift[c];
            for (int j = 0; j < map.n; ++j) y[c] += squares[j] * map.projection[c * map.n + j];
            y[c] = larger<V>(0 - larger<V>(0 - y[c], -1e150), -1e150);
        }
        return y;
    }

    // Searches for the positions of rows in one precision and returns the rows that it does not place. Single precision
    // starts from landmark MDS, double precision from where a row was left. Lanes that are free take the next rows when
    // most are.
    template <class T, int N, int K>
    std::vector<int64_t> descend(const Matrix& X, const std::vector<int64_t>& rows, double* out) const {
        constexpr bool SINGLE = sizeof(T) == 4;
        const double within = std::clamp(0.3 * map.tolerance, 1e-10, 3e-6);
        const std::vector<T>& table = std::get<const std::vector<T>&>(std::tie(single, map.fixed));
        const auto fixed = [&](int c, int j) { return Lanes<T, N>(table[c * map.n + j]); };
        const auto exact = [&](int c, int j) { return Lanes<double, N>(map.fixed[c * map.n + j]); };
        Search<T, N, K> search(map.k);
        std::vector<Lanes<double, N>> features, squares;
        std::vector<Lanes<T, N>> distances(map.n);
        std::vector<int64_t> left;
        int64_t row[N];
        bool busy[N] = {};
        for (size_t next = 0, searching = 0; next < rows.size() || searching > 0;) {
            bool fresh[N] = {};
            for (int lane = 0; lane < N; ++lane) {
                if (busy[lane]) continue;
                fresh[lane] = busy[lane] = next < rows.size();
                row[lane] = busy[lane] ? rows[next++] : rows.back();
            }
            measure(X, row, features, squares);
            auto y = starts<N, K>(squares);
            for (int lane = 0; lane < N; ++lane) {
                if (!fresh[lane]) continue;
                double* place = out + row[lane] * map.k;
                for (int c = 0; c < map.k && SINGLE; ++c) place[c] = y[c].get(lane);
                search.start(lane, place);
                if (SINGLE && !(std::inner_product(place, place + map.k, place, 0.0) < FAR * FAR)) search.stop(lane);
            }
            for (int j = 0; j < map.n; ++j) distances[j] = sqrt(Lanes<T, N>(squares[j]));
            const size_t few = 0;
            const int tries = SINGLE ? std::min(map.max_tries, 100) : map.max_tries;
            do {
                searching = search.advance(fixed, distances.data(), map.n, SINGLE ? 3e-6 : 0.01 * within, tries);
            } while (searching > few);
            Lanes<double, N> moved = 0;
            if constexpr (SINGLE) moved = search.polish(y, exact, squares.data(), map.n);
            for (int lane = 0; lane < N; ++lane) {
                const auto status = search.status_of(lane);
                if (!busy[lane] || status == search.SEARCHING) continue;
                busy[lane] = false;
                double* place = out + row[lane] * map.k;
                const bool placed = status == search.CONVERGED && moved.get(lane) <= within * within;
                bool near = true;
                for (int c = 0; c < map.k; ++c) near &= std::abs(search.position(lane, c)) < FAR;
                for (int c = 0; c < map.k && (near || !SINGLE); ++c)
                    place[c] = SINGLE && placed ? y[c].get(lane) : search.position(lane, c);
                if (!placed) left.push_back(row[lane]);
            }
        }
        return left;
    }

    template <int N>
    void place_on_line(const Matrix& X, const std::vector<int64_t>& rows, double* out) const {
        std::vector<int> order(map.n);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return map.fixed[i] < map.fixed[j]; });
        Doubles points(map.n), weights(map.n), distances(map.n);
        for (int j = 0; j < map.n; ++j) {
            points[j] = map.fixed[order[j]];
            weights[j] = map.fixed[map.n + order[j]];
        }
        std::vector<Lanes<double, N>> features, squares;
        for (int64_t first = 0; first < X.rows; first += N) {
            int64_t row[N];
            for (int lane = 0; lane < N; ++lane) row[lane] = std::min(first + lane, X.rows - 1);
            measure(X, row, features, squares);
            for (int lane = 0; lane < N; ++lane) {
                for (int j = 0; j < map.n; ++j) distances[j] = std::sqrt(squares[order[j]].get(lane));
                out[row[lane]] = best_on_line(points, distances, weights);
            }
        }
    }
};

}  // namespace driftmap
