// The extension module: what Python sees of the core. driftmap/_core.pyi documents it.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_stream(nb::module_& module);
void bind_placement(nb::module_& module);

NB_MODULE(DRIFTMAP_MODULE, module) {
    bind_stream(module);
    bind_placement(module);
}
