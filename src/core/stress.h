// Stress of a position on the map, and its minimisation by Newton's method in a trust region.
//
// The stress of a position y, given distances d to fixed points p with weights w, is the sum of w (|y - p| - d)^2. With
// u the direction of y - p and q = w d / |y - p|, half its gradient is the sum of (w - q) (y - p), and half its Hessian
// is the sum of (w - q) I + q u u'. A fixed point at y itself has no direction and pulls nowhere, as in SMACOF.
//
// V is the type of the numbers: Lanes, with another point in each lane, or double. K is the dimension of the map, or 0
// if it is not known at compile time.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "simd.h"

namespace driftmap {

template <class T, int N>
using Array = std::conditional_t<(N > 0), std::array<T, std::max(N, 1)>, std::vector<T>>;

template <class T, int N>
Array<T, N> zeros(int n) {
    if constexpr (N == 0) return Array<T, N>(n);
    return {};
}

// Inlined, since arrays that are passed on would live in memory.
[[gnu::always_inline]] inline auto dot(const auto& a, const auto& b) {
    auto sum = a[0] * b[0];
    for (size_t c = 1; c < a.size(); ++c) sum += a[c] * b[c];
    return sum;
}

template <class V, int K>
struct Derivatives {
    V stress;
    Array<V, K> gradient;
    Array<V, K * K> hessian;  // its lower half
};

// Stress at y, half its gradient and half its Hessian. fixed(c, j) is coordinate c of fixed point j, and its weight for
// c = k.
template <int K, class V>
Derivatives<V, K> derivatives(const Array<V, K>& y, const auto& fixed, const V* distances, int n) {
    const int k = y.size();
    V stress = 0, isotropic = 0;
    auto gradient = zeros<V, K>(k), u = gradient;
    auto hessian = zeros<V, K * K>(k * k);
    for (int j = 0; j < n; ++j) {
        for (int c = 0; c < k; ++c) u[c] = y[c] - fixed(c, j);
        const V weight = fixed(k, j), length = sqrt(dot(u, u)), inverse = select(length > 0, 1 / length, 0);
        const V residual = length - distances[j], pull = weight * residual;
        const V left = select(length > 0, pull * inverse, weight), q = weight - left;
        stress += pull * residual;
        isotropic += left;
        for (int c = 0; c < k; ++c) {
            u[c] *= inverse;
            gradient[c] += pull * u[c];
            for (int b = 0; b <= c; ++b) hessian[c * k + b] += q * u[c] * u[b];
        }
    }
    for (int c = 0; c < k; ++c) hessian[c * k + c] += isotropic;
    return {stress, gradient, hessian};
}

// Half the gradient alone, in double precision, given squared distances. Reciprocal square roots are those of single
// precision, improved by a Newton iteration; 0 where single precision has none. `strongest` becomes the number of the
// fixed point that pulls hardest, the one with the largest w d / |y - p|.
template <int K, int N>
[[gnu::always_inline]] inline auto precise_gradient(const Array<Lanes<double, N>, K>& y, const auto& fixed,
                                                    const Lanes<double, N>* squares, int n,
                                                    Lanes<double, N>& strongest) {
    using V = Lanes<double, N>;
    const int k = y.size();
    V most = 0;
    auto sums = zeros<V, K>(k), gap = sums;
    for (int j = 0; j < n; ++j) {
        for (int c = 0; c < k; ++c) gap[c] = y[c] - fixed(c, j);
        const V product = dot(gap, gap) * squares[j];
        const Lanes<float, N> single(product);
        const V guess(select(single > 0, 1 / sqrt(single), 0));
        const V ratio = squares[j] * guess * (1.5 - 0.5 * (product * guess) * guess);
        const V weight = fixed(k, j), pull = weight * ratio, left = weight - pull;
        strongest = select(pull > most, V(j), strongest);
        most = larger(pull, most);
        for (int c = 0; c < k; ++c) sums[c] += left * gap[c];
    }
    return sums;
}

// The inverse of a symmetric matrix, given by its lower half, and the eigenvector of its least eigenvalue. If that is
// not positive up to rounding, relative to the largest, all count by their magnitudes, which are at least `floor`.
//
// Eigenvalues are found by Jacobi rotations. The number of sweeps is fixed, so that lanes do not depend on each other;
// in the plane one rotation is all it takes.
template <class V, int K>
struct Inverse {
    Array<V, K * K> matrix;
    Array<V, K> direction;
    decltype(V() > V()) convex;

    Inverse(int k, Array<V, K * K>& h, V rounding, V floor)
        : matrix(zeros<V, K * K>(k * k)), direction(zeros<V, K>(k)) {
        if constexpr (K > 0) k = K;
        auto e = zeros<V, K * K>(k * k);
        for (int c = 0; c < k; ++c) e[c * k + c] = 1;
        for (int sweep = 0; sweep < (k == 2 ? 1 : std::min(k + 1, 8)); ++sweep)
            for (int p = 0; p < k; ++p)
                for (int q = p + 1; q < k; ++q) rotate(k, p, q, h, e);
        V least = h[0], most = 0;
        for (int i = 0; i < k; ++i) {
            least = select(least > h[i * k + i], h[i * k + i], least);
            most = larger(most, larger<V>(h[i * k + i], 0 - h[i * k + i]));
        }
        convex = least > rounding * most;
        for (int i = 0; i < k; ++i) {
            const V value = h[i * k + i], size = larger<V>(value, 0 - value);
            const V inverse = 1 / select(convex, value, larger<V>(size, floor + rounding * most));
            for (int c = 0; c < k; ++c) {
                direction[c] = select(value <= least, e[c * k + i], direction[c]);
                for (int b = 0; b < k; ++b) matrix[c * k + b] += inverse * e[c * k + i] * e[b * k + i];
            }
        }
    }

 private:
    // Makes entry (q, p) zero; e collects the rotations.
    static void rotate(int k, int p, int q, Array<V, K * K>& h, Array<V, K * K>& e) {
        const auto at = [&](int r, int c) -> V& { return h[std::max(r, c) * k + std::min(r, c)]; };
        const V gap = at(q, q) - at(p, p), twice = 2 * at(q, p);
        const V span = larger<V>(gap, 0 - gap) + sqrt(gap * gap + twice * twice);
        const V ratio = select(span > 0, twice / span, 0), tangent = select(gap > 0, ratio, 0 - ratio);
        const V cosine = 1 / sqrt(1 + tangent * tangent), sine = tangent * cosine;
        const auto turn = [&](V& x, V& y) {
            const V old = x;
            x = cosine * old - sine * y;
            y = sine * old + cosine * y;
        };
        at(p, p) -= tangent * at(q, p);
        at(q, q) += tangent * at(q, p);
        at(q, p) = 0;
        for (int r = 0; r < k; ++r) {
            if (r != p && r != q) turn(at(r, p), at(r, q));
            turn(e[r * k + p], e[r * k + q]);
        }
    }
};

auto times(const auto& matrix, const auto& x) {
    auto out = x;
    for (size_t c = 0; c < x.size(); ++c) {
        out[c] = matrix[c * x.size()] * x[0];
        for (size_t b = 1; b < x.size(); ++b) out[c] += matrix[c * x.size() + b] * x[b];
    }
    return out;
}

// Newton's method on a map of size 1 round 0: one search in each lane, which never depends on the others. What is
// minimised is the stress plus `steadiness` times the squared distance to where landmark MDS puts the point: that place
// is a linear function of squared distances, so it does not jump from one minimum to another when the map changes.
//
// A step is at most as long as the radius of the trust region. One that goes down widens it if it was as long; one that
// does not is tried again, four times shorter. Outside the map a step changes the length and the direction of y rather
// than its coordinates, since the stress of a point far away lies in a ring (a shell): with n the direction of y, r its
// length and g the gradient, the Hessian is then the above plus (n g' + g n' - n'g (I + n n')) / r, and lengths of
// steps are relative to r.
template <class T, int N, int K>
class Search {
    using V = Lanes<T, N>;
    using D = Lanes<double, N>;

 public:
    enum Status { SEARCHING, CONVERGED, STOPPED };

    Search(int k, double steadiness)
        : steadiness(steadiness),
          y(zeros<V, K>(k)),
          best(y),
          step(y),
          home(zeros<D, K>(k)),
          inverse(zeros<V, K * K>(k * k)) {}

    // A search that must lead below some stress is given up once that is out of reach.
    void start(int lane, const double* position, const double* from, double below = INFINITY) {
        for (size_t c = 0; c < y.size(); ++c) {
            home[c].set(lane, from[c]);
            y[c].set(lane, position[c]);
            best[c].set(lane, position[c]);
            step[c].set(lane, 0);
        }
        stress.set(lane, std::numeric_limits<T>::infinity());
        radius.set(lane, 0.5);
        tried.set(lane, 0);
        bound.set(lane, below);
        status.set(lane, is_near(lane) ? SEARCHING : STOPPED);
    }
    T stress_of(int lane) const { return stress.get(lane); }
    bool is_bounded(int lane) const { return std::isfinite(bound.get(lane)); }
    Status status_of(int lane) const { return Status(int(status.get(lane))); }
    // Single precision suffices up to this distance, in sizes of the map.
    bool is_near(int lane) const { return dot(best, best).get(lane) < (sizeof(T) == 4 ? 4e4 : INFINITY); }
    // The minimum, or the best position so far if there is none.
    T position(int lane, int c) const { return (status_of(lane) == STOPPED ? best : y)[c].get(lane); }

    // Judges the position y that is tried and chooses the next; returns how many lanes still search. Newton's steps
    // shrink to their square: a search ends where a step is shorter than `within`, or short and, judged by the step
    // before it, followed by one much shorter than that.
    int advance(const auto& fixed, const V* distances, int n, T within, int max_tries) {
        constexpr T SHORT = 1e-3, FLOOR = 0.02, ROUNDING = 10 * std::numeric_limits<T>::epsilon();
        const int k = y.size();
        auto at = derivatives<K>(y, fixed, distances, n);
        for (int c = 0; c < k; ++c) {
            const V away = y[c] - V(home[c]);
            at.stress += T(steadiness) * away * away;
            at.gradient[c] += T(steadiness) * away;
            at.hessian[c * k + c] += T(steadiness);
        }
        const auto searching = status <= 0;
        // Lengths are off by rounding, relative to how far out y is, and stress by as much in proportion to its root.
        const V error = ROUNDING * larger<V>(1, sqrt(dot(y, y))), root = sqrt(stress) + error;
        const auto better = (at.stress <= stress + root * (error + ROUNDING * root)) & searching;
        const V before = dot(step, step) / larger<V>(1, dot(best, best));
        for (int c = 0; c < k; ++c) best[c] = select(better, y[c], best[c]);
        stress = select(better, at.stress, stress);

        const V square = dot(best, best), unit = larger<V>(1, square), reach = sqrt(unit);
        const V curvature = select(square > 1, 1 / reach, 0);
        auto normal = best;
        for (int c = 0; c < k; ++c) normal[c] *= curvature;
        const V slope = dot(normal, at.gradient);
        for (int c = 0; c < k; ++c) {
            at.hessian[c * k + c] -= slope * curvature;
            for (int b = 0; b <= c; ++b) {
                const V mixed = normal[c] * at.gradient[b] + normal[b] * at.gradient[c];
                at.hessian[c * k + b] += (mixed - slope * normal[c] * normal[b]) * curvature;
            }
        }
        const Inverse<V, K> curved(k, at.hessian, ROUNDING, FLOOR / unit);
        const auto newton = times(curved.matrix, at.gradient);
        // At a saddle or maximum the gradient leads nowhere: along the direction of least curvature.
        const auto stuck = select(curved.convex, unit, dot(newton, newton)) <= unit * (SHORT * SHORT);
        const V away = select(dot(curved.direction, at.gradient) <= 0, 0 - radius, radius) * reach;
        for (int c = 0; c < k; ++c)
            step[c] = select(better, select(stuck, away * curved.direction[c], newton[c]), step[c]);
        for (int i = 0; i < k * k; ++i) inverse[i] = select(better, curved.matrix[i], inverse[i]);

        const auto limited = before > radius * radius;
        const V went = select(limited, radius, sqrt(before));
        radius = select(better, select(limited, 2 * radius, radius), T(0.25) * went);
        const V length = dot(step, step) / unit, part = select(length > radius * radius, radius / sqrt(length), 1);
        const V outwards = 0 - part * dot(step, normal);
        V turned = 1;
        for (int c = 0; c < k; ++c) {
            const V turn = (part * step[c] + outwards * normal[c]) * curvature;
            normal[c] -= turn;
            turned += turn * turn;
        }
        const V scale = (reach + outwards) / sqrt(turned);
        for (int c = 0; c < k; ++c)
            y[c] = select(searching, select(square > 1, scale * normal[c], best[c] - part * step[c]), y[c]);
        tried += 1;

        const V end = within * within, next = before * before * (end * T(0.04));
        const auto ends = (length <= end) | ((length <= SHORT * SHORT) & (length * length * length <= next));
        const auto goes_on = (better | (went > within)) & (max_tries > tried);
        const V unfinished = select(goes_on, V(SEARCHING), V(STOPPED));
        status = select(searching, select(ends & better & curved.convex, V(CONVERGED), unfinished), status);
        // Out of reach: not even three times the decrease that Newton's step promises would lead below the bound.
        status = select(bound > select(better, stress - 3 * dot(newton, at.gradient), 0), status, V(STOPPED));
        return int(select(status <= 0, V(1), V(0)).fold(std::plus<>()));
    }

    // The minima after a last Newton step, by the gradient in double precision, and the fixed points that pull hardest
    // there; returns the squared length of the step.
    D polish(Array<D, K>& minima, D& strongest, const auto& fixed, const D* squares, int n) const {
        Array<D, K * K> matrix = zeros<D, K * K>(inverse.size());
        for (size_t i = 0; i < inverse.size(); ++i) matrix[i] = D(inverse[i]);
        for (size_t c = 0; c < y.size(); ++c) minima[c] = D(best[c]) - D(step[c]);
        auto gradient = precise_gradient<K>(minima, fixed, squares, n, strongest);
        for (size_t c = 0; c < y.size(); ++c) gradient[c] += steadiness * (minima[c] - home[c]);
        const auto last = times(matrix, gradient);
        for (size_t c = 0; c < y.size(); ++c) minima[c] -= last[c];
        return dot(last, last);
    }

    // Whether a deeper minimum is expected on the other side of a fixed point, which pulls by w d; `other`, that point,
    // becomes where. On the line through both, the stress at distance t is about h t^2 - 2 (b t + w d |t|), h being the
    // curvature along a valley, with minima at r = (b + w d) / h, which is this one, and (b - w d) / h. With
    // s = w d / (h r), the other is deeper if s > 1, by 4 w d r (s - 1): a model that leaves no stress is not believed.
    // The threshold 1.07 was found by `python -m benchmarks.placement`.
    bool has_other_side(int lane, const double* minimum, double pull, Array<double, K>& other) const {
        auto gap = other;
        auto matrix = zeros<double, K * K>(inverse.size());
        for (size_t c = 0; c < y.size(); ++c) gap[c] = minimum[c] - other[c];
        for (size_t i = 0; i < inverse.size(); ++i) matrix[i] = inverse[i].get(lane);
        const double square = dot(gap, gap), r = std::sqrt(square),
                     s = pull * dot(gap, times(matrix, gap)) / (square * r);
        for (size_t c = 0; c < y.size(); ++c) other[c] -= (2 * s - 1) * gap[c];
        return s > 1.07 && 4 * pull * r * (s - 1) < stress.get(lane);
    }

 private:
    double steadiness;
    Array<V, K> y, best, step;  // the position that is tried, the best one so far, and Newton's step from there
    Array<D, K> home;           // where landmark MDS puts the point
    Array<V, K * K> inverse;    // of the Hessian at the best
    V stress = 0, bound = 0, radius = 0, tried = 0, status = STOPPED;
};

}  // namespace driftmap
