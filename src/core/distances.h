// Distances between two rows of numbers, one value per pair to the bit, on every processor level.
//
// A sum over coordinates is taken in their order below 16 coordinates. From 16 on there are sixteen partial sums:
// coordinate k goes to sum k mod 16, and the sums are folded by 8, 4, 2 and 1. Rows are then padded with zeros to a
// multiple of eight, which changes no sum. tests/naive.py states the same order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace driftmap {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

typedef double Doubles __attribute__((vector_size(kVectorBytes)));
typedef float Floats __attribute__((vector_size(kVectorBytes)));
typedef std::int64_t Longs __attribute__((vector_size(kVectorBytes)));
typedef std::int32_t Ints __attribute__((vector_size(kVectorBytes)));

constexpr int kDoubles = kVectorBytes / 8;
constexpr int kFloats = kVectorBytes / 4;
constexpr int kLanes = 16;  // partial sums

template <class V, class T>
V load(const T* from) {
    V vector;
    std::memcpy(&vector, from, sizeof(V));
    return vector;
}

template <class V, class T>
void store(T* to, const V& vector) {
    std::memcpy(to, &vector, sizeof(V));
}

inline int padded(int width) { return width < kLanes ? width : (width + 7) / 8 * 8; }

inline double absolute(double x) { return std::fabs(x); }
inline Doubles absolute(Doubles x) { return x < 0.0 ? -x : x; }
inline double larger(double x, double y) { return x > y ? x : y; }
inline Doubles larger(Doubles x, Doubles y) { return x > y ? x : y; }
inline double where_positive(double x, double value) { return x > 0.0 ? value : 0.0; }
inline Doubles where_positive(Doubles x, Doubles value) { return x > 0.0 ? value : Doubles{}; }
inline double differ(double x, double y) { return x != y ? 1.0 : 0.0; }
inline Doubles differ(Doubles x, Doubles y) { return x != y ? Doubles{} + 1.0 : Doubles{}; }

// A metric adds the terms of coordinates to kSums partial sums and turns the sums into a distance. `add` and `fold`
// take numbers and vectors alike.
struct SquaredEuclidean {
    static constexpr int kSums = 1;
    static constexpr int kExtra = 0;      // numbers stored behind the padded row
    static void prepare(double*, int) {}  // sets them, given the padded row
    template <class V>
    void add(V x, V y, V* sums) const {
        const V gap = x - y;
        sums[0] += gap * gap;
    }
    template <class V>
    static V fold(V x, V y) {
        return x + y;
    }
    double finish(const double* sums) const { return sums[0]; }
};

struct Cityblock : SquaredEuclidean {
    template <class V>
    void add(V x, V y, V* sums) const {
        sums[0] += absolute(x - y);
    }
};

struct Chebyshev : SquaredEuclidean {
    template <class V>
    void add(V x, V y, V* sums) const {
        sums[0] = larger(sums[0], absolute(x - y));
    }
    template <class V>
    static V fold(V x, V y) {
        return larger(x, y);
    }
};

struct Minkowski : SquaredEuclidean {
    double p;
    int factors;  // a small whole exponent, which is a product; 0: libm's power
    explicit Minkowski(double exponent) : p(exponent), factors(p == std::floor(p) && p >= 1 && p <= 32 ? int(p) : 0) {}
    template <class V>
    void add(V x, V y, V* sums) const {
        const V gap = absolute(x - y);
        V power = gap;
        for (int i = 1; i < factors; ++i) power = power * gap;
        sums[0] += factors > 0 ? power : libm_power(gap);
    }
    double libm_power(double x) const { return std::pow(x, p); }
    Doubles libm_power(Doubles x) const {
        for (int i = 0; i < kDoubles; ++i) x[i] = std::pow(x[i], p);
        return x;
    }
    double finish(const double* sums) const { return std::pow(sums[0], 1.0 / p); }
};

struct Canberra : SquaredEuclidean {
    template <class V>
    void add(V x, V y, V* sums) const {
        const V size = absolute(x) + absolute(y);
        sums[0] += where_positive(size, absolute(x - y) / size);
    }
};

struct BrayCurtis : SquaredEuclidean {
    static constexpr int kSums = 2;
    template <class V>
    void add(V x, V y, V* sums) const {
        sums[0] += absolute(x - y);
        sums[1] += absolute(x + y);
    }
    double finish(const double* sums) const { return sums[0] == 0.0 ? 0.0 : sums[0] / sums[1]; }
};

struct Cosine : SquaredEuclidean {
    static constexpr int kSums = 3;
    template <class V>
    void add(V x, V y, V* sums) const {
        sums[0] += x * y;
        sums[1] += x * x;
        sums[2] += y * y;
    }
    double finish(const double* sums) const {
        return larger(1.0 - sums[0] / (std::sqrt(sums[1]) * std::sqrt(sums[2])), 0.0);
    }
};

struct Hamming : SquaredEuclidean {
    int width;
    explicit Hamming(int width_) : width(width_) {}
    template <class V>
    void add(V x, V y, V* sums) const {
        sums[0] += differ(x, y);
    }
    double finish(const double* sums) const { return sums[0] / width; }
};

// The distance of two rows of a padded width.
template <class Metric>
double measure(const Metric& metric, const double* x, const double* y, int width) {
    constexpr int kSums = Metric::kSums;
    double totals[kSums] = {};
    if (width < kLanes) {
        for (int k = 0; k < width; ++k) metric.add(x[k], y[k], totals);
        return metric.finish(totals);
    }
    constexpr int kVectors = kLanes / kDoubles;
    Doubles sums[kVectors][kSums] = {};
    int k = 0;
    for (; k + kLanes <= width; k += kLanes)
        for (int v = 0; v < kVectors; ++v)
            metric.add(load<Doubles>(x + k + v * kDoubles), load<Doubles>(y + k + v * kDoubles), sums[v]);
    if (k < width)
        for (int v = 0; v < kVectors / 2; ++v)
            metric.add(load<Doubles>(x + k + v * kDoubles), load<Doubles>(y + k + v * kDoubles), sums[v]);
    for (int s = 0; s < kSums; ++s) {
        double parts[8];
        for (int v = 0; v < kVectors / 2; ++v)
            store(parts + v * kDoubles, Metric::fold(sums[v][s], sums[v + kVectors / 2][s]));
        for (int i = 0; i < 4; ++i) parts[i] = Metric::fold(parts[i], parts[i + 4]);
        for (int i = 0; i < 2; ++i) parts[i] = Metric::fold(parts[i], parts[i + 2]);
        totals[s] = Metric::fold(parts[0], parts[1]);
    }
    return metric.finish(totals);
}

// The cosine distance of rows minus their means. The mean is stored behind the row and stands in its padding, too,
// where it adds nothing.
struct Correlation : Cosine {
    static constexpr int kExtra = 1;
    double mean_x = 0.0, mean_y = 0.0;
    template <class V>
    void add(V x, V y, V* sums) const {
        Cosine::add(x - mean_x, y - mean_y, sums);
    }
    static void prepare(double* row, int width) {
        struct Sum : SquaredEuclidean {
            void add(double x, double, double* sums) const { sums[0] += x; }
            void add(Doubles x, Doubles, Doubles* sums) const { sums[0] += x; }
        };
        const double mean = measure(Sum{}, row, row, padded(width)) / width;
        std::fill(row + width, row + padded(width) + kExtra, mean);
    }
};

inline double measure(const Correlation&, const double* x, const double* y, int width) {
    Correlation centred;
    centred.mean_x = x[width], centred.mean_y = y[width];
    return measure<Correlation>(centred, x, y, width);
}

}  // namespace driftmap
