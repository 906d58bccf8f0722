// Points that are rows of numbers with a native metric.
#pragma once

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <bit>
#include <memory>
#include <stdexcept>

#include "distances.h"
#include "space.h"

namespace driftmap {

// Rows of equal width in blocks that double in size, so that rows never move; large blocks use huge pages on Linux.
// Blocks are aligned to cache lines.
class Table {
 public:
    explicit Table(int stride_) : stride(stride_) {}
    Table(const Table& other) : stride(other.stride) {
        for (std::int32_t i = 0; i < other.size_; ++i) push(other[i]);
    }
    Table& operator=(Table&&) = default;

    int stride;

    const double* operator[](std::int32_t i) const { return at(i); }
    std::int32_t size() const { return size_; }
    void shrink(std::int32_t size) { size_ = size; }
    void push(const double* row) {
        const std::size_t rows = kFirst << blocks_.size();
        if (std::size_t(size_) == rows - kFirst) {
            blocks_.emplace_back(new Line[rows * stride / 8]);
#if defined(__linux__)
            const auto start = std::uintptr_t(blocks_.back().get()) / 4096 * 4096 + 4096;
            if (rows * stride > 1 << 18)
                madvise(reinterpret_cast<void*>(start), rows * stride * 8 - 4096, MADV_HUGEPAGE);
#endif
        }
        std::copy_n(row, stride, at(size_++));
    }
    void retain(const std::vector<std::int32_t>& rows) {
        size_ = 0;
        for (const std::int32_t row : rows) push(at(row));
    }

 private:
    static constexpr std::size_t kFirst = 64;  // number of rows in the first block
    struct alignas(64) Line {
        double numbers[8];
    };
    double* at(std::size_t i) const {
        const int b = std::bit_width(i / kFirst + 1) - 1;
        return blocks_[b].get()->numbers + (i + kFirst - (kFirst << b)) * stride;
    }
    std::vector<std::unique_ptr<Line[]>> blocks_;
    std::int32_t size_ = 0;
};

// Rows of single or double precision, read as double precision.
struct Batch {
    const void* rows = nullptr;
    bool single = false;
};

// The base of all native spaces, also used to measure queries.
class RowSpace : public Space {
 public:
    RowSpace(int width_, int extra) : width(width_), points(padded(width_) + extra) {}
    const int width;
    Table points;
    Batch batch;          // the rows being learnt
    bool checked = true;  // true if distances that are not finite raise an error

    // Store all rows of a batch as points.
    void keep_all(const Batch& from, std::int64_t n) {
        batch = from;
        for (std::int64_t i = 0; i < n; ++i) open(i, 1), keep(~0);
    }
};

template <class Metric>
class NativeSpace : public RowSpace {
 public:
    NativeSpace(int width_, Metric metric) : RowSpace(width_, Metric::kExtra), metric_(metric) {
        triangle = metric.triangle, fallible = metric.fallible;
    }

    void open(std::int64_t first, int count) override {
        block_.resize(std::size_t(count) * points.stride);
        for (int i = 0; i < count; ++i) {
            double* row = block_.data() + std::size_t(i) * points.stride;
            if (batch.single)
                std::copy_n(static_cast<const float*>(batch.rows) + (first + i) * width, width, row);
            else
                std::copy_n(static_cast<const double*>(batch.rows) + (first + i) * width, width, row);
            std::fill(row + width, row + padded(width), 0.0);
            Metric::prepare(row, width);
        }
    }
    void measure(const std::int32_t* rows, int n, const std::int32_t* others, int m, double* out) override {
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < m; ++j) *out++ = rows[i] == others[j] ? 0.0 : measured(at(rows[i]), points[others[j]]);
    }
    void keep(std::int32_t row) override { points.push(at(row)); }
    void retain(const std::vector<std::int32_t>& rows) override {
        if (saved_size_ >= 0 && !saved_) saved_ = std::make_unique<Table>(points);
        points.retain(rows);
    }
    void save() override { saved_size_ = points.size(); }
    void restore() override {
        if (saved_) points = std::move(*saved_);
        points.shrink(saved_size_);
        release();
    }
    void release() override { saved_size_ = -1, saved_.reset(); }

 protected:
    const double* at(std::int32_t row) const {
        return row < 0 ? block_.data() + ~row * std::size_t(points.stride) : points[row];
    }
    double measured(const double* x, const double* y) const {
        const double t = driftmap::measure(metric_, x, y, padded(width));
        if (!(t < kInfinity) && checked)
            throw std::domain_error("two points have no finite distance: rescale the data or take another metric");
        return t;
    }

 private:
    Metric metric_;
    std::vector<double> block_;
    std::int32_t saved_size_ = -1;  // number of points to restore; -1: none saved
    std::unique_ptr<Table> saved_;  // a copy of them, made before they are renumbered
};

}  // namespace driftmap
