// Bindings of the placement. driftmap/embedding/stress_placer.py has checked that all numbers are finite and fit
// together.
#include <string>

#include "arrays.h"
#include "metric_mds.h"
#include "placement.h"
#include "tsne_placement.h"

namespace driftmap {
namespace {

using Vector = Ndarray<const double, 1>;
using Matrix = Ndarray<const double, 2>;

Doubles copied(const auto& array, size_t more = 0) {
    Doubles out(array.data(), array.data() + array.size());
    out.resize(array.size() + more);
    return out;
}

Affine make_affine(int n_outputs, const std::optional<Matrix>& matrix, const std::optional<Vector>& offsets,
                   const std::optional<Vector>& centre) {
    const int n_features = matrix ? int(matrix->shape(0)) : n_outputs;
    require(matrix.has_value() == offsets.has_value(), "matrix and offsets come together");
    require(!matrix || (int(matrix->shape(1)) == n_outputs && int(offsets->size()) == n_outputs),
            "matrix and offsets need a column for each output");
    require(!centre || int(centre->size()) == n_features, "the centre needs a number for each feature");
    Affine map{n_features, n_outputs, {}, {}, centre ? copied(*centre) : Doubles()};
    if (matrix) {
        map.matrix = Affine::in_blocks(matrix->data(), n_features, n_outputs);
        map.offsets = copied(*offsets, map.kAffineOutputs);
    }
    return map;
}

void make_placement(Placement* self, const Matrix& fixed, const Matrix& projection, const Vector& shift,
                    const Vector& origin, double size, double tolerance, int max_iter,
                    const std::optional<Matrix>& matrix, const std::optional<Vector>& offsets,
                    const std::optional<Vector>& centre, double steadiness, const Matrix& places, const Matrix& basis,
                    const Matrix& losses) {
    const int n = int(fixed.shape(1)), k = int(fixed.shape(0)) - 1;
    const size_t n_inputs = basis.size() ? basis.size() / (n + 1) : n;
    require(places.shape(0) % 8 == 0 && basis.size() % (8 * (n + 1)) == 0 &&
                losses.size() == places.shape(0) * (n_inputs + 1),
            "places and the basis come by eight, and losses fit them");
    const Doubles table = copied(fixed);
    new (self) Placement{n,
                         k,
                         table,
                         std::vector<float>(table.begin(), table.end()),
                         copied(projection),
                         copied(shift),
                         copied(origin),
                         size,
                         tolerance,
                         max_iter,
                         steadiness,
                         make_affine(n, matrix, offsets, centre),
                         copied(places),
                         std::vector<float>(basis.data(), basis.data() + basis.size()),
                         std::vector<float>(losses.data(), losses.data() + losses.size())};
}

// A new array, (rows of X, n_outputs), that is filled without Python's lock.
nb::object filled(const Matrix& X, int n_features, int n_outputs, const auto& fill) {
    const std::string expected = std::to_string(X.shape(1)) + " columns, expected " + std::to_string(n_features);
    require(int(X.shape(1)) == n_features, ("X has " + expected).c_str());
    Doubles out(X.shape(0) * n_outputs);
    {
        nb::gil_scoped_release released;
        fill(X.data(), int64_t(X.shape(0)), out.data());
    }
    return to_numpy(std::move(out), {X.shape(0), size_t(n_outputs)});
}

nb::object place(const Placement& self, const Matrix& X) {
    return filled(X, self.squares.n_features, self.k, [&](auto... rows) { self.place(rows...); });
}

void make_tsne_placement(TsnePlacement* self, const Matrix& positions, double perplexity, bool repels,
                         const std::optional<Matrix>& matrix, const std::optional<Vector>& offsets,
                         const std::optional<Vector>& centre) {
    const int n = int(positions.shape(0)), k = int(positions.shape(1));
    require(n > 0 && perplexity >= 1 && (perplexity < n || n == 1), "the perplexity needs more points");
    new (self) TsnePlacement{n, k, copied(positions), perplexity, repels, make_affine(n, matrix, offsets, centre)};
}

nb::object place_tsne(const TsnePlacement& self, const Matrix& X) {
    return filled(X, self.squares.n_features, self.k, [&](auto... rows) { self.place(rows...); });
}

nb::object affine(const Matrix& X, const Matrix& matrix, const Vector& offsets, const std::optional<Vector>& centre) {
    const Affine map = make_affine(int(matrix.shape(1)), matrix, offsets, centre);
    return filled(X, map.n_features, map.n_outputs, [&](const double* rows, int64_t n, double* out) {
        std::vector<Affine::V> results(map.n_rounded());
        for (int64_t i = 0; i < n; ++i) {
            if (i % 8 == 0) map.apply(rows, i, n, results.data());
            for (int j = 0; j < map.n_outputs; ++j) *out++ = results[j].get(i % 8);
        }
    });
}

double sweep_once(const Matrix& distances, const Vector& weights, const Ndarray<double, 2>& positions) {
    const size_t n = positions.shape(0), k = positions.shape(1);
    require(distances.shape(0) == n && distances.shape(1) == n && weights.size() == n,
            "there must be a weight, and distances to all others, for each position");
    nb::gil_scoped_release released;
    return std::sqrt(sweep(int(n), int(k), distances.data(), weights.data(), positions.data()));
}

void descend_tsne_from(const Ndarray<const int64_t, 1>& starts, const Ndarray<const int64_t, 1>& columns,
                       const Vector& values, double exaggeration, double momentum, double rate, int n_iter,
                       const Ndarray<double, 2>& positions) {
    const int n = int(positions.shape(0)), k = int(positions.shape(1));
    require(
        starts.size() == size_t(n) + 1 && starts(0) == 0 && starts(n) == int64_t(columns.size()) &&
            std::is_sorted(starts.data(), starts.data() + n + 1) && columns.size() == values.size() &&
            std::all_of(columns.data(), columns.data() + columns.size(), [&](int64_t j) { return j >= 0 && j < n; }),
        "the affinities are no sparse matrix of these points");
    const AffinityMatrix affinities{starts.data(), columns.data(), values.data()};
    nb::gil_scoped_release released;
    in_dimension(
        k, [&]<int K>() { descend_tsne<K>(n, k, affinities, exaggeration, momentum, rate, n_iter, positions.data()); });
}

}  // namespace

void bind_placement(nb::module_& module) {
    nb::class_<Placement>(module, "Placement")
        .def("__init__", &make_placement, "fixed"_a, "projection"_a, "shift"_a, "origin"_a, "size"_a, "tolerance"_a,
             "max_iter"_a, "matrix"_a.none(), "offsets"_a.none(), "centre"_a.none(), "steadiness"_a, "places"_a,
             "basis"_a, "losses"_a)
        .def("place", &place, "X"_a);
    nb::class_<TsnePlacement>(module, "TsnePlacement")
        .def("__init__", &make_tsne_placement, "positions"_a, "perplexity"_a, "repels"_a, "matrix"_a.none(),
             "offsets"_a.none(), "centre"_a.none())
        .def("place", &place_tsne, "X"_a);
    module.def("descend_tsne", &descend_tsne_from, "starts"_a, "columns"_a, "values"_a, "exaggeration"_a, "momentum"_a,
               "rate"_a, "n_iter"_a, "positions"_a.noconvert());
    module.def("affine", &affine, "X"_a, "matrix"_a, "offsets"_a, "centre"_a = nb::none());
    module.def("sweep", &sweep_once, "distances"_a, "weights"_a, "positions"_a.noconvert());
}

}  // namespace driftmap
