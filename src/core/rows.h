// Rows of numbers with a native metric.
#pragma once

#include <memory>
#include <stdexcept>

#include "distances.h"
#include "space.h"

namespace driftmap {

// Rows of one width, one after the other; those of whole vectors begin where vectors are loaded fastest.
class Table {
 public:
    explicit Table(int stride_) : stride(stride_) {}

    int stride;

    const double* operator[](std::int32_t i) const { return lines_.data()->numbers + i * std::size_t(stride); }
    void push(const double* row) {
        resize(size_ + 1);
        std::copy_n(row, stride, at(size_ - 1));
    }
    void retain(const std::vector<std::int32_t>& rows) {
        for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n((*this)[rows[i]], stride, at(i));
        resize(std::int32_t(rows.size()));
    }

 private:
    struct alignas(64) Line {
        double numbers[8];
    };
    double* at(std::size_t i) { return lines_.data()->numbers + i * stride; }
    void resize(std::int32_t size) {
        size_ = size;
        lines_.resize((std::size_t(size) * stride + 7) / 8);
    }
    std::vector<Line> lines_;
    std::int32_t size_ = 0;
};

// Rows of either precision, which are read as double precision.
struct Batch {
    const void* rows = nullptr;
    bool single = false;
};

// What all native metrics share. Queries are measured through it, too.
class RowSpace : public Space {
 public:
    RowSpace(int width_, int extra) : width(width_), points(padded(width_) + extra) {}
    const int width;
    Table points;
    Batch batch;  // what is being learnt

    // The reduced distance of two rows as `read` gives them: padded, with what the metric adds.
    virtual double distance(const double* x, const double* y) const = 0;
    virtual void read(const Batch& from, std::int64_t i, double* row) const = 0;
};

template <class Metric>
class NativeSpace : public RowSpace {
 public:
    NativeSpace(int width_, Metric metric) : RowSpace(width_, Metric::kExtra), metric_(metric) {
        triangle = metric.triangle, fallible = metric.fallible;
    }

    double distance(const double* x, const double* y) const override { return measure(metric_, x, y, padded(width)); }
    void read(const Batch& from, std::int64_t i, double* row) const override {
        if (from.single)
            std::copy_n(static_cast<const float*>(from.rows) + i * width, width, row);
        else
            std::copy_n(static_cast<const double*>(from.rows) + i * width, width, row);
        std::fill(row + width, row + padded(width), 0.0);
        Metric::prepare(row, width);
    }

    void open(std::int64_t first, int count) override {
        block_.resize(std::size_t(count) * points.stride);
        for (int i = 0; i < count; ++i) read(batch, first + i, block_.data() + std::size_t(i) * points.stride);
    }
    void distances(const std::int32_t* rows, int n, std::int32_t point, double* out) override {
        for (int i = 0; i < n; ++i) out[i] = rows[i] == point ? 0.0 : measured(at(rows[i]), points[point]);
    }
    int first_within(std::int32_t row, const std::int32_t* rows, int n, double within, double* distance) override {
        const double about = scaled(squared ? within * within : within, 1.0);
        for (int j = 0; j < n; ++j) {
            const double t = measured(at(row), points[rows[j]]);
            if (t <= about && (*distance = expanded(t)) <= within) return j;
        }
        return -1;
    }
    void nearest(const std::int32_t* rows, int n, const Landmarks& landmarks, Nearest* out) override {
        for (int i = 0; i < n; ++i) {
            out[i] = {};
            for (const std::int32_t slot : landmarks.order) {
                const std::int32_t point = landmarks.row[slot];
                const double t = rows[i] == point ? 0.0 : measured(at(rows[i]), points[point]);
                out[i].compare(t, landmarks.id[slot]);
            }
        }
    }
    void keep(std::int32_t row) override { points.push(at(row)); }
    void retain(const std::vector<std::int32_t>& rows) override { points.retain(rows); }
    void save() override { saved_ = std::make_unique<Table>(points); }
    void restore() override { points = std::move(*saved_); }

 protected:
    const double* at(std::int32_t row) const {
        return row < 0 ? block_.data() + ~row * std::size_t(points.stride) : points[row];
    }
    double measured(const double* x, const double* y) const {
        const double t = measure(metric_, x, y, padded(width));
        if (!(t < kInfinity)) throw std::domain_error("the distance of two points is not finite: rescale the data");
        return t;
    }

 private:
    Metric metric_;
    std::vector<double> block_;
    std::unique_ptr<Table> saved_;
};

}  // namespace driftmap
