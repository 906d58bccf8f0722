#include <nanobind/nanobind.h>
namespace nb = nanobind;
void bind_placement(nb::module_&) {}
