// Bindings of the placement: shapes and values are checked here, once; the loops run without Python's lock.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <memory>
#include <string>

#include "arrangement.h"
#include "placement.h"

namespace nb = nanobind;
using namespace driftmap;

namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

void require(bool fact, const std::string& what) {
    if (!fact) throw nb::value_error(what.c_str());
}

// The numbers of an array of this shape, all finite.
const double* checked(const auto& array, std::initializer_list<size_t> shape, const char* name) {
    size_t axis = 0;
    for (size_t length : shape)
        require(array.shape(axis++) == length, std::string(name) + " does not have the right shape");
    const double* data = array.data();
    const bool finite = std::all_of(data, data + array.size(), [](double x) { return std::isfinite(x); });
    require(finite, std::string(name) + " must be finite");
    return data;
}

int checked_size(size_t n) {
    require(n < (size_t(1) << 24), "too many fixed points, dimensions or features");
    return int(n);
}

Matrix as_matrix(const Rows& X, int n_features) {
    const bool single = X.dtype() == nb::dtype<float>();
    if (!single && X.dtype() != nb::dtype<double>()) throw nb::type_error("X must hold float64 or float32");
    require(int64_t(X.shape(1)) == n_features,
            "X has " + std::to_string(X.shape(1)) + " columns, expected " + std::to_string(n_features));
    return {X.data(), single, int64_t(X.shape(0)), n_features};
}

Result matrix_from(size_t rows, size_t columns, const auto& fill) {
    std::unique_ptr<double[]> data(new double[rows * columns + 1]);
    {
        nb::gil_scoped_release release;
        fill(data.get());
    }
    double* values = data.release();
    nb::capsule owner(values, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return Result(values, {rows, columns}, owner);
}

Affine make_affine(int n_outputs, const std::optional<Table>& matrix, const std::optional<Vector>& offsets,
                   const std::optional<Vector>& centre) {
    require(matrix.has_value() == offsets.has_value(), "matrix and offsets come together");
    const size_t width = n_outputs, d = matrix ? matrix->shape(0) : width;
    return Affine(checked_size(d), n_outputs, matrix ? checked(*matrix, {d, width}, "matrix") : nullptr,
                  offsets ? checked(*offsets, {width}, "offsets") : nullptr,
                  centre ? checked(*centre, {d}, "centre") : nullptr);
}

std::vector<double> copied(const auto& array, std::initializer_list<size_t> shape, const char* name) {
    const double* data = checked(array, shape, name);
    return std::vector<double>(data, data + array.size());
}

void make_placement(Placement* self, const Table& fixed, const Table& projection, const Vector& shift,
                    const Vector& origin, double size, double tolerance, int64_t max_iter,
                    const std::optional<Table>& matrix, const std::optional<Vector>& offsets,
                    const std::optional<Vector>& centre) {
    require(fixed.shape(0) > 0 && fixed.shape(1) > 0 && max_iter > 0, "there is nothing to place by");
    require(size > 0 && tolerance >= 0 && std::isfinite(size + tolerance), "size or tolerance is out of range");
    const size_t n = fixed.shape(1), k = fixed.shape(0) - 1;
    checked_size(n * (k + 1) + k * k);
    new (self) Placement({int(n), int(k), copied(fixed, {k + 1, n}, "fixed"), copied(projection, {k, n}, "projection"),
                          copied(shift, {k}, "shift"), copied(origin, {k}, "origin"), size, tolerance,
                          int(std::min<int64_t>(max_iter, 10000)), make_affine(int(n), matrix, offsets, centre)});
}

}  // namespace

void bind_placement(nb::module_& module) {
    nb::class_<Placement>(module, "Placement")
        .def("__init__", &make_placement, nb::arg("fixed"), nb::arg("projection"), nb::arg("shift"), nb::arg("origin"),
             nb::arg("size"), nb::arg("tolerance"), nb::arg("max_iter"), nb::arg("matrix") = nb::none(),
             nb::arg("offsets") = nb::none(), nb::arg("centre") = nb::none())
        .def(
            "place",
            [](const Placement& self, const Rows& X) {
                const Matrix rows = as_matrix(X, self.map.squares.n_features);
                return matrix_from(X.shape(0), self.map.k, [&](double* out) { self.place(rows, out); });
            },
            nb::arg("X"));
    module.def(
        "affine",
        [](const Rows& X, const Table& matrix, const Vector& offsets, const std::optional<Vector>& centre) {
            const Affine map = make_affine(checked_size(matrix.shape(1)), matrix, offsets, centre);
            const Matrix rows = as_matrix(X, map.n_features);
            return matrix_from(X.shape(0), map.n_outputs, [&](double* out) { map.apply(rows, out); });
        },
        nb::arg("X"), nb::arg("matrix"), nb::arg("offsets"), nb::arg("centre") = nb::none());
    module.def(
        "sweep",
        [](const Table& distances, const Vector& weights,
           nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> positions) {
            const size_t n = positions.shape(0), k = positions.shape(1);
            checked_size(n * (k + 1) + k * k);
            checked(positions, {n, k}, "positions");
            const double *targets = checked(distances, {n, n}, "distances"), *shares = checked(weights, {n}, "weights");
            nb::gil_scoped_release release;
            return std::sqrt(sweep(int(n), int(k), targets, shares, positions.data()));
        },
        nb::arg("distances"), nb::arg("weights"), nb::arg("positions").noconvert());
}
