// Distances between two rows of numbers, identical to the bit on every processor level.
//
// Below 16 coordinates, a sum runs over the coordinates in order. From 16 on, coordinate k is added to partial sum
// k mod 16, and the sixteen partial sums are folded by 8, 4, 2 and 1. Rows are then padded with zeros, which do not
// change the sums, to a multiple of sixteen. tests/naive.py states the same order.
#pragma once

#include "simd.h"

namespace driftmap {

constexpr int kLanes = 16;  // partial sums

inline int padded(int width) { return width < kLanes ? width : (width + kLanes - 1) / kLanes * kLanes; }

// A metric adds the terms of coordinates to kSums partial sums, and computes a distance from the sums. `add` takes
// numbers or vectors.
struct SquaredEuclidean {
    static constexpr int kSums = 1;
    static constexpr int kExtra = 0;      // number of values stored after the padded row
    static void prepare(double*, int) {}  // sets these values, given the padded row
    bool triangle = true;                 // true if the triangle inequality holds
    bool fallible = false;                // true if the distance of two valid points may be NaN or infinite

    void add(auto x, auto y, auto* sums) const { sums[0] += (x - y) * (x - y); }
    static auto fold(auto x, auto y) { return x + y; }
    double finish(const double* sums) const { return sums[0]; }
};

struct Cityblock : SquaredEuclidean {
    void add(auto x, auto y, auto* sums) const { sums[0] += absolute(x - y); }
};

struct Chebyshev : SquaredEuclidean {
    void add(auto x, auto y, auto* sums) const { sums[0] = larger(sums[0], absolute(x - y)); }
    static auto fold(auto x, auto y) { return larger(x, y); }
};

struct Minkowski : SquaredEuclidean {
    double p;
    int factors;  // a small integer exponent, computed as a product; 0: use libm's pow
    explicit Minkowski(double exponent) : p(exponent), factors(p == std::floor(p) && p >= 1 && p <= 32 ? int(p) : 0) {
        triangle = p >= 1, fallible = true;
    }
    void add(auto x, auto y, auto* sums) const {
        const auto gap = absolute(x - y);
        auto power = gap;
        for (int i = 1; i < factors; ++i) power = power * gap;
        sums[0] += factors > 0 ? power : libm_power(gap);
    }
    double libm_power(double x) const { return std::pow(x, p); }
    template <int N>
    Lanes<double, N> libm_power(Lanes<double, N> x) const {
        for (int i = 0; i < N; ++i) x.set(i, std::pow(x.get(i), p));
        return x;
    }
    double finish(const double* sums) const { return std::pow(sums[0], 1.0 / p); }
};

struct Canberra : SquaredEuclidean {
    template <class V>
    void add(V x, V y, V* sums) const {
        const V size = absolute(x) + absolute(y);
        sums[0] += select(size > 0, absolute(x - y) / size, V(0));
    }
};

struct BrayCurtis : SquaredEuclidean {
    static constexpr int kSums = 2;
    BrayCurtis() { triangle = false, fallible = true; }
    void add(auto x, auto y, auto* sums) const { sums[0] += absolute(x - y), sums[1] += absolute(x + y); }
    double finish(const double* sums) const { return sums[0] == 0.0 ? 0.0 : sums[0] / sums[1]; }
};

struct Cosine : SquaredEuclidean {
    static constexpr int kSums = 3;
    Cosine() { triangle = false, fallible = true; }
    void add(auto x, auto y, auto* sums) const { sums[0] += x * y, sums[1] += x * x, sums[2] += y * y; }
    double finish(const double* sums) const {
        return larger(1.0 - sums[0] / (std::sqrt(sums[1]) * std::sqrt(sums[2])), 0.0);
    }
};

struct Hamming : SquaredEuclidean {
    int width;
    explicit Hamming(int width_) : width(width_) {}
    template <class V>
    void add(V x, V y, V* sums) const {
        sums[0] += select(absolute(x - y) > 0, V(1), V(0));
    }
    double finish(const double* sums) const { return sums[0] / width; }
};

// Return the distance of two rows of a padded width.
template <class Metric>
double measure(const Metric& metric, const double* x, const double* y, int width) {
    double totals[Metric::kSums] = {};
    if (width < kLanes) {
        for (int k = 0; k < width; ++k) metric.add(x[k], y[k], totals);
    } else {
        using V = Lanes<double, kLanes>;
        V sums[Metric::kSums] = {};
        for (int k = 0; k < width; k += kLanes) metric.add(V::load(x + k), V::load(y + k), sums);
        for (int s = 0; s < Metric::kSums; ++s)
            totals[s] = sums[s].fold([](auto a, auto b) { return Metric::fold(a, b); });
    }
    return metric.finish(totals);
}

struct Sum : SquaredEuclidean {
    void add(auto x, auto, auto* sums) const { sums[0] += x; }
};

// The cosine distance of rows minus their means. The mean is stored after the row and fills its padding, so that the
// padding contributes zero.
struct Correlation : Cosine {
    static constexpr int kExtra = 1;
    double mean_x = 0.0, mean_y = 0.0;
    template <class V>
    void add(V x, V y, V* sums) const {
        Cosine::add(x - V(mean_x), y - V(mean_y), sums);
    }
    static void prepare(double* row, int width) {
        const double mean = measure(Sum{}, row, row, padded(width)) / width;
        std::fill(row + width, row + padded(width) + kExtra, mean);
    }
};

inline double measure(const Correlation&, const double* x, const double* y, int width) {
    Correlation centred;
    centred.mean_x = x[width], centred.mean_y = y[width];
    return measure<Correlation>(centred, x, y, width);
}

// Call `visit` with the name and an instance of each metric.
void each_metric(double p, int width, auto visit) {
    visit("euclidean", SquaredEuclidean{}), visit("cityblock", Cityblock{}), visit("chebyshev", Chebyshev{});
    visit("minkowski", Minkowski(p)), visit("canberra", Canberra{}), visit("braycurtis", BrayCurtis{});
    visit("cosine", Cosine{}), visit("correlation", Correlation{}), visit("hamming", Hamming(width));
}

}  // namespace driftmap
