// Euclidean points: the two nearest landmarks of many points at once, points side by side in the lanes of vectors.
//
// Below 16 coordinates distances are computed exactly in lanes. From 16 on, |l|^2 - 2 <x, l> in single precision, of
// points centred at the landmarks' mean, discards the landmarks that cannot be among the two nearest; the others are
// measured exactly. The result is the same to the bit.
#pragma once

#include "rows.h"

namespace driftmap {

class EuclideanSpace : public NativeSpace<SquaredEuclidean> {
 public:
    EuclideanSpace(int width_, int slots)
        : NativeSpace(width_, SquaredEuclidean{}),
          exact_(std::size_t(slots) * width_),
          coarse_(std::size_t(slots) * width_),
          norms_(slots),
          centre_(width_) {
        squared = true;
    }

    // The largest square whose root is at most the distance.
    double reduced(double distance) const override {
        double square = distance * distance;
        if (!(square < kInfinity)) return square;
        while (std::sqrt(square) > distance) square = std::nextafter(square, 0.0);
        for (double above; std::sqrt(above = std::nextafter(square, kInfinity)) <= distance;) square = above;
        return square;
    }
    double expanded(double square) const override { return std::sqrt(square); }
    double scaled(double square, double times) const override {
        return larger(square * times * times * (1 + 1e-9), kTiny);
    }

    void on_landmark(int slot, std::int32_t row) override {
        std::copy(points[row], points[row] + width, exact_.data() + std::size_t(slot) * width);
        if (width >= kLanes) set_coarse(slot);
        ++changes_;
    }

 protected:
    void nearest(const double* const* rows, int count, const Landmarks& landmarks, Nearest* out) override {
        if (count < kFew || landmarks.order.size() < 2) return NativeSpace::nearest(rows, count, landmarks, out);
        if (width < kLanes) {
            for (int i = 0; i < count; i += 2 * kDoubles)
                exact_lanes(rows + i, std::min(2 * kDoubles, count - i), landmarks, out + i);
            return;
        }
        if (changes_ > landmarks.order.size()) recentre(landmarks);
        double largest = 0.0;
        for (const int slot : landmarks.order) largest = larger(largest, norms_[slot]);
        if (!(largest > 1e-20 && largest < 1e30)) return NativeSpace::nearest(rows, count, landmarks, out);
        for (int i = 0; i < count; i += kFloats)
            filtered(rows + i, std::min(kFloats, count - i), landmarks, largest, out + i);
    }

 private:
    static constexpr double kTiny = 1e-280;  // below, squares have lost digits to underflow
    static constexpr int kFew = 4;           // rows for which the lanes do not pay off

    // Two vectors of points, whose latencies overlap.
    void exact_lanes(const double* const* rows, int count, const Landmarks& landmarks, Nearest* out) {
        constexpr int kPoints = 2 * kDoubles;
        double columns[kLanes * kPoints];
        for (int i = 0; i < kPoints; ++i)
            for (int k = 0; k < width; ++k) columns[k * kPoints + i] = rows[std::min(i, count - 1)][k];
        Doubles first[2], second[2];
        Longs first_at[2] = {}, second_at[2] = {};
        for (int v = 0; v < 2; ++v) first[v] = second[v] = Doubles{} + kInfinity;
        for (const int slot : landmarks.order) {
            const double* landmark = exact_.data() + std::size_t(slot) * width;
            Doubles sum[2] = {};
            for (int k = 0; k < width; ++k)
                for (int v = 0; v < 2; ++v) {
                    const Doubles gap = load<Doubles>(columns + k * kPoints + v * kDoubles) - landmark[k];
                    sum[v] += gap * gap;
                }
            for (int v = 0; v < 2; ++v) {
                const Longs nearer = sum[v] < first[v], next = sum[v] < second[v], at = Longs{} + slot;
                second[v] = nearer ? first[v] : next ? sum[v] : second[v];
                second_at[v] = nearer ? first_at[v] : next ? at : second_at[v];
                first[v] = nearer ? sum[v] : first[v];
                first_at[v] = nearer ? at : first_at[v];
            }
        }
        for (int i = 0; i < count; ++i) {
            const int v = i / kDoubles, lane = i % kDoubles;
            out[i] = {first[v][lane], second[v][lane], landmarks.id[first_at[v][lane]],
                      landmarks.id[second_at[v][lane]]};
        }
    }

    void filtered(const double* const* rows, int count, const Landmarks& landmarks, double largest, Nearest* out) {
        const int m = int(landmarks.order.size());
        columns_.resize(std::size_t(width) * kFloats);
        approximate_.resize(std::size_t(m + 3) * kFloats);
        Floats norm = {};
        for (int k = 0; k < width; ++k) {
            Floats x;
            for (int i = 0; i < kFloats; ++i) x[i] = float(rows[std::min(i, count - 1)][k] - centre_[k]);
            store(columns_.data() + std::size_t(k) * kFloats, x);
            norm += x * x;
        }
        for (int j = 0; j < m; j += 4) {  // four landmarks at a time: a coordinate is loaded once for them
            const float* l[4];
            for (int b = 0; b < 4; ++b)
                l[b] = coarse_.data() + std::size_t(landmarks.order[std::min(j + b, m - 1)]) * width;
            Floats products[4] = {};
            for (int k = 0; k < width; ++k) {
                const Floats x = load<Floats>(columns_.data() + std::size_t(k) * kFloats);
                for (int b = 0; b < 4; ++b) products[b] += x * l[b][k];
            }
            for (int b = 0; b < 4 && j + b < m; ++b)
                store(approximate_.data() + std::size_t(j + b) * kFloats,
                      float(norms_[landmarks.order[j + b]]) - 2.0f * products[b]);
        }
        Floats a[3];
        Ints at[2] = {};
        for (Floats& value : a) value = Floats{} + std::numeric_limits<float>::infinity();
        for (int j = 0; j < m; ++j) {
            const Floats t = load<Floats>(approximate_.data() + std::size_t(j) * kFloats);
            const Ints nearer = t < a[0], next = t < a[1], place = Ints{} + j;
            a[2] = next ? a[1] : t < a[2] ? t : a[2];
            a[1] = nearer ? a[0] : next ? t : a[1];
            at[1] = nearer ? at[0] : next ? place : at[1];
            a[0] = nearer ? t : a[0];
            at[0] = nearer ? place : at[0];
        }
        // Twice the usual bound on the error of a sum of products, for the rounding of what goes into it.
        const double error = (width + 16) * 0x1p-22;
        for (int i = 0; i < count; ++i) {
            const bool usable = norm[i] < 1e30f;
            const double limit = double(a[1][i]) + error * (1.01 * double(norm[i]) + largest);
            Nearest found;
            if (usable && !(a[2][i] <= limit)) {
                consider(rows[i], std::min(at[0][i], at[1][i]), landmarks, found);
                consider(rows[i], std::max(at[0][i], at[1][i]), landmarks, found);
            } else {
                for (int j = 0; j < m; ++j)
                    if (!usable || !(approximate_[std::size_t(j) * kFloats + i] > limit))
                        consider(rows[i], j, landmarks, found);
            }
            out[i] = found;
        }
    }

    // Compare with landmark j in order of arrival; called in ascending order.
    void consider(const double* row, int j, const Landmarks& landmarks, Nearest& found) {
        const int slot = landmarks.order[j];
        const double t = measured(row, points[landmarks.row[slot]]);
        if (t < found.distance) {
            found = {t, found.distance, landmarks.id[slot], found.landmark};
        } else if (t < found.second_distance) {
            found.second_distance = t, found.second = landmarks.id[slot];
        }
    }

    void set_coarse(int slot) {
        double norm = 0.0;
        for (int k = 0; k < width; ++k) {
            const double x = exact_[std::size_t(slot) * width + k] - centre_[k];
            coarse_[std::size_t(slot) * width + k] = float(x);
            norm += x * x;
        }
        norms_[slot] = norm;
    }

    void recentre(const Landmarks& landmarks) {
        std::fill(centre_.begin(), centre_.end(), 0.0);
        for (const int slot : landmarks.order)
            for (int k = 0; k < width; ++k)
                centre_[k] += exact_[std::size_t(slot) * width + k] / double(landmarks.order.size());
        for (const int slot : landmarks.order) set_coarse(slot);
        changes_ = 0;
    }

    std::vector<double> exact_;  // landmarks by slot
    std::vector<float> coarse_;  // centred
    std::vector<double> norms_;  // squared, of the centred landmarks
    std::vector<double> centre_;
    std::vector<float> columns_, approximate_;
    std::size_t changes_ = 1u << 30;  // of landmarks since the last centring
};

}  // namespace driftmap
