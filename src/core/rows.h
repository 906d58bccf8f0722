// Rows of numbers with a native metric.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>

#include "distances.h"
#include "space.h"

namespace driftmap {

// Rows of one width in chunks of memory that never move: growing copies nothing.
class Table {
 public:
    explicit Table(int stride_) : stride(stride_) {
        while (shift_ < 16 && (std::size_t(2) << shift_) * stride * sizeof(double) <= (1 << 21)) ++shift_;
    }

    int stride;
    std::int32_t size = 0;

    const double* operator[](std::int32_t i) const { return at(i); }
    void push(const double* row) {
        if (std::size_t(size) >> shift_ == chunks_.size()) {
            const std::size_t bytes = (std::size_t(stride) * sizeof(double) << shift_) + 63;
            void* memory = std::aligned_alloc(64, bytes / 64 * 64);
            if (memory == nullptr) throw std::bad_alloc();
            chunks_.emplace_back(static_cast<double*>(memory));
        }
        std::copy(row, row + stride, at(size++));
    }
    void retain(const std::vector<std::int32_t>& rows) {
        std::int32_t to = 0;
        for (const std::int32_t from : rows) {
            if (from != to) std::copy(at(from), at(from) + stride, at(to));
            ++to;
        }
        truncate(to);
    }
    void truncate(std::int32_t rows) {
        size = rows;
        chunks_.resize((std::size_t(size) + (std::size_t(1) << shift_) - 1) >> shift_);
    }
    Table copy() const {
        Table other(stride);
        for (std::int32_t i = 0; i < size; ++i) other.push(at(i));
        return other;
    }

 private:
    struct Free {
        void operator()(double* memory) const { std::free(memory); }
    };
    double* at(std::int32_t i) const {
        return chunks_[std::size_t(i) >> shift_].get() + (i & ((1 << shift_) - 1)) * std::size_t(stride);
    }
    std::vector<std::unique_ptr<double[], Free>> chunks_;
    int shift_ = 4;
};

// The batch being learnt: rows of either precision, which are read as double precision and padded.
struct Batch {
    const double* doubles = nullptr;
    const float* floats = nullptr;
    std::int64_t rows = 0;

    void read(std::int64_t i, int width, double* out) const {
        if (doubles != nullptr)
            std::copy(doubles + i * width, doubles + (i + 1) * width, out);
        else
            std::copy(floats + i * width, floats + (i + 1) * width, out);
        std::fill(out + width, out + padded(width), 0.0);
    }
};

// What all native metrics share. Queries are measured through it, too.
class RowSpace : public Space {
 public:
    RowSpace(int width_, int extra) : width(width_), points(padded(width_) + extra) {}
    const int width;
    Table points;
    Batch batch;

    // The reduced distance of two rows as `read` gives them.
    virtual double distance(const double* x, const double* y) const = 0;
    virtual void read(const Batch& from, std::int64_t i, double* row) const = 0;
};

template <class Metric>
class NativeSpace : public RowSpace {
 public:
    NativeSpace(int width_, Metric metric) : RowSpace(width_, Metric::kExtra), metric_(metric) {}

    double distance(const double* x, const double* y) const override { return measure(metric_, x, y, padded(width)); }
    void read(const Batch& from, std::int64_t i, double* row) const override {
        from.read(i, width, row);
        Metric::prepare(row, width);
    }

    void open(std::int64_t first, int count) override {
        block_.resize(std::size_t(count) * points.stride);
        rows_.resize(count);
        for (int i = 0; i < count; ++i) {
            double* row = block_.data() + std::size_t(i) * points.stride;
            read(batch, first + i, row);
            rows_[i] = row;
        }
    }
    void block_to(int first, int count, std::int32_t point, double* out) override {
        for (int i = 0; i < count; ++i) out[i] = measured(rows_[first + i], points[point]);
    }
    int first_within(int i, const std::int32_t* rows, int n, double within, double* distance) override {
        const double about = scaled(squared ? within * within : within, 1.0);
        for (int j = 0; j < n; ++j) {
            const double t = measured(rows_[i], points[rows[j]]);
            if (t <= about && (*distance = expanded(t)) <= within) return j;
        }
        return -1;
    }
    void between(const std::int32_t* rows, int n, std::int32_t point, double* out) override {
        for (int j = 0; j < n; ++j) out[j] = rows[j] == point ? 0.0 : measured(points[point], points[rows[j]]);
    }
    void nearest_of_block(int first, int count, const Landmarks& landmarks, Nearest* out) override {
        nearest(rows_.data() + first, count, landmarks, out);
    }
    void nearest_of_stored(const std::int32_t* rows, int n, const Landmarks& landmarks, Nearest* out) override {
        stored_.resize(n);
        for (int i = 0; i < n; ++i) stored_[i] = points[rows[i]];
        nearest(stored_.data(), n, landmarks, out);
    }
    void keep(int i) override { points.push(rows_[i]); }
    void retain(const std::vector<std::int32_t>& rows) override { points.retain(rows); }
    void save() override { saved_ = std::make_unique<Table>(points.copy()); }
    void restore() override { points = std::move(*saved_); }

 protected:
    virtual void nearest(const double* const* rows, int count, const Landmarks& landmarks, Nearest* out) {
        distances_.resize(landmarks.order.size());
        for (int i = 0; i < count; ++i) {
            for (std::size_t j = 0; j < landmarks.order.size(); ++j) {
                const double* landmark = points[landmarks.row[landmarks.order[j]]];
                distances_[j] = rows[i] == landmark ? 0.0 : measured(rows[i], landmark);
            }
            out[i] = two_nearest(distances_.data(), landmarks);
        }
    }

    double measured(const double* x, const double* y) const {
        const double t = measure(metric_, x, y, padded(width));
        if (!(t < kInfinity)) throw std::domain_error("the distance of two points is not finite: rescale the data");
        return t;
    }

    Metric metric_;
    std::vector<double> block_, distances_;
    std::vector<const double*> rows_, stored_;
    std::unique_ptr<Table> saved_;
};

}  // namespace driftmap
