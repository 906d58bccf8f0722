// Bindings of the arrival loop.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <numeric>

#include "scan.h"
#include "snapshot.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace driftmap {
namespace {

using Matrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Column = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Distances = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::object to_numpy(std::vector<T> values, std::vector<std::size_t> shape = {}) {
    auto* owned = new std::vector<T>(std::move(values));
    if (shape.empty()) shape = {owned->size()};
    const nb::capsule owner(owned, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
    return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner));
}

void require(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}

Batch batch_of(const Matrix& X) {
    Batch batch;
    batch.rows = std::int64_t(X.shape(0));
    if (X.dtype() == nb::dtype<double>())
        batch.doubles = static_cast<const double*>(X.data());
    else if (X.dtype() == nb::dtype<float>())
        batch.floats = static_cast<const float*>(X.data());
    else
        throw nb::type_error("points must be float64 or float32");
    return batch;
}

// Points that Python stores and measures.
class PythonSpace : public Space {
 public:
    explicit PythonSpace(nb::object source) : source_(std::move(source)) {
        triangle = nb::cast<bool>(source_.attr("triangle"));
        fallible = true;
    }
    void open(std::int64_t first, int) override { first_ = first; }
    void block_to(int first, int count, std::int32_t point, double* out) override {
        ask("cross", block(first, count), {point}, out);
    }
    int first_within(int i, const std::int32_t* rows, int n, double within, double* distance) override {
        std::vector<double> distances(n);
        ask("cross", block(i, 1), {rows, rows + n}, distances.data());
        for (int j = 0; j < n; ++j)
            if ((*distance = distances[j]) <= within) return j;
        return -1;
    }
    void between(const std::int32_t* rows, int n, std::int32_t point, double* out) override {
        ask("pairs", {rows, rows + n}, {point}, out);
    }
    void nearest_of_block(int first, int count, const Landmarks& landmarks, Nearest* out) override {
        nearest("cross", block(first, count), landmarks, out);
    }
    void nearest_of_stored(const std::int32_t* rows, int n, const Landmarks& landmarks, Nearest* out) override {
        for (int i = 0; i < n; i += 1024)
            nearest("pairs", {rows + i, rows + std::min(i + 1024, n)}, landmarks, out + i);
    }
    void keep(int i) override { source_.attr("keep")(first_ + i); }
    void retain(const std::vector<std::int32_t>& rows) override {
        source_.attr("retain")(to_numpy(std::vector<std::int64_t>(rows.begin(), rows.end())));
    }
    void save() override { source_.attr("save")(); }
    void restore() override { source_.attr("restore")(); }

 private:
    std::vector<std::int64_t> block(int first, int count) const {
        std::vector<std::int64_t> rows(count);
        std::iota(rows.begin(), rows.end(), first_ + first);
        return rows;
    }
    void ask(const char* method, std::vector<std::int64_t> rows, std::vector<std::int64_t> columns, double* out) {
        const std::size_t n = rows.size(), m = columns.size();
        if (n * m == 0) return;
        const auto answer =
            nb::cast<Distances>(source_.attr(method)(to_numpy(std::move(rows)), to_numpy(std::move(columns))));
        require(answer.shape(0) == n && answer.shape(1) == m, "distances have the wrong shape");
        for (std::size_t k = 0; k < n * m; ++k) {
            require(answer.data()[k] >= 0 && answer.data()[k] < kInfinity,
                    "a distance must be a finite number and not negative");
            out[k] = answer.data()[k];
        }
    }
    void nearest(const char* method, const std::vector<std::int64_t>& rows, const Landmarks& landmarks, Nearest* out) {
        std::vector<std::int64_t> columns;
        for (const std::int32_t slot : landmarks.order) columns.push_back(landmarks.row[slot]);
        std::vector<double> distances(rows.size() * columns.size());
        ask(method, rows, columns, distances.data());
        for (std::size_t i = 0; i < rows.size(); ++i)
            out[i] = two_nearest(distances.data() + i * columns.size(), landmarks);
    }
    nb::object source_;
    std::int64_t first_ = 0;
};

constexpr const char* kMetrics[] = {"euclidean",  "cityblock", "chebyshev",   "minkowski", "canberra",
                                    "braycurtis", "cosine",    "correlation", "hamming"};

std::unique_ptr<RowSpace> native_space(const std::string& metric, double p, int width, int slots) {
    const auto make = [&](auto functor, bool triangle, bool fallible) -> std::unique_ptr<RowSpace> {
        auto space = std::make_unique<NativeSpace<decltype(functor)>>(width, functor);
        space->triangle = triangle, space->fallible = fallible;
        return space;
    };
    require(width > 0, "points must have at least one coordinate");
    if (metric == "euclidean") return std::make_unique<EuclideanSpace>(width, slots);
    if (metric == "cityblock") return make(Cityblock{}, true, false);
    if (metric == "chebyshev") return make(Chebyshev{}, true, false);
    if (metric == "minkowski") return make(Minkowski(p), p >= 1, true);
    if (metric == "canberra") return make(Canberra{}, true, false);
    if (metric == "braycurtis") return make(BrayCurtis{}, false, true);
    if (metric == "cosine") return make(Cosine{}, false, true);
    if (metric == "correlation") return make(Correlation{}, false, true);
    if (metric == "hamming") return make(Hamming(width), true, false);
    throw nb::value_error(("the core does not know the metric " + metric).c_str());
}

// Distances of rows of X to others, given by a function of their place.
template <class Other>
nb::object measure_all(const RowSpace& space, const Matrix& X, std::size_t n, Other other) {
    require(int(X.shape(1)) == space.width, "the points have another number of features");
    const Batch batch = batch_of(X);
    std::vector<double> out(batch.rows * n), row(space.points.stride);
    {
        nb::gil_scoped_release released;
        for (std::int64_t i = 0; i < batch.rows; ++i) {
            space.read(batch, i, row.data());
            for (std::size_t j = 0; j < n; ++j) out[i * n + j] = space.expanded(space.distance(row.data(), other(j)));
        }
    }
    return to_numpy(std::move(out), {std::size_t(batch.rows), n});
}

nb::object distances(const Matrix& X, const Matrix& Y, const std::string& metric, double p) {
    const std::unique_ptr<RowSpace> space = native_space(metric, p, int(Y.shape(1)), 1);
    const Batch others = batch_of(Y);
    std::vector<double> rows(others.rows * space->points.stride);
    for (std::int64_t j = 0; j < others.rows; ++j) space->read(others, j, rows.data() + j * space->points.stride);
    return measure_all(*space, X, std::size_t(others.rows),
                       [&](std::size_t j) { return rows.data() + j * space->points.stride; });
}

class PyStream {
 public:
    PyStream(nb::object metric, int n_landmarks, const std::string& rule, double initial_radius, double slack,
             std::optional<std::int64_t> memory, double window, double half_life, double p)
        : p_(p), initial_radius_(initial_radius) {
        parameters_.n_landmarks = n_landmarks;
        parameters_.paper = rule == "paper";
        parameters_.slack = slack;
        parameters_.memory = memory.value_or(-1);
        parameters_.window = window;
        parameters_.half_life = half_life;
        require(n_landmarks > 0 && initial_radius > 0 && slack >= 0, "the parameters of a stream are out of range");
        if (nb::isinstance<nb::str>(metric))
            metric_ = nb::cast<std::string>(metric);
        else
            begin(std::make_unique<PythonSpace>(metric));
    }

    nb::object learn_rows(const Matrix& X, std::optional<Column> times, std::optional<Column> weights,
                          std::optional<Column> spreads, std::optional<Rows> arrivals, nb::object gate, bool priors) {
        require(!metric_.empty(), "the points of this stream are measured by Python");
        if (!stream) open(int(X.shape(1)));
        require(int(X.shape(1)) == rows().width, "the points have another number of features");
        rows().batch = batch_of(X);
        return learn(std::int64_t(X.shape(0)), times, weights, spreads, arrivals, gate, priors);
    }

    nb::object learn_count(std::int64_t n, std::optional<Column> times, std::optional<Column> weights,
                           std::optional<Column> spreads, std::optional<Rows> arrivals, nb::object gate, bool priors) {
        require(metric_.empty(), "the points of this stream are given as a matrix");
        return learn(n, times, weights, spreads, arrivals, gate, priors);
    }

    nb::object points(const Rows& which) { return rows_of(checked(which)); }
    nb::object rows_of(const std::vector<std::int32_t>& chosen) {
        const std::size_t width = std::size_t(rows().width);
        std::vector<double> out;
        out.reserve(chosen.size() * width);
        for (const std::int32_t row : chosen) out.insert(out.end(), rows().points[row], rows().points[row] + width);
        return to_numpy(std::move(out), {chosen.size(), width});
    }
    nb::object distances_to(const Matrix& X, const Rows& which) {
        const std::vector<std::int32_t> chosen = checked(which);
        const Table& points = rows().points;
        return measure_all(rows(), X, chosen.size(), [&](std::size_t j) { return points[chosen[j]]; });
    }
    nb::object stored_distances(const Rows& which, const Rows& others) {
        const std::vector<std::int32_t> left = checked(which), right = checked(others);
        std::vector<double> out(left.size() * right.size()), column(left.size());
        for (std::size_t j = 0; j < right.size(); ++j) {
            fitted().space->between(left.data(), int(left.size()), right[j], column.data());
            for (std::size_t i = 0; i < left.size(); ++i)
                out[i * right.size() + j] = fitted().space->expanded(column[i]);
        }
        return to_numpy(std::move(out), {left.size(), right.size()});
    }
    nb::object landmark_rows() {
        std::vector<std::int64_t> out;
        for (const std::int32_t slot : state().landmarks.order) out.push_back(state().landmarks.row[slot]);
        return to_numpy(std::move(out));
    }
    nb::object arrivals() {
        return per_row<std::int64_t>([](const State& s, std::int32_t row) { return s.arrival(row); });
    }
    nb::object spreads() {
        return per_row<double>([](const State& s, std::int32_t row) { return s.spread(row); });
    }
    nb::object cells() {
        std::vector<std::int64_t> out(state().n, -1);
        for (std::size_t j = 0; j < state().landmarks.order.size(); ++j)
            for (const Record& record : state().cells[state().landmarks.order[j]].records)
                out[record.row] = std::int64_t(j);
        return to_numpy(std::move(out));
    }
    nb::list events() {
        nb::list out;
        for (const Event& event : state().events) {
            const bool in = event.came >= 0, gone = event.left >= 0;
            const char* kind = !gone ? "added" : !in ? "forgotten" : event.came == event.left ? "widened" : "replaced";
            out.append(nb::make_tuple(event.arrival, kind, in ? nb::cast(event.came) : nb::none(),
                                      gone ? nb::cast(event.left) : nb::none(), expanded(event.radius_before),
                                      expanded(event.radius_after)));
        }
        return out;
    }
    // Everything as numbers and arrays, and back.
    nb::dict dump();
    void restore(const nb::dict& from);

    double expanded(double reduced) { return fitted().space->expanded(reduced); }
    Stream& fitted() {
        require(bool(stream), "the stream has seen no points yet");
        return *stream;
    }
    State& state() { return fitted().state; }
    int n_features() { return stream && !metric_.empty() ? rows().width : 0; }

    std::unique_ptr<Stream> stream;

 private:
    RowSpace& rows() {
        require(!metric_.empty(), "the points of this stream are stored by Python");
        return static_cast<RowSpace&>(*fitted().space);
    }
    void open(int width) { begin(native_space(metric_, p_, width, parameters_.n_landmarks + 1)); }
    void begin(std::unique_ptr<Space> space) {
        parameters_.least_radius = space->reduced(initial_radius_);
        stream = std::make_unique<Stream>(std::move(space), parameters_);
    }
    template <class T, class Value>
    nb::object per_row(Value value) {
        std::vector<T> out(state().n);
        for (std::int32_t row = 0; row < state().n; ++row) out[row] = value(state(), row);
        return to_numpy(std::move(out));
    }
    std::vector<std::int32_t> checked(const Rows& which) {
        std::vector<std::int32_t> out(which.shape(0));
        for (std::size_t i = 0; i < out.size(); ++i) {
            require(which.data()[i] >= 0 && which.data()[i] < state().n, "there is no such stored point");
            out[i] = std::int32_t(which.data()[i]);
        }
        return out;
    }
    nb::object learn(std::int64_t n, const std::optional<Column>& times, const std::optional<Column>& weights,
                     const std::optional<Column>& spreads, const std::optional<Rows>& arrivals, const nb::object& gate,
                     bool priors) {
        for (const std::optional<Column>* column : {&times, &weights, &spreads})
            require(!*column || (*column)->shape(0) == std::size_t(n),
                    "times, weights and spreads need one entry per row");
        require(!arrivals || (arrivals->shape(0) == std::size_t(n) + 1 && parameters_.bounded()),
                "arrivals need one entry per row, one more, and a memory limit");
        require(times.has_value() == parameters_.expires(), "times go with a window or a half-life");
        require((!weights && !spreads) || parameters_.weighted(), "weighted arrivals need a memory limit or an expiry");
        std::vector<std::int64_t> landmarks(priors ? n : 0);
        std::vector<double> nearest(priors ? n : 0);
        Stream::Gate ask;
        if (!gate.is_none()) ask = [&](double ratio) { return nb::cast<bool>(gate(ratio)); };
        const bool calls_python = metric_.empty() || !gate.is_none();
        auto last = std::chrono::steady_clock::now();
        const auto interrupt = [&] {
            if (std::chrono::steady_clock::now() - last < std::chrono::milliseconds(20)) return;
            nb::gil_scoped_acquire acquired;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            last = std::chrono::steady_clock::now();
        };
        const Attributes attributes{times ? times->data() : nullptr, weights ? weights->data() : nullptr,
                                    spreads ? spreads->data() : nullptr, arrivals ? arrivals->data() : nullptr};
        const Prior prior{priors ? landmarks.data() : nullptr, nearest.data()};
        if (calls_python) {
            stream->learn(n, attributes, ask, prior, interrupt);
        } else {
            nb::gil_scoped_release released;
            stream->learn(n, attributes, ask, prior, interrupt);
        }
        if (!priors) return nb::none();
        return nb::make_tuple(to_numpy(std::move(landmarks)), to_numpy(std::move(nearest)));
    }

    Parameters parameters_;
    std::string metric_;  // empty: Python measures
    double p_, initial_radius_;
};

nb::dict PyStream::dump() {
    drop_forgotten(state(), *fitted().space);
    Snapshot snapshot = take_snapshot(state());
    nb::dict out;
    snapshot.each([&]<class T>(const char* name, T& value) {
        if constexpr (std::is_arithmetic_v<T>)
            out[name] = value;
        else
            out[name] = to_numpy(std::move(value));
    });
    if (!metric_.empty()) {
        std::vector<std::int32_t> all(state().n);
        std::iota(all.begin(), all.end(), 0);
        out["points"] = rows_of(all);
    }
    return out;
}

void PyStream::restore(const nb::dict& from) {
    require(!stream || stream->state.seen == 0, "the stream has seen points already");
    Snapshot snapshot;
    snapshot.each([&]<class T>(const char* name, T& value) {
        if constexpr (std::is_arithmetic_v<T>) {
            value = nb::cast<T>(from[name]);
        } else {
            const auto array =
                nb::cast<nb::ndarray<const typename T::value_type, nb::ndim<1>, nb::c_contig>>(from[name]);
            value.assign(array.data(), array.data() + array.shape(0));
        }
    });
    if (!metric_.empty()) {
        const auto X = nb::cast<Matrix>(from["points"]);
        const Batch batch = batch_of(X);
        require(batch.rows == snapshot.n_points, "it holds another number of points");
        open(int(X.shape(1)));
        std::vector<double> row(rows().points.stride);
        for (std::int64_t i = 0; i < batch.rows; ++i) {
            rows().read(batch, i, row.data());
            for (const double x : row) require(std::fabs(x) < 1e153, "its points are not finite");
            rows().points.push(row.data());
        }
    }
    restore_snapshot(fitted(), snapshot, !metric_.empty());
}

}  // namespace

void bind(nb::module_& module) {
    nb::class_<PyStream> stream(module, "Stream");
    stream.def(nb::init<nb::object, int, const std::string&, double, double, std::optional<std::int64_t>, double,
                        double, double>(),
               "metric"_a, nb::kw_only(), "n_landmarks"_a, "rule"_a = "tight", "initial_radius"_a = 1e-20,
               "slack"_a = 0.0, "memory"_a = nb::none(), "window"_a = kInfinity, "half_life"_a = kInfinity,
               "p"_a = 2.0);
    stream.def("learn", &PyStream::learn_count, "batch"_a, nb::kw_only(), "times"_a = nb::none(),
               "weights"_a = nb::none(), "spreads"_a = nb::none(), "arrivals"_a = nb::none(), "gate"_a = nb::none(),
               "priors"_a = false);
    stream.def("learn", &PyStream::learn_rows, "batch"_a, nb::kw_only(), "times"_a = nb::none(),
               "weights"_a = nb::none(), "spreads"_a = nb::none(), "arrivals"_a = nb::none(), "gate"_a = nb::none(),
               "priors"_a = false);
    stream.def("landmark_rows", &PyStream::landmark_rows);
    stream.def("landmark_masses", [](PyStream& s) { return to_numpy(s.fitted().landmark_masses()); });
    stream.def("arrivals", &PyStream::arrivals);
    stream.def("masses", [](PyStream& s) { return to_numpy(s.fitted().masses()); });
    stream.def("spreads", &PyStream::spreads);
    stream.def("cells", &PyStream::cells);
    stream.def("points", &PyStream::points, "rows"_a);
    stream.def("distances", &PyStream::distances_to, "X"_a, "rows"_a);
    stream.def("stored_distances", &PyStream::stored_distances, "rows"_a, "columns"_a);
    stream.def("events", &PyStream::events);
    stream.def("state", &PyStream::dump);
    stream.def("restore", &PyStream::restore, "state"_a);
    stream.def_prop_ro("n_features", &PyStream::n_features);
    stream.def_prop_ro("seen", [](PyStream& s) { return s.stream ? s.state().seen : 0; });
    stream.def_prop_ro("n_stored", [](PyStream& s) { return s.stream ? s.state().n : 0; });
    stream.def_prop_ro("radius", [](PyStream& s) { return s.expanded(s.state().radius); });
    stream.def_prop_ro("covering_radius", [](PyStream& s) { return s.expanded(s.state().covering_radius()); });
    stream.def_prop_ro("resolution", [](PyStream& s) { return s.fitted().resolution(); });
    stream.def_prop_ro("coverage_bound", [](PyStream& s) { return s.fitted().coverage_bound(); });
    stream.def_prop_ro("n_replacements", [](PyStream& s) { return s.state().n_replacements; });
    stream.def_prop_ro("version", [](PyStream& s) { return s.stream ? s.state().version : 0; });
    module.def("distances", &distances, "X"_a, "Y"_a, "metric"_a = "euclidean", "p"_a = 2.0);
    nb::list names;
    for (const char* name : kMetrics) names.append(name);
    module.attr("METRICS") = nb::tuple(names);
}

}  // namespace driftmap

void bind_stream(nb::module_& module) { driftmap::bind(module); }
