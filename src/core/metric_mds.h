// Arrangement of the fixed points themselves, by the weighted stress between them: the sum over pairs of
// w_i w_j (|y_i - y_j| - d_ij)^2, as in SMACOF.
//
// A sweep moves one point after the other, given all others, to where its own stress is no larger, so that the stress
// of all never goes up.
#pragma once

#include "line_stress.h"
#include "stress.h"

namespace driftmap {

// Up to here eigenvalues cost about as much as a Cholesky decomposition; beyond, they would take most of the time.
constexpr int kFewDimensions = 4;

// Solves h x = g, given a symmetric matrix by its lower half and g in x; false, and x as it was, if it is not positive
// definite.
template <int K>
bool solve_convex(int k, const Array<double, K * K>& h, Array<double, K>& x) {
    auto l = zeros<double, K * K>(k * k);  // Cholesky's factor
    for (int c = 0; c < k; ++c)
        for (int b = 0; b <= c; ++b) {
            double sum = h[c * k + b];
            for (int i = 0; i < b; ++i) sum -= l[c * k + i] * l[b * k + i];
            if (b == c && !(sum > 0)) return false;
            l[c * k + b] = b == c ? std::sqrt(sum) : sum / l[b * k + b];
        }
    for (int c = 0; c < k; ++c) {
        for (int i = 0; i < c; ++i) x[c] -= l[c * k + i] * x[i];
        x[c] /= l[c * k + c];
    }
    for (int c = k - 1; c >= 0; --c) {
        for (int i = c + 1; i < k; ++i) x[c] -= l[i * k + c] * x[i];
        x[c] /= l[c * k + c];
    }
    return true;
}

// One sweep in two or more dimensions: a Newton step of each point, or its half or quarter, else SMACOF's, which always
// decreases up to rounding. Distances are (n, n), positions (n, k). Returns the weighted sum of squared moves. Sums
// over fixed points are in eight lanes.
template <int K>
double sweep_space(int n, int k, const double* distances, const double* weights, double* positions) {
    using V = Lanes<double, 8>;
    const int width = (n + 7) / 8;
    std::vector<V> fixed(size_t(k + 1) * width, V(0)), targets(width, V(0));
    const auto set = [&](int c, int i, double x) { fixed[size_t(c) * width + i / 8].set(i % 8, x); };
    const auto at = [&](const Array<double, K>& y) {
        const auto sum = [](const V& lanes) { return lanes.fold(std::plus<>()); };
        auto position = zeros<V, K>(k);
        std::copy(y.begin(), y.end(), position.begin());
        const auto point = [&](int c, int j) { return fixed[size_t(c) * width + j]; };
        const auto lanes = derivatives<K>(position, point, targets.data(), width);
        Derivatives<double, K> sums{sum(lanes.stress), zeros<double, K>(k), zeros<double, K * K>(k * k)};
        std::transform(lanes.gradient.begin(), lanes.gradient.end(), sums.gradient.begin(), sum);
        std::transform(lanes.hessian.begin(), lanes.hessian.end(), sums.hessian.begin(), sum);
        return sums;
    };
    for (int i = 0; i < n; ++i) {
        set(k, i, weights[i]);
        for (int c = 0; c < k; ++c) set(c, i, positions[i * k + c]);
    }
    double moved = 0;
    for (int i = 0; i < n; ++i) {
        set(k, i, 0);
        std::memcpy(targets.data(), distances + size_t(i) * n, n * sizeof(double));
        auto y = zeros<double, K>(k);
        std::copy_n(positions + size_t(i) * k, k, y.begin());
        auto here = at(y);
        auto newton = here.gradient;
        if (k <= kFewDimensions || !solve_convex<K>(k, here.hessian, newton))
            newton = times(Inverse<double, K>(k, here.hessian, 0, 1e-3).matrix, here.gradient);
        for (int attempt = 0; attempt < 4; ++attempt) {
            auto step = attempt < 3 ? newton : here.gradient, trial = y;
            for (int c = 0; c < k; ++c) {
                if (attempt < 3) step[c] = std::ldexp(step[c], -attempt);
                trial[c] -= step[c];
            }
            if (!(at(trial).stress <= here.stress)) continue;
            moved += weights[i] * dot(step, step);
            for (int c = 0; c < k; ++c) set(c, i, positions[i * k + c] = trial[c]);
            break;
        }
        set(k, i, weights[i]);
    }
    return moved;
}

// One sweep on the line, each point to the least of its minima: since points jump over each other, this finds its way
// out of the many orders in which any descent comes to rest.
inline double sweep_line(int n, const double* distances, const double* weights, double* positions) {
    std::vector<int> order = sorted(positions, n);
    Doubles others(weights, weights + n);
    double moved = 0;
    for (int i = 0; i < n; ++i, distances += n) {
        others[i] = 0;
        const double y = best_on_line(order, positions, others.data(), distances);
        // By the sum of squares, which cancels nothing: rounding errors move no point.
        const auto stress = [&](double at) {
            double sum = 0;
            for (int j = 0; j < n; ++j) {
                const double residual = std::abs(at - positions[j]) - distances[j];
                sum += others[j] * residual * residual;
            }
            return sum;
        };
        if (stress(y) < stress(positions[i])) {
            moved += weights[i] * (y - positions[i]) * (y - positions[i]);
            positions[i] = y;
            order.erase(std::find(order.begin(), order.end(), i));
            const auto after = [&](double at, int j) { return at < positions[j]; };
            order.insert(std::upper_bound(order.begin(), order.end(), y, after), i);
        }
        others[i] = weights[i];
    }
    return moved;
}

inline double sweep(int n, int k, const double* distances, const double* weights, double* positions) {
    if (k == 0) return 0;
    if (k == 1) return sweep_line(n, distances, weights, positions);
    if (k == 2) return sweep_space<2>(n, k, distances, weights, positions);
    if (k == 3) return sweep_space<3>(n, k, distances, weights, positions);
    return sweep_space<0>(n, k, distances, weights, positions);
}

}  // namespace driftmap
