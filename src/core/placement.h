// Placement of points on a map, by their distances to points that stay where they are.
//
// A point starts where landmark MDS puts it and goes to a minimum of its stress. One that lies off the map, high above
// it or far from all fixed points, may have several: it starts from the place of least stress among some that are
// spread over the map (in the plane and in space). Up to the sum of w d^2, the stress at a given place is linear in
// the distances: a product gives it at all places, or two small products where there is a basis. For other points
// minima lie in pairs on two sides of the fixed point that pulls hardest: where the other side is expected to be
// deeper, it is searched, too. Searches run in single precision, whose roots and quotients take a third of the time, in
// as many lanes as the machine has; the last step is in double precision. Where that step is not short, or single
// precision does not converge (a point that is far away), the search goes on in double precision. On the line the least
// of all minima is found.
#pragma once

#include "line_stress.h"
#include "stress.h"

namespace driftmap {

// (x - centre) matrix + offsets for each row x, or x^2 matrix + offsets without a centre (distances are squared), or
// x^2 without a matrix. Sums run in the order of the features, whatever the level.
struct Affine {
    using V = Lanes<double, 8>;
    static constexpr int kAffineOutputs = 4;  // outputs at a time, whose sums stay in registers
    int n_features, n_outputs;
    Doubles matrix;           // in_blocks
    Doubles offsets, centre;  // the former are read up to kAffineOutputs numbers past their end

    int n_rounded() const { return (n_outputs + kAffineOutputs - 1) / kAffineOutputs * kAffineOutputs; }

    // A matrix (n_features, n_outputs) in blocks of kAffineOutputs columns, each by rows: it is read from front to end.
    // By rows of many outputs, all numbers of a column would share a few lines of the cache.
    static Doubles in_blocks(const double* matrix, int n_features, int n_outputs) {
        Doubles blocks;
        for (int first = 0; first < n_outputs; first += kAffineOutputs)
            for (int c = 0; c < n_features; ++c)
                for (int j = first; j < first + kAffineOutputs; ++j)
                    blocks.push_back(j < n_outputs ? matrix[size_t(c) * n_outputs + j] : 0);
        return blocks;
    }

    // Eight rows of n from `first` on, side by side, to n_rounded vectors; the last row again where there are no more.
    // Returns the squared length of x - centre, or 0 without a centre.
    V apply(const double* X, int64_t first, int64_t n, V* out) const {
        std::vector<V> x(n_features);
        for (int lane = 0; lane < 8; ++lane)
            for (int c = 0; c < n_features; ++c) x[c].set(lane, X[std::min(first + lane, n - 1) * n_features + c]);
        V square = 0;
        for (int c = 0; c < n_features; ++c) {
            x[c] = centre.empty() ? x[c] * x[c] : x[c] - centre[c];
            square += x[c] * x[c];
        }
        if (matrix.empty()) std::copy(x.begin(), x.end(), out);
        for (int j = 0; j < n_outputs && !matrix.empty(); j += kAffineOutputs) {
            V sums[kAffineOutputs];
            for (int b = 0; b < kAffineOutputs; ++b) sums[b] = offsets[j + b];
            const double* block = matrix.data() + size_t(j) * n_features;
            for (int c = 0; c < n_features; ++c, block += kAffineOutputs)
                for (int b = 0; b < kAffineOutputs; ++b) sums[b] += x[c] * block[b];
            for (int b = 0; b < kAffineOutputs; ++b) out[j + b] = sums[b];
        }
        return centre.empty() ? V(0) : square;
    }
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
    Doubles places;     // from which a point that lies off the map may start, (8 p, k)
    // Tables for `multiply`. Their product is the stress at the places, less the sum of w d^2, which all places share.
    // `losses` multiplies the n distances. If there is a basis (principal directions of the distances from the fixed
    // points to the places), it multiplies the distances, and `losses` multiplies its products.
    std::vector<float> basis, losses;

    // Places each of these rows by itself, to (n_rows, k).
    void place(const double* X, int64_t n_rows, double* out) const {
        constexpr int64_t kRows = 512;  // at a time: their distances stay in the cache
        std::vector<V> squared(size_t(std::min(kRows, n_rows + 7) / 8) * squares.n_rounded());
        for (int64_t first = 0; first < n_rows; first += kRows) {
            const int64_t count = std::min(kRows, n_rows - first);
            double* part = out + first * k;
            std::vector<char> off_map(count);
            for (int64_t i = 0; i < count; i += 8)
                measure(X + first * squares.n_features, i, count, &squared[i / 8 * squares.n_rounded()], part, off_map);
            if (k == 1)
                place_on_line(squared.data(), count, part);
            else if (count < 8)
                descend_from<4>(squared.data(), count, off_map, part);
            else
                descend_from<kFloats>(squared.data(), count, off_map, part);
            for (int64_t i = 0; i < count * k; ++i) part[i] = origin[i % k] + size * part[i];
        }
    }

 private:
    using V = Affine::V;

    // Squared distances of eight rows to the fixed points, in sizes of the map, and where landmark MDS puts them. A row
    // lies off the map if its squared height above that place plus its squared distance to the nearest fixed point
    // exceeds 1; from 100 on it is so far away that no place is much better. Still farther out rounding decides on the
    // place: it is then no farther away than the row. Distances below a tenth of the tolerance count as none: those
    // that follow from others are roots of differences.
    void measure(const double* X, int64_t first, int64_t n_rows, V* squared, double* out,
                 std::vector<char>& off_map) const {
        constexpr double kOff = 1, kFar = 100, kLost = 1e20;
        const V more = squares.apply(X, first, n_rows, squared);
        const double scale = 1 / (size * size), none = 0.01 * tolerance * tolerance;
        V nearest = INFINITY, mean = 0, length = 0;
        for (int j = 0; j < n; ++j) {
            const V square = (squared[j] + more) * scale;
            squared[j] = select(square > none, square, 0);
            mean += fixed[k * n + j] * squared[j];
            nearest = select(nearest > squared[j], squared[j], nearest);
        }
        for (int c = 0; c < k; ++c) {
            V y = shift[c];
            for (int j = 0; j < n; ++j) y += squared[j] * projection[c * n + j];
            y = larger<V>(0 - larger<V>(0 - y, -1e150), -1e150);
            length += y * y;
            for (int lane = 0; lane < 8 && first + lane < n_rows; ++lane) out[(first + lane) * k + c] = y.get(lane);
        }
        const V off = nearest + (mean - 1 - length), far = sqrt(mean / length);
        for (int lane = 0; lane < 8 && first + lane < n_rows; ++lane) {
            off_map[first + lane] = off.get(lane) > kOff && off.get(lane) < kFar;
            if (mean.get(lane) > kLost && far.get(lane) < 1)
                for (int c = 0; c < k; ++c) out[(first + lane) * k + c] *= far.get(lane);
        }
    }

    double squared_of(const V* squared, int64_t row, int j) const {
        return squared[row / 8 * squares.n_rounded() + j].get(row % 8);
    }

    // Products of a table (outputs / 8, inputs + 1, 8) with inputs and 1, eight at a time.
    template <class F>
    static void multiply(const std::vector<float>& table, const std::vector<F>& inputs, const auto& visit) {
        constexpr int kTableOutputs = 8;  // outputs at a time, whose sums stay in registers
        const float* factors = table.data();
        for (int first = 0; factors < table.data() + table.size(); first += kTableOutputs) {
            F sums[kTableOutputs];
            for (F& sum : sums) sum = 0;
            for (const F& input : inputs)
                for (F& sum : sums) sum += input * *factors++;
            for (F& sum : sums) sum += *factors++;
            visit(first, sums);
        }
    }

    // Moves rows that lie off the map to the places of least stress, where that is less than where they are.
    template <int N>
    void choose_places(const V* squared, const std::vector<char>& off_map, double* out) const {
        using F = Lanes<float, N>;
        std::vector<int64_t> rows;
        for (size_t row = 0; row < off_map.size(); ++row)
            if (off_map[row]) rows.push_back(row);
        std::vector<F> distances(n), home(k), mixed;
        for (size_t first = 0; first < rows.size() && !places.empty(); first += N) {
            const int count = int(std::min<size_t>(N, rows.size() - first));
            for (int lane = 0; lane < N; ++lane) {
                const int64_t row = rows[first + std::min(lane, count - 1)];
                for (int j = 0; j < n; ++j) distances[j].set(lane, squared_of(squared, row, j));
                for (int c = 0; c < k; ++c) home[c].set(lane, out[row * k + c]);
            }
            for (F& distance : distances) distance = sqrt(distance);
            mixed.clear();
            multiply(basis, distances, [&](int, const auto& sums) { mixed.insert(mixed.end(), sums, sums + 8); });
            F least = 0, best = -1;
            for (int j = 0; j < n; ++j) {
                F square = 0;
                for (int c = 0; c < k; ++c) square += (home[c] - single[c * n + j]) * (home[c] - single[c * n + j]);
                least += single[k * n + j] * (square - 2 * distances[j] * sqrt(square));
            }
            multiply(losses, basis.empty() ? distances : mixed, [&](int place, const auto& sums) {
                for (F stress : sums) {
                    for (int c = 0; c < k && steadiness > 0; ++c) {
                        const F away = home[c] - float(places[place * k + c]);
                        stress += float(steadiness) * away * away;
                    }
                    best = select(least > stress, F(place++), best);
                    least = select(least > stress, stress, least);
                }
            });
            for (int lane = 0; lane < count; ++lane)
                if (best.get(lane) >= 0) std::copy_n(&places[int(best.get(lane)) * k], k, out + rows[first + lane] * k);
        }
    }

    template <int N>
    void descend_from(const V* squared, int64_t n_rows, const std::vector<char>& off_map, double* out) const {
        const Doubles homes(out, out + n_rows * k);
        choose_places<N>(squared, off_map, out);
        std::vector<int64_t> rows(n_rows);
        std::iota(rows.begin(), rows.end(), 0);
        const auto search = [&]<int K>() {
            rows = descend<float, N, K>(squared, homes, rows, off_map, out);
            descend<double, N / 2, K>(squared, homes, rows, off_map, out);
        };
        if (k == 2) search.template operator()<2>();
        if (k == 3) search.template operator()<3>();
        if (k > 3) search.template operator()<0>();
    }

    // Searches for the positions of rows in one precision, from where they are, and returns the rows that it does not
    // place. When most lanes have finished they take new rows, or look for a minimum that is 1 % deeper on the other
    // side of the fixed point that pulls hardest.
    template <class T, int N, int K>
    std::vector<int64_t> descend(const V* squared, const Doubles& homes, const std::vector<int64_t>& rows,
                                 const std::vector<char>& off_map, double* out) const {
        constexpr bool kSingle = sizeof(T) == 4;
        const double within = std::clamp(0.3 * tolerance, 1e-10, 3e-6), last = kSingle ? 3e-6 : 0.01 * within;
        const int tries = kSingle ? std::min(max_tries, 100) : max_tries;
        const auto point = [&](int c, int j) -> Lanes<T, N> { return kSingle ? single[c * n + j] : fixed[c * n + j]; };
        const auto exact = [&](int c, int j) -> Lanes<double, N> { return fixed[c * n + j]; };
        Search<T, N, K> search(k, steadiness);
        std::vector<Lanes<double, N>> targets(n, 0);
        std::vector<Lanes<T, N>> distances(n);
        std::vector<int64_t> left;
        int64_t row[N];
        std::fill_n(row, N, -1);
        for (size_t next = 0, searching = 0; next < rows.size() || searching > 0;) {
            for (int lane = 0; lane < N && next < rows.size(); ++lane) {
                if (row[lane] >= 0) continue;
                row[lane] = rows[next++];
                search.start(lane, out + row[lane] * k, &homes[row[lane] * k]);
                for (int j = 0; j < n; ++j) targets[j].set(lane, squared_of(squared, row[lane], j));
            }
            for (int j = 0; j < n; ++j) distances[j] = sqrt(Lanes<T, N>(targets[j]));
            const size_t few = next < rows.size() ? 3 * N / 8 : 0;
            do {
                searching = search.advance(point, distances.data(), n, last, tries);
            } while (searching > few);
            auto y = zeros<Lanes<double, N>, K>(k);
            Lanes<double, N> moved = 0, strongest = 0;
            if constexpr (kSingle) moved = search.polish(y, strongest, exact, targets.data(), n);
            for (int lane = 0; lane < N; ++lane) {
                const auto status = search.status_of(lane);
                if (row[lane] < 0 || status == search.SEARCHING) continue;
                double* position = out + row[lane] * k;
                const bool near = search.is_near(lane), first = !search.is_bounded(lane);
                const bool placed = near && status == search.CONVERGED && moved.get(lane) <= within * within;
                for (int c = 0; c < k && near && (placed || first); ++c)
                    position[c] = kSingle && placed ? y[c].get(lane) : search.position(lane, c);
                if (first && !placed) left.push_back(row[lane]);
                if (kSingle && first && placed && !places.empty() && !off_map[row[lane]]) {
                    const int j = int(strongest.get(lane));
                    const double pull = fixed[k * n + j] * double(distances[j].get(lane));
                    auto other = zeros<double, K>(k);
                    for (int c = 0; c < k; ++c) other[c] = fixed[c * n + j];
                    if (search.has_other_side(lane, position, pull, other)) {
                        search.start(lane, other.data(), &homes[row[lane] * k], 0.99 * search.stress_of(lane));
                        ++searching;
                        continue;
                    }
                }
                row[lane] = -1;
            }
        }
        return left;
    }

    void place_on_line(const V* squared, int64_t n_rows, double* out) const {
        const std::vector<int> order = sorted(fixed.data(), n);
        Doubles distances(n);
        for (int64_t row = 0; row < n_rows; ++row) {
            for (int j = 0; j < n; ++j) distances[j] = std::sqrt(squared_of(squared, row, j));
            out[row] = best_on_line(order, fixed.data(), fixed.data() + n, distances.data());
        }
    }
};

}  // namespace driftmap
