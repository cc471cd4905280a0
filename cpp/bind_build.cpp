// What the kernels were built with, for `pairsift doctor`.
#include <nanobind/stl/string.h>

#include <string>

#include "bindings.hpp"

#ifndef PAIRSIFT_BUILD_TYPE
#define PAIRSIFT_BUILD_TYPE ""
#endif

namespace pairsift {

namespace {

std::string compiler() {
#if defined(__clang__)
    return std::string("Clang ") + __clang_version__;
#elif defined(__GNUC__)
    return std::string("GCC ") + __VERSION__;
#elif defined(_MSC_VER)
    return "MSVC " + std::to_string(_MSC_FULL_VER);
#else
    return "unknown";
#endif
}

bool optimised() {
#if defined(__OPTIMIZE__) || (defined(_MSC_VER) && !defined(_DEBUG))
    return true;
#else
    return false;
#endif
}

}  // namespace

void bind_build(nb::module_& m) {
    m.def("build_facts", [] {
        nb::dict facts;
        facts["compiler"] = compiler();
        facts["standard"] = static_cast<long>(__cplusplus);
        facts["build_type"] = std::string(PAIRSIFT_BUILD_TYPE);
        facts["optimised"] = optimised();
        return facts;
    });
}

}  // namespace pairsift
