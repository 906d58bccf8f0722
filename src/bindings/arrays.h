// Arrays shared with NumPy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <vector>

namespace driftmap {

namespace nb = nanobind;
using namespace nb::literals;

template <class T, int N>
using Ndarray = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

inline void require(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}

// Return an array that owns these numbers; one-dimensional by default.
template <class T>
nb::object to_numpy(std::vector<T> numbers, std::vector<std::size_t> shape = {}) {
    auto* owned = new std::vector<T>(std::move(numbers));
    if (shape.empty()) shape = {owned->size()};
    const nb::capsule owner(owned, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
    return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape.size(), shape.data(), owner));
}

}  // namespace driftmap
