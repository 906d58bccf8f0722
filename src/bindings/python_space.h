// Points stored and measured by Python, as a DistanceSource of driftmap/_core/__init__.pyi.
#pragma once

#include <algorithm>

#include "arrays.h"
#include "space.h"

namespace driftmap {

class PythonSpace : public Space {
 public:
    explicit PythonSpace(nb::object source) : source_(std::move(source)) {
        triangle = nb::cast<bool>(source_.attr("triangle"));
        fallible = true;
    }

    void open(std::int64_t first, int) override { first_ = first; }
    void measure(const std::int32_t* rows, int n, const std::int32_t* points, int m, double* out) override {
        if (n == 0 || m == 0) return;
        const bool stored = rows[0] >= 0;
        std::vector<std::int64_t> numbers(rows, rows + n), columns(points, points + m);
        for (std::int64_t& row : numbers) row = stored ? row : first_ + ~row;
        const nb::object answer =
            source_.attr(stored ? "pairs" : "cross")(to_numpy(std::move(numbers)), to_numpy(std::move(columns)));
        Ndarray<const double, 2> array;
        require(nb::try_cast(answer, array) && array.shape(0) == std::size_t(n) && array.shape(1) == std::size_t(m),
                "distances must be a matrix of float64, one row and column per point");
        std::copy_n(array.data(), array.size(), out);
        for (std::size_t i = 0; i < array.size(); ++i)
            require(out[i] >= 0 && out[i] < kInfinity, "a distance must be finite and not negative");
    }
    void keep(std::int32_t row) override { source_.attr("keep")(first_ + ~row); }
    void retain(const std::vector<std::int32_t>& rows) override {
        source_.attr("retain")(to_numpy(std::vector<std::int64_t>(rows.begin(), rows.end())));
    }
    void save() override { source_.attr("save")(); }
    void restore() override { source_.attr("restore")(); }

    const nb::object& source() const { return source_; }
    void release_source() { source_ = nb::none(); }

 private:
    nb::object source_;
    std::int64_t first_ = 0;  // first row of the block in the batch
};

}  // namespace driftmap
