// Bindings of the placement: shapes and values are checked here; the loops run without Python's lock.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <memory>
#include <string>

#include "arrangement.h"
#include "placement.h"

namespace nb = nanobind;
using namespace driftmap;
using namespace nb::literals;

namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void require(bool fact, const std::string& what) {
    if (!fact) throw nb::value_error(what.c_str());
}

// The numbers of an array of this shape, all finite.
const double* checked(const char* name, const auto& array, auto... lengths) {
    size_t axis = 0;
    require(((array.shape(axis++) == size_t(lengths)) && ...), std::string(name) + " does not have the right shape");
    const double* data = array.data();
    const bool finite = std::all_of(data, data + array.size(), [](double x) { return std::isfinite(x); });
    require(finite, std::string(name) + " must be finite");
    return data;
}

Doubles copied(const char* name, const auto& array, auto... lengths) {
    const double* data = checked(name, array, lengths...);
    return Doubles(data, data + array.size());
}

// Indices of what is made of n points in k dimensions fit an int.
void check_size(size_t n, size_t k) { require(n < (1 << 24) && k < (1 << 12) && n * (k + 1) < (1 << 30), "too large"); }

Affine make_affine(size_t n_outputs, const std::optional<Matrix>& matrix, const std::optional<Vector>& offsets,
                   const std::optional<Vector>& centre) {
    require(matrix.has_value() == offsets.has_value(), "matrix and offsets come together");
    const size_t d = matrix ? matrix->shape(0) : n_outputs;
    require(std::max(d, n_outputs) < (1 << 24), "too large");
    return Affine(int(d), int(n_outputs), matrix ? checked("matrix", *matrix, d, n_outputs) : nullptr,
                  offsets ? checked("offsets", *offsets, n_outputs) : nullptr,
                  centre ? checked("centre", *centre, d) : nullptr);
}

void make_placement(Placement* self, const Matrix& fixed, const Matrix& projection, const Vector& shift,
                    const Vector& origin, double size, double tolerance, int64_t max_iter,
                    const std::optional<Matrix>& matrix, const std::optional<Vector>& offsets,
                    const std::optional<Vector>& centre, double steadiness) {
    require(fixed.size() > 0 && max_iter > 0, "there is nothing to place by");
    require(size > 0 && tolerance >= 0 && steadiness >= 0 && std::isfinite(size + tolerance + steadiness),
            "size or tolerance is out of range");
    const size_t n = fixed.shape(1), k = fixed.shape(0) - 1;
    check_size(n, k);
    const Doubles table = copied("fixed", fixed, k + 1, n);
    new (self) Placement{int(n),
                         int(k),
                         table,
                         std::vector<float>(table.begin(), table.end()),
                         copied("projection", projection, k, n),
                         copied("shift", shift, k),
                         copied("origin", origin, k),
                         size,
                         tolerance,
                         int(std::min<int64_t>(max_iter, 10000)),
                         steadiness,
                         make_affine(n, matrix, offsets, centre)};
}

// A new array, (rows of X, n_outputs), that is filled without Python's lock.
auto filled(const Matrix& X, int n_features, int n_outputs, const auto& fill) {
    require(X.shape(1) == size_t(n_features),
            "X has " + std::to_string(X.shape(1)) + " columns, expected " + std::to_string(n_features));
    std::unique_ptr<double[]> data(new double[X.shape(0) * n_outputs + 1]);
    {
        nb::gil_scoped_release release;
        fill(X.data(), int64_t(X.shape(0)), data.get());
    }
    nb::capsule owner(data.get(), [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return nb::ndarray<nb::numpy, double, nb::ndim<2>>(data.release(), {X.shape(0), size_t(n_outputs)}, owner);
}

}  // namespace

void bind_placement(nb::module_& module) {
    const auto place = [](const Placement& self, const Matrix& X) {
        return filled(X, self.squares.n_features, self.k, [&](auto... rows) { self.place(rows...); });
    };
    const auto affine = [](const Matrix& X, const Matrix& matrix, const Vector& offsets,
                           const std::optional<Vector>& centre) {
        const Affine map = make_affine(matrix.shape(1), matrix, offsets, centre);
        return filled(X, map.n_features, map.n_outputs, [&](auto... rows) { map.apply(rows...); });
    };
    const auto sweep_once = [](const Matrix& distances, const Vector& weights,
                               nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> positions) {
        const size_t n = positions.shape(0), k = positions.shape(1);
        check_size(n, k);
        checked("positions", positions, n, k);
        const double *targets = checked("distances", distances, n, n), *shares = checked("weights", weights, n);
        nb::gil_scoped_release release;
        return std::sqrt(sweep(int(n), int(k), targets, shares, positions.data()));
    };
    nb::class_<Placement>(module, "Placement")
        .def("__init__", &make_placement, "fixed"_a, "projection"_a, "shift"_a, "origin"_a, "size"_a, "tolerance"_a,
             "max_iter"_a, "matrix"_a = nb::none(), "offsets"_a = nb::none(), "centre"_a = nb::none(),
             "steadiness"_a = 0.0)
        .def("place", place, "X"_a);
    module.def("affine", affine, "X"_a, "matrix"_a, "offsets"_a, "centre"_a = nb::none());
    module.def("sweep", sweep_once, "distances"_a, "weights"_a, "positions"_a.noconvert());
}
