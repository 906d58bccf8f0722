// The extension module: streams. driftmap/_core/__init__.pyi documents it.
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <chrono>
#include <string>

#include "python_space.h"
#include "scan.h"
#include "snapshot.h"

namespace driftmap {
namespace {

using Matrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Column = std::optional<Ndarray<const double, 1>>;
using Rows = Ndarray<const std::int64_t, 1>;

Batch batch_of(const Matrix& X, int width) {
    const bool single = X.dtype() == nb::dtype<float>();
    if (!single && X.dtype() != nb::dtype<double>()) throw nb::type_error("points must be float64 or float32");
    require(X.shape(1) == std::size_t(width), "the points have another number of features");
    return {X.data(), single};
}

std::unique_ptr<RowSpace> native_space(const std::string& wanted, double p, int width) {
    require(width > 0, "points must have at least one coordinate");
    std::unique_ptr<RowSpace> space;
    each_metric(p, width, [&]<class Metric>(const char* name, Metric metric) {
        if (name != wanted) return;
        if constexpr (std::is_same_v<Metric, SquaredEuclidean>)
            space = std::make_unique<EuclideanSpace>(width);
        else
            space = std::make_unique<NativeSpace<Metric>>(width, metric);
    });
    require(space != nullptr, "the core does not know this metric");
    return space;
}

// Return the distances between the rows of two matrices.
nb::object distances(const Matrix& X, const Matrix& Y, const std::string& metric, double p) {
    const std::unique_ptr<RowSpace> space = native_space(metric, p, int(Y.shape(1)));
    const std::size_t n = X.shape(0), m = Y.shape(0);
    const Batch rows = batch_of(X, space->width), others = batch_of(Y, space->width);
    std::vector<double> out(n * m);
    std::vector<std::int32_t> columns(m);
    std::iota(columns.begin(), columns.end(), 0);
    {
        nb::gil_scoped_release released;
        space->keep_all(others, std::int64_t(m));
        space->batch = rows, space->checked = false;
        for (std::size_t i = 0; i < n; ++i) {
            const std::int32_t row = ~0;
            space->open(std::int64_t(i), 1);
            space->measure(&row, 1, columns.data(), int(m), out.data() + i * m);
        }
        for (double& t : out) t = space->expanded(t);
    }
    return to_numpy(std::move(out), {n, m});
}

void make_stream(Stream* self, const nb::object& metric, int n_features, int n_landmarks, const std::string& rule,
                 double initial_radius, double slack, std::optional<std::int64_t> memory, double window,
                 double half_life, double p) {
    require(n_landmarks > 0 && initial_radius > 0 && slack >= 0, "the parameters of a stream are out of range");
    std::unique_ptr<Space> space;
    if (nb::isinstance<nb::str>(metric))
        space = native_space(nb::cast<std::string>(metric), p, n_features);
    else
        space = std::make_unique<PythonSpace>(metric);
    const double radius = space->reduced(initial_radius);
    const Parameters parameters{n_landmarks, rule == "paper", radius, slack, memory.value_or(-1), window, half_life};
    new (self) Stream(std::move(space), parameters);
}

RowSpace* rows_of(Stream& stream) { return dynamic_cast<RowSpace*>(stream.space.get()); }

nb::object learn(Stream& stream, const std::variant<Matrix, std::int64_t>& batch, const Column& times,
                 const Column& weights, const Column& spreads, const std::optional<Rows>& arrivals,
                 const nb::object& gate, bool nearest_before) {
    const Matrix* X = std::get_if<Matrix>(&batch);
    RowSpace* rows = rows_of(stream);
    require((X != nullptr) == (rows != nullptr), "a metric of the core learns a matrix, a source a number of rows");
    const std::int64_t n = X ? std::int64_t(X->shape(0)) : std::get<std::int64_t>(batch);
    if (rows) rows->batch = batch_of(*X, rows->width);
    for (const Column* column : {&times, &weights, &spreads})
        require(!*column || (*column)->size() == std::size_t(n), "times, weights and spreads need one entry per row");
    require(times.has_value() == stream.state.parameters.expires(), "times go with a window or a half-life");
    require((!weights && !spreads) || stream.state.parameters.weighted(),
            "weighted arrivals need a memory limit or an expiry");
    require(!arrivals || (arrivals->size() == std::size_t(n) + 1 && stream.state.parameters.bounded()),
            "arrivals need one entry per row, one more, and a memory limit");
    Stream::Gate ask;
    if (!gate.is_none()) ask = [&](double ratio) { return nb::cast<bool>(gate(ratio)); };
    auto last = std::chrono::steady_clock::now();
    const auto interrupt = [&] {
        if (std::chrono::steady_clock::now() - last < std::chrono::milliseconds(20)) return;
        nb::gil_scoped_acquire acquired;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        last = std::chrono::steady_clock::now();
    };
    std::vector<std::int64_t> landmarks(nearest_before ? n : 0);
    std::vector<double> nearest(nearest_before ? n : 0);
    const Columns columns{times ? times->data() : nullptr,
                          weights ? weights->data() : nullptr,
                          spreads ? spreads->data() : nullptr,
                          arrivals ? arrivals->data() : nullptr,
                          nearest_before ? landmarks.data() : nullptr,
                          nearest.data()};
    {
        std::optional<nb::gil_scoped_release> released;  // unless learning calls Python
        if (rows && !ask) released.emplace();
        stream.learn(n, columns, ask, interrupt);
    }
    if (!nearest_before) return nb::none();
    return nb::make_tuple(to_numpy(std::move(landmarks)), to_numpy(std::move(nearest)));
}

nb::object points(Stream& stream, const Rows& which) {
    const RowSpace* rows = rows_of(stream);
    require(rows != nullptr, "the points of this stream are stored by Python");
    std::vector<double> out;
    for (std::size_t i = 0; i < which.size(); ++i) {
        const std::int64_t row = which.data()[i];
        require(row >= 0 && row < stream.state.n, "there is no such stored point");
        out.insert(out.end(), rows->points[row], rows->points[row] + rows->width);
    }
    return to_numpy(std::move(out), {which.size(), std::size_t(rows->width)});
}

// Return, for each row, the position of its landmark in order of arrival; -1: forgotten.
std::vector<std::int64_t> cells(const State& state) {
    std::vector<std::int64_t> out(state.n, -1);
    for (std::int32_t j = 0; j < state.n_landmarks(); ++j)
        for (const Record& record : state.cells[state.landmarks.order[j]].records) out[record.row] = j;
    return out;
}

template <class T>
nb::object by_row(const State& state, T (State::*value)(std::int32_t) const) {
    std::vector<T> out;
    for (std::int32_t row = 0; row < state.n; ++row) out.push_back((state.*value)(row));
    return to_numpy(std::move(out));
}

nb::object landmark_masses(const State& state) {
    const std::vector<std::int64_t> places = cells(state);
    std::vector<double> out(state.landmarks.order.size());
    for (std::int32_t row = 0; row < state.n; ++row)
        if (places[row] >= 0) out[places[row]] += state.mass(row);
    return to_numpy(std::move(out));
}

nb::list events(const Stream& stream) {
    nb::list out;
    for (const Event& event : stream.state.events) {
        const bool in = event.came >= 0, gone = event.left >= 0;
        const char* kind = !gone ? "added" : !in ? "forgotten" : event.came == event.left ? "widened" : "replaced";
        out.append(nb::make_tuple(event.arrival, kind, in ? nb::cast(event.came) : nb::none(),
                                  gone ? nb::cast(event.left) : nb::none(), stream.space->expanded(event.radius_before),
                                  stream.space->expanded(event.radius_after)));
    }
    return out;
}

// A stream and its Python source may refer to each other; these functions let the garbage collector find such cycles.
PythonSpace* measured_by_python(PyObject* stream) {
    return nb::inst_ready(stream) ? dynamic_cast<PythonSpace*>(nb::inst_ptr<Stream>(stream)->space.get()) : nullptr;
}

int traverse(PyObject* stream, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(stream));
    if (PythonSpace* space = measured_by_python(stream)) Py_VISIT(space->source().ptr());
    return 0;
}

int clear(PyObject* stream) {
    if (PythonSpace* space = measured_by_python(stream)) space->release_source();
    return 0;
}

PyType_Slot kSlots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

}  // namespace

void bind_placement(nb::module_& module);

NB_MODULE(DRIFTMAP_MODULE, module) {
    nb::set_leak_warnings(false);  // in Python, objects alive at exit are normal
    bind_placement(module);
    nb::class_<Stream>(module, "Stream", nb::type_slots(kSlots))
        .def("__init__", &make_stream, "metric"_a, "n_features"_a = 0, nb::kw_only(), "n_landmarks"_a,
             "rule"_a = "tight", "initial_radius"_a = 1e-20, "slack"_a = 0.0, "memory"_a = nb::none(),
             "window"_a = kInfinity, "half_life"_a = kInfinity, "p"_a = 2.0)
        .def("learn", &learn, "batch"_a, nb::kw_only(), "times"_a = nb::none(), "weights"_a = nb::none(),
             "spreads"_a = nb::none(), "arrivals"_a = nb::none(), "gate"_a = nb::none(), "nearest_before"_a = false)
        .def("state", &dump)
        .def("restore", &restore, "state"_a)
        .def("points", &points, "rows"_a)
        .def("events", &events)
        .def("landmark_rows",
             [](const Stream& s) {
                 const std::vector<std::int32_t> rows = s.state.landmarks.rows();
                 return to_numpy(std::vector<std::int64_t>(rows.begin(), rows.end()));
             })
        .def("landmark_masses", [](const Stream& s) { return landmark_masses(s.state); })
        .def("arrivals", [](const Stream& s) { return by_row(s.state, &State::arrival); })
        .def("masses", [](const Stream& s) { return by_row(s.state, &State::mass); })
        .def("spreads", [](const Stream& s) { return by_row(s.state, &State::spread); })
        .def("cells", [](const Stream& s) { return to_numpy(cells(s.state)); })
        .def_ro("broken", &Stream::broken)
        .def_prop_ro("seen", [](const Stream& s) { return s.state.seen; })
        .def_prop_ro("n_stored", [](const Stream& s) { return s.state.n; })
        .def_prop_ro("n_replacements", [](const Stream& s) { return s.state.n_replacements; })
        .def_prop_ro("version", [](const Stream& s) { return s.state.version; })
        .def_prop_ro("radius", [](const Stream& s) { return s.space->expanded(s.state.radius); })
        .def_prop_ro("covering_radius", [](const Stream& s) { return s.space->expanded(s.state.covering_radius()); })
        .def_prop_ro("resolution", [](const Stream& s) { return s.state.largest_spread(); })
        .def_prop_ro("coverage_bound", &Stream::coverage_bound);
    module.def("distances", &distances, "X"_a, "Y"_a, "metric"_a = "euclidean", "p"_a = 2.0);
    nb::dict metrics;
    each_metric(2.0, 1, [&](const char* name, auto metric) { metrics[name] = metric.triangle; });
    module.attr("METRICS") = metrics;
}

}  // namespace driftmap
