// Placement of points by t-SNE's loss of a further row, given points that stay where they are.
//
// A row has affinities p to its nearest fixed points, at a perplexity of its own. With w = 1 / (1 + |y - y_j|^2), the
// part of t-SNE's loss that depends on its position y is, up to a factor,
//
//     sum of p_j log(1 / w_j) + (sum of w_j) / z,
//
// where z is the sum of w over the others of a fixed point, on average: the sum of w over all pairs, by which t-SNE
// divides, hardly changes with one more row. The first term attracts the row to its neighbours, the second one keeps
// it away from all fixed points. It starts at the neighbour that the others attract most, and goes down by steps that
// a quadratic function suggests, which is never less than the attraction; a step that leads up is shortened.
//
// Rows are placed one by one, so that neither the others in a call nor the number of threads change anything.
#pragma once

#include "placement.h"
#include "tsne_fit.h"

namespace driftmap {

struct TsnePlacement {
    int n, k;
    Doubles positions;  // of the fixed points, (n, k)
    double perplexity;  // less than n, or 1
    bool repels;
    Affine squares;  // squared distances to the fixed points of what is given
    SinglePoints points{n, k, positions.data()};
    double nearness = repels ? in_dimension(k, [&]<int K>() { return points.mean_nearness<K>(); }) : 0;

    void place(const double* X, int64_t n_rows, double* out) const {
        in_dimension(k, [&]<int K>() { place_rows<K>(X, n_rows, out); });
    }

 private:
    struct Neighbour {
        double square;
        int point;
        bool operator<(const Neighbour& other) const {
            return square < other.square || (square == other.square && point < other.point);
        }
    };
    static constexpr double kLargestSquare = 1e280, kTail = 3, kTolerance = 1e-3;
    static constexpr int kSteps = 12;

    template <int K>
    void place_rows(const double* X, int64_t n_rows, double* out) const {
        std::vector<Affine::V> squared(squares.n_rounded());
        std::vector<Neighbour> near;
        Doubles shares;
        for (int64_t row = 0; row < n_rows; ++row) {
            if (row % 8 == 0) {
                const Affine::V more = squares.apply(X, row, n_rows, squared.data());
                for (Affine::V& square : squared) square += more;
            }
            find_nearest(squared.data(), row % 8, near);
            attract(near, shares);
            descend<K>(near, shares, out + row * k);
        }
    }

    // The nearest fixed points of a row, by distance and number.
    void find_nearest(const Affine::V* squared, int lane, std::vector<Neighbour>& near) const {
        const size_t wanted = std::min(n, int(std::ceil(kTail * perplexity)) + 1);
        double farthest = INFINITY;
        const auto shrink = [&] {
            std::nth_element(near.begin(), near.begin() + (wanted - 1), near.end());
            near.resize(wanted);
            farthest = near.back().square;
        };
        near.clear();
        for (int j = 0; j < n; ++j) {
            const double given = squared[j].get(lane), square = given > 0 ? std::min(given, kLargestSquare) : 0;
            if (square >= farthest) continue;
            near.push_back({square, j});
            if (near.size() == 4 * wanted) shrink();
        }
        if (near.size() > wanted) shrink();
        std::sort(near.begin(), near.end());
    }

    // Affinities exp(-beta d^2) to these points, which sum to 1, at the beta that gives the perplexity. Newton's method
    // for the logarithm of beta; bisection where its step would leave the bracket.
    void attract(const std::vector<Neighbour>& near, Doubles& shares) const {
        const size_t size = near.size();
        const double least = near[0].square, target = std::log(perplexity);
        const size_t rank = std::min(size_t(std::ceil(perplexity)), size - 1);
        double scale = near[rank].square - least, b = 0, low = -6, high = 40;
        if (!(scale > 0)) scale = near.back().square - least;
        if (!(scale > 0)) scale = 1;
        shares.resize(size);
        double total = 0;
        const auto excess = [&](size_t i) { return std::min((near[i].square - least) / scale, 1e100); };
        for (int step = 0; step < 12; ++step) {
            const double beta = std::exp(b);
            double mean = 0, square = 0;
            total = 0;
            for (size_t i = 0; i < size; ++i) {
                const double x = excess(i);
                shares[i] = std::exp(-beta * x);
                total += shares[i], mean += shares[i] * x, square += shares[i] * x * x;
            }
            mean /= total;
            const double gap = std::log(total) + beta * mean - target;
            if (std::abs(gap) < 1e-9) break;
            (gap > 0 ? low : high) = b;
            const double slope = beta * beta * (square / total - mean * mean);
            const double move = gap / std::max(slope, std::numeric_limits<double>::min());
            b += std::clamp(std::clamp(move, (low - b) / 2, (high - b) / 2), -1.5, 1.5);
        }
        for (double& share : shares) share /= total;
    }

    template <int K>
    struct Step {
        double loss;
        Array<double, K> move;
    };

    // The loss at y, and the step from there to the minimum of a quadratic function that bounds the attraction, plus
    // the slope of the repulsion.
    template <int K>
    Step<K> step_from(const Array<double, K>& y, const std::vector<Neighbour>& near, const Doubles& shares) const {
        auto slope = zeros<double, K>(k), gap = slope, push = slope;
        double loss = 0, strength = 0;
        for (size_t i = 0; i < near.size(); ++i) {
            for (int c = 0; c < k; ++c) gap[c] = y[c] - positions[near[i].point * k + c];
            const double square = 1 + dot(gap, gap), pull = shares[i] / square;
            loss += shares[i] * std::log(square);
            strength += pull;
            for (int c = 0; c < k; ++c) slope[c] += pull * gap[c];
        }
        if (nearness > 0) {
            auto single = zeros<float, K>(k);
            for (int c = 0; c < k; ++c) single[c] = float(y[c]);
            loss += points.repulsion<K>(single, push) / nearness;
            for (int c = 0; c < k; ++c) slope[c] -= push[c] / nearness;
        }
        for (int c = 0; c < k; ++c) slope[c] /= -strength;
        return {loss, slope};
    }

    template <int K>
    void descend(const std::vector<Neighbour>& near, const Doubles& shares, double* out) const {
        auto y = start<K>(near, shares), trial = y;
        auto here = step_from<K>(y, near, shares);
        double length = 1;
        for (int step = 1; step < kSteps; ++step) {
            for (int c = 0; c < k; ++c) trial[c] = y[c] + length * here.move[c];
            if (length * length * dot(here.move, here.move) < kTolerance * kTolerance) break;
            const auto there = step_from<K>(trial, near, shares);
            const bool down = there.loss <= here.loss;
            if (down) y = trial, here = there;
            length = down ? std::min(1.5 * length, 4.0) : 0.3 * length;
        }
        std::copy(y.begin(), y.end(), out);
    }

    // The neighbour with the largest sum of p_i / (1 + |y - y_i|^2): a mean of neighbours that lie in several places
    // would lie in none of them, and a descent from there often ends far from most.
    template <int K>
    Array<double, K> start(const std::vector<Neighbour>& near, const Doubles& shares) const {
        auto best = zeros<double, K>(k), y = best;
        double most = -1;
        for (const Neighbour& candidate : near) {
            double sum = 0;
            std::copy_n(&positions[candidate.point * k], k, y.begin());
            for (size_t i = 0; i < near.size(); ++i) {
                double square = 1;
                for (int c = 0; c < k; ++c) {
                    const double gap = y[c] - positions[near[i].point * k + c];
                    square += gap * gap;
                }
                sum += shares[i] / square;
            }
            if (sum > most) most = sum, best = y;
        }
        return best;
    }
};

}  // namespace driftmap
