// The extension module: what Python sees of the core. driftmap/_core.pyi documents it.
#include <nanobind/nanobind.h>

namespace driftmap {

void bind_stream(nanobind::module_& module);
void bind_placement(nanobind::module_& module);

NB_MODULE(DRIFTMAP_MODULE, module) {
    nanobind::set_leak_warnings(false);  // objects alive at exit are ordinary in Python
    bind_stream(module);
    bind_placement(module);
}

}  // namespace driftmap
