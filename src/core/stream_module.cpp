#include <nanobind/nanobind.h>
namespace nb = nanobind;
void bind_stream(nb::module_&) {}
