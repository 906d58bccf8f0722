// t-SNE of the fixed points themselves (van der Maaten and Hinton, 2008): gradient descent of the Kullback-Leibler
// divergence with momentum and gains (Jacobs, 1988).
//
// Attraction is summed over the pairs that have affinity, in double precision; repulsion over all pairs, in single
// precision, which is fast enough for some thousands of points. Sums run in one order, whatever the level.
#pragma once

#include "stress.h"

namespace driftmap {

// Positions of fixed points in single precision, coordinate by coordinate, in groups of 16. Groups are filled up with
// points so far away that they count for nothing.
struct SinglePoints {
    using F = Lanes<float, 16>;
    static constexpr float kNowhere = 1e15f;
    int n, k, groups;
    std::vector<F> coordinates;  // (k, groups)

    SinglePoints(int n, int k) : n(n), k(k), groups((n + 15) / 16), coordinates(size_t(k) * groups, F(kNowhere)) {}
    SinglePoints(int n, int k, const double* positions) : SinglePoints(n, k) { set(positions); }
    void set(const double* positions) {  // (n, k)
        for (int i = 0; i < n; ++i)
            for (int c = 0; c < k; ++c)
                coordinates[size_t(c) * groups + i / 16].set(i % 16, float(positions[i * k + c]));
    }

    // The sum of w = 1 / (1 + |y - y_j|^2) over all points, and to `push` that of w^2 (y - y_j).
    template <int K>
    double repulsion(const Array<float, K>& y, Array<double, K>& push) const {
        auto sums = zeros<F, K>(k), gap = sums;
        F total = 0;
        for (int g = 0; g < groups; ++g) {
            F square = 1;
            for (int c = 0; c < k; ++c) {
                gap[c] = F(y[c]) - coordinates[size_t(c) * groups + g];
                square += gap[c] * gap[c];
            }
            const F w = F(1) / square, w2 = w * w;
            total += w;
            for (int c = 0; c < k; ++c) sums[c] += w2 * gap[c];
        }
        for (int c = 0; c < k; ++c) push[c] = sums[c].fold(std::plus<>());
        return total.fold(std::plus<>());
    }

    // The sum of 1 / (1 + |y_i - y_j|^2) over all other points, on average over all points.
    template <int K>
    double mean_nearness() const {
        double total = 0;
        auto y = zeros<float, K>(k);
        auto push = zeros<double, K>(k);
        for (int i = 0; i < n; ++i) {
            for (int c = 0; c < k; ++c) y[c] = coordinates[size_t(c) * groups + i / 16].get(i % 16);
            total += repulsion<K>(y, push) - 1;
        }
        return total / n;
    }
};

// Calls a template of the dimension of the map: 2, 3, or 0 if it is not known at compile time.
auto in_dimension(int k, const auto& function) {
    if (k == 2) return function.template operator()<2>();
    if (k == 3) return function.template operator()<3>();
    return function.template operator()<0>();
}

// A sparse symmetric matrix of affinities that sum to 1: row i has the entries from starts[i] on.
struct AffinityMatrix {
    const int64_t *starts, *columns;
    const double* values;
};

// Moves n points by n_iter steps, in place; attraction is multiplied by the exaggeration.
template <int K>
void descend_tsne(int n, int k, const AffinityMatrix& affinities, double exaggeration, double momentum, double rate,
                  int n_iter, double* positions) {
    SinglePoints points(n, k);
    Doubles velocity(size_t(n) * k, 0), gains(size_t(n) * k, 1), pushes(size_t(n) * k), centre(k);
    auto single = zeros<float, K>(k);
    auto pull = zeros<double, K>(k), gap = pull, push = pull;
    for (int iter = 0; iter < n_iter; ++iter) {
        points.set(positions);
        double total = 0;
        for (int i = 0; i < n; ++i) {
            for (int c = 0; c < k; ++c) single[c] = float(positions[i * k + c]);
            total += points.repulsion<K>(single, push) - 1;
            std::copy(push.begin(), push.end(), &pushes[size_t(i) * k]);
        }
        total = std::max(total, std::numeric_limits<double>::min());  // of points that are infinitely far apart
        for (int i = 0; i < n; ++i) {
            std::fill(pull.begin(), pull.end(), 0);
            for (int64_t e = affinities.starts[i]; e < affinities.starts[i + 1]; ++e) {
                for (int c = 0; c < k; ++c) gap[c] = positions[i * k + c] - positions[affinities.columns[e] * k + c];
                const double strength = affinities.values[e] / (1 + dot(gap, gap));
                for (int c = 0; c < k; ++c) pull[c] += strength * gap[c];
            }
            for (int c = 0; c < k; ++c) {
                const size_t at = size_t(i) * k + c;
                const double slope = 4 * (exaggeration * pull[c] - pushes[at] / total);
                gains[at] = std::max(slope * velocity[at] < 0 ? gains[at] + 0.2 : gains[at] * 0.8, 0.01);
                velocity[at] = momentum * velocity[at] - rate * gains[at] * slope;
            }
        }
        std::fill(centre.begin(), centre.end(), 0);
        for (size_t at = 0; at < velocity.size(); ++at) centre[at % k] += (positions[at] += velocity[at]);
        for (size_t at = 0; at < velocity.size(); ++at) positions[at] -= centre[at % k] / n;
    }
}

}  // namespace driftmap
