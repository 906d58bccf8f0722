// Points that Python stores and measures: a DistanceSource of driftmap/_core.pyi.
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
    void distances(const std::int32_t* rows, int n, std::int32_t point, double* out) override {
        const std::vector<double> answer = ask(rows, n, {point});
        std::copy(answer.begin(), answer.end(), out);
    }
    int first_within(std::int32_t row, const std::int32_t* points, int n, double within, double* distance) override {
        const std::vector<double> answer = ask(&row, 1, {points, points + n});
        const auto found = std::find_if(answer.begin(), answer.end(), [&](double t) { return t <= within; });
        if (found == answer.end()) return -1;
        *distance = *found;
        return int(found - answer.begin());
    }
    void nearest(const std::int32_t* rows, int n, const Landmarks& landmarks, Nearest* out) override {
        std::vector<std::int64_t> columns;
        for (const std::int32_t slot : landmarks.order) columns.push_back(landmarks.row[slot]);
        const std::vector<double> answer = ask(rows, n, columns);
        for (int i = 0; i < n; ++i) {
            out[i] = {};
            for (std::size_t j = 0; j < columns.size(); ++j)
                out[i].compare(answer[i * columns.size() + j], landmarks.id[landmarks.order[j]]);
        }
    }
    void keep(std::int32_t row) override { source_.attr("keep")(first_ + ~row); }
    void retain(const std::vector<std::int32_t>& rows) override {
        source_.attr("retain")(to_numpy(std::vector<std::int64_t>(rows.begin(), rows.end())));
    }
    void save() override { source_.attr("save")(); }
    void restore() override { source_.attr("restore")(); }

 private:
    // The distances of points, row by row, to stored points.
    std::vector<double> ask(const std::int32_t* rows, int n, std::vector<std::int64_t> columns) {
        const std::size_t m = columns.size();
        if (n == 0 || m == 0) return {};
        const bool stored = rows[0] >= 0;
        std::vector<std::int64_t> numbers;
        for (int i = 0; i < n; ++i) numbers.push_back(stored ? rows[i] : first_ + ~rows[i]);
        const nb::object answer =
            source_.attr(stored ? "pairs" : "cross")(to_numpy(std::move(numbers)), to_numpy(std::move(columns)));
        Ndarray<const double, 2> array;
        require(nb::try_cast(answer, array) && array.shape(0) == std::size_t(n) && array.shape(1) == m,
                "distances must be a matrix of float64, one row and column per point");
        const std::vector<double> out(array.data(), array.data() + array.size());
        for (const double t : out) require(t >= 0 && t < kInfinity, "a distance must be finite and not negative");
        return out;
    }

    nb::object source_;
    std::int64_t first_ = 0;  // row of the batch that the block begins with
};

}  // namespace driftmap
