// Sorting of scores and sums over all pairs.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "argsort.hpp"
#include "bind_scores.hpp"

namespace pairsift {

using namespace nb::literals;

void bind_all_pairs(nb::module_& m) {
    m.def(
        "argsort",
        [](In<double> values, Out<std::int64_t> order) {
            require(length(values) == length(order), "argsort: shapes do not agree");
            nb::gil_scoped_release release;
            argsort(values.data(), length(values), order.data());
        },
        "values"_a.noconvert(), "order"_a.noconvert());
    m.def(
        "sum_pairs",
        [](In<double> p, In<std::int64_t> p_order, std::optional<In<double>> u, In<double> b, In<std::int64_t> b_order,
           std::optional<In<double>> v, double width, Out<double> slope_p, Out<double> slope_b, Out<double> curvature_p,
           Out<double> curvature_b) {
            const SortedScores positives = sorted_scores(p, p_order, u), negatives = sorted_scores(b, b_order, v);
            require(length(slope_p) == positives.n && length(curvature_p) == positives.n && length(slope_b) == negatives.n &&
                        length(curvature_b) == negatives.n && width >= 0,
                    "sum_pairs: shapes do not agree");
            nb::gil_scoped_release release;
            const PairTotals out = sum_pairs(positives, negatives, width, slope_p.data(), slope_b.data(),
                                             curvature_p.data(), curvature_b.data());
            return std::make_tuple(out.value, out.hinge, out.slack);
        },
        "p"_a.noconvert(), "p_order"_a.noconvert(), "u"_a.noconvert().none(), "b"_a.noconvert(), "b_order"_a.noconvert(),
        "v"_a.noconvert().none(), "width"_a, "slope_p"_a.noconvert(), "slope_b"_a.noconvert(), "curvature_p"_a.noconvert(),
        "curvature_b"_a.noconvert());
    m.def(
        "curvature_product",
        [](In<double> p, In<std::int64_t> p_order, std::optional<In<double>> u, In<double> b, In<std::int64_t> b_order,
           std::optional<In<double>> v, double width, In<double> d_p, In<double> d_b, Out<double> h_p, Out<double> h_b) {
            const SortedScores positives = sorted_scores(p, p_order, u), negatives = sorted_scores(b, b_order, v);
            require(length(d_p) == positives.n && length(h_p) == positives.n && length(d_b) == negatives.n &&
                        length(h_b) == negatives.n && width >= 0,
                    "curvature_product: shapes do not agree");
            nb::gil_scoped_release release;
            curvature_product(positives, negatives, width, d_p.data(), d_b.data(), h_p.data(), h_b.data());
        },
        "p"_a.noconvert(), "p_order"_a.noconvert(), "u"_a.noconvert().none(), "b"_a.noconvert(), "b_order"_a.noconvert(),
        "v"_a.noconvert().none(), "width"_a, "d_p"_a.noconvert(), "d_b"_a.noconvert(), "h_p"_a.noconvert(),
        "h_b"_a.noconvert());
}

}  // namespace pairsift
