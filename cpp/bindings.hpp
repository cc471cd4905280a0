// What the binding files share: array arguments and their checks.
// Every array argument is bound as noconvert: a silent copy of an output array would stay zero.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>

namespace pairsift {

namespace nb = nanobind;

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

template <class T>
std::int64_t length(const T& array) {
    return static_cast<std::int64_t>(array.shape(0));
}

inline void require_rows(const In<std::int64_t>& rows, std::int64_t n_rows) {
    for (std::int64_t t = 0; t < length(rows); ++t)
        require(rows.data()[t] >= 0 && rows.data()[t] < n_rows, "a row number is out of range");
}

// One function a binding file; cpp/bindings.cpp calls them all.
void bind_build(nb::module_& m);
void bind_file_reads(nb::module_& m);
void bind_rows(nb::module_& m);
void bind_all_pairs(nb::module_& m);
void bind_svmlight(nb::module_& m);

}  // namespace pairsift
