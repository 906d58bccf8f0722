// Euclidean points: finds the two nearest landmarks of several points together, one point per lane.
//
// Below 16 coordinates, distances are computed exactly in lanes. From 16 on, |l|^2 - 2 <x, l> in single precision, with
// points centred at the landmarks' mean, discards landmarks that cannot be among the two nearest; the others are
// measured exactly. The result is identical to the bit.
#pragma once

#include "rows.h"

namespace driftmap {

class EuclideanSpace : public NativeSpace<SquaredEuclidean> {
 public:
    explicit EuclideanSpace(int width_) : NativeSpace(width_, SquaredEuclidean{}) { squared = true; }

    void nearest(const std::int32_t* rows, int n, const Landmarks& landmarks, Nearest* out) override {
        if (n < kFew || landmarks.order.size() < 2) return NativeSpace::nearest(rows, n, landmarks, out);
        if (width < kLanes) {
            for (int i = 0; i < n; i += 2 * kDoubles)
                nearest_exactly(rows + i, std::min(2 * kDoubles, n - i), landmarks, out + i);
            return;
        }
        update_coarse(landmarks);
        if (!(largest_ > 1e-20 && largest_ < 1e30)) return NativeSpace::nearest(rows, n, landmarks, out);
        for (int i = 0; i < n; i += kFloats) nearest_filtered(rows + i, std::min(kFloats, n - i), landmarks, out + i);
    }
    void restore() override {
        NativeSpace::restore();
        ids_.clear();
    }

 private:
    static constexpr int kFew = 4;  // with fewer rows, lanes are not faster

    void nearest_exactly(const std::int32_t* rows, int n, const Landmarks& landmarks, Nearest* out) const {
        using V = Lanes<double, 2 * kDoubles>;  // two vectors, so that their latencies overlap
        double columns[kLanes][2 * kDoubles];
        for (int i = 0; i < 2 * kDoubles; ++i)
            for (int k = 0; k < width; ++k) columns[k][i] = at(rows[std::min(i, n - 1)])[k];
        V first = kInfinity, second = kInfinity;
        V::Mask first_at = 0, second_at = 0;
        for (const std::int32_t slot : landmarks.order) {
            const double* landmark = points[landmarks.row[slot]];
            V sum = 0;
            for (int k = 0; k < width; ++k) {
                const V gap = V::load(columns[k]) - landmark[k];
                sum += gap * gap;
            }
            const auto nearer = first > sum, next = second > sum;
            second = select(nearer, first, select(next, sum, second));
            second_at = select(nearer, first_at, select(next, V::Mask(slot), second_at));
            first = select(nearer, sum, first);
            first_at = select(nearer, V::Mask(slot), first_at);
        }
        for (int i = 0; i < n; ++i)
            out[i] = {first.get(i), second.get(i), landmarks.id[first_at.get(i)], landmarks.id[second_at.get(i)]};
    }

    void nearest_filtered(const std::int32_t* rows, int n, const Landmarks& landmarks, Nearest* out) {
        using V = Lanes<float, kFloats>;
        const int m = int(landmarks.order.size());
        columns_.resize(width);
        approximate_.resize(m);
        V norm = 0;
        for (int i = 0; i < kFloats; ++i) {
            const double* x = at(rows[std::min(i, n - 1)]);
            for (int k = 0; k < width; ++k) columns_[k].set(i, float(x[k] - centre_[k]));
        }
        for (const V& x : columns_) norm += x * x;
        for (int j = 0; j < m; j += 4) {  // four landmarks per load of a coordinate
            const float* l[4];
            for (int b = 0; b < 4; ++b) l[b] = coarse_.data() + std::size_t(std::min(j + b, m - 1)) * width;
            V products[4] = {};
            for (int k = 0; k < width; ++k)
                for (int b = 0; b < 4; ++b) products[b] += columns_[k] * l[b][k];
            for (int b = 0; b < 4 && j + b < m; ++b) approximate_[j + b] = norms_[j + b] - 2 * products[b];
        }
        const V infinite = std::numeric_limits<float>::infinity();
        V first = infinite, second = infinite, third = infinite;
        V::Mask first_at = 0, second_at = 0;
        for (int j = 0; j < m; ++j) {
            const V t = approximate_[j];
            const auto nearer = first > t, next = second > t;
            third = select(next, second, select(third > t, t, third));
            second = select(nearer, first, select(next, t, second));
            second_at = select(nearer, first_at, select(next, V::Mask(j), second_at));
            first = select(nearer, t, first);
            first_at = select(nearer, V::Mask(j), first_at);
        }
        // Twice the usual error bound of a dot product, to include the rounding of its operands.
        const double error = (width + 16) * 0x1p-22;
        for (int i = 0; i < n; ++i) {
            const bool usable = norm.get(i) < 1e30f;
            const double limit = double(second.get(i)) + error * (1.01 * double(norm.get(i)) + largest_);
            const auto compare = [&](int j) {
                const std::int32_t slot = landmarks.order[j];
                out[i].compare(measured(at(rows[i]), points[landmarks.row[slot]]), landmarks.id[slot]);
            };
            out[i] = {};
            if (usable && !(third.get(i) <= limit)) {
                compare(std::min(first_at.get(i), second_at.get(i)));
                compare(std::max(first_at.get(i), second_at.get(i)));
            } else {
                for (int j = 0; j < m; ++j)
                    if (!usable || !(approximate_[j].get(i) > limit)) compare(j);
            }
        }
    }

    // Copy the landmarks in single precision, centred at their mean, if they have changed.
    void update_coarse(const Landmarks& landmarks) {
        std::vector<std::uint64_t> ids;
        for (const std::int32_t slot : landmarks.order) ids.push_back(landmarks.id[slot]);
        if (ids == ids_) return;
        ids_ = std::move(ids);
        centre_.assign(points.stride, 0.0), coarse_.resize(ids_.size() * width), norms_.clear();
        for (const std::int32_t row : landmarks.rows())
            std::transform(centre_.begin(), centre_.end(), points[row], centre_.begin(), std::plus<>());
        for (double& x : centre_) x /= double(ids_.size());
        float* out = coarse_.data();
        largest_ = 0.0;
        for (const std::int32_t row : landmarks.rows()) {
            out = std::transform(points[row], points[row] + width, centre_.begin(), out, std::minus<>());
            norms_.push_back(float(measured(points[row], centre_.data())));
            largest_ = larger<double>(largest_, norms_.back());
        }
    }

    std::vector<std::uint64_t> ids_;  // ids of the landmarks in coarse_
    std::vector<float> coarse_;       // centred landmarks in single precision
    std::vector<float> norms_;        // their squared norms
    double largest_ = 0.0;            // the largest of these
    std::vector<double> centre_;
    std::vector<Lanes<float, kFloats>> columns_, approximate_;
};

}  // namespace driftmap
