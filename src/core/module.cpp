// The extension module: what Python sees of the core. driftmap/_core.pyi documents it.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace driftmap {
void bind_stream(nb::module_& module);
}
void bind_placement(nb::module_& module);

NB_MODULE(DRIFTMAP_MODULE, module) {
    nb::set_leak_warnings(false);  // objects alive at exit are ordinary in Python
    driftmap::bind_stream(module);
    bind_placement(module);
}
