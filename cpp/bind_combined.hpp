// The binding of stochastic gradient on pairs and points, a method of every kind of rows.
#pragma once

#include "bindings.hpp"
#include "combined_sgd.hpp"

namespace pairsift {

template <class Argument>
void bind_combined(nb::class_<Argument>& cls) {
    using namespace nb::literals;
    cls.def("combined_sgd",
            [](const Argument& x, In<std::int64_t> i, In<std::int64_t> j, std::int64_t done, double C, bool squared,
               bool threshold, Out<double> u, Out<double> u_constant) {
                const auto r = x.rows();
                require(length(i) == length(j) && length(u) == r.n_columns && length(u_constant) == 1 && done >= 0,
                        "combined_sgd: shapes do not agree");
                for (std::int64_t s = 0; s < length(i); ++s) {
                    const std::int64_t a = i.data()[s], b = j.data()[s];
                    require(a >= -1 && a < r.n_rows && b >= -1 && b < r.n_rows && (a >= 0 || b >= 0),
                            "combined_sgd: a row is out of range");
                }
                nb::gil_scoped_release release;
                CombinedSgd sgd(r, C, squared, threshold, u.data(), u_constant.data());
                return sgd.run(i.data(), j.data(), length(i), done);
            },
            "i"_a.noconvert(), "j"_a.noconvert(), "done"_a, "C"_a, "squared"_a, "threshold"_a, "u"_a.noconvert(),
            "u_constant"_a.noconvert());
}

}  // namespace pairsift
