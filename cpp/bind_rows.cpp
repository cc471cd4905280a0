// Rows, the solvers' kernels over them, and the chosen pairs.
#include "bind_scores.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "bind_combined.hpp"
#include "differences.hpp"
#include "dual_descent.hpp"
#include "hard_pairs.hpp"
#include "linear_algebra.hpp"
#include "pair_gram.hpp"
#include "pair_set.hpp"
#include "rows.hpp"

namespace pairsift {

using namespace nb::literals;

namespace {

// What a kernel is given for X. The Python side validates indices once (data/rows.py); kernels trust them.
template <class Value>
struct DenseArgument {
    In2<Value> values;
    DenseRows<Value> rows() const {
        return {values.data(), static_cast<std::int64_t>(values.shape(0)), static_cast<std::int64_t>(values.shape(1))};
    }
};

template <class Value, class Index>
struct CsrArgument {
    In<Value> values;
    In<Index> columns, starts;
    std::int64_t n_columns;
    CsrRows<Value, Index> rows() const {
        return {values.data(), columns.data(), starts.data(), length(starts) - 1, n_columns,
                std::min(length(values), length(columns))};
    }
};

template <class Argument>
void bind_row_kernels(nb::class_<Argument>& cls) {
    bind_combined(cls);
    cls.def_prop_ro("n_rows", [](const Argument& x) { return x.rows().n_rows; })
        .def_prop_ro("n_columns", [](const Argument& x) { return x.rows().n_columns; })
        .def("score_rows",
             [](const Argument& x, In<std::int64_t> rows, In<double> w, Out<double> scores) {
                 const auto r = x.rows();
                 require(length(w) == r.n_columns && length(rows) == length(scores), "score_rows: shapes do not agree");
                 require_rows(rows, r.n_rows);
                 nb::gil_scoped_release release;
                 score_rows(r, rows.data(), length(rows), w.data(), scores.data());
             },
             "rows"_a.noconvert(), "w"_a.noconvert(), "scores"_a.noconvert())
        .def("score_range",
             [](const Argument& x, std::int64_t start, std::int64_t stop, In<double> w, Out<double> scores) {
                 const auto r = x.rows();
                 require(0 <= start && start <= stop && stop <= r.n_rows && length(scores) == stop - start &&
                             length(w) == r.n_columns,
                         "score_range: shapes do not agree");
                 nb::gil_scoped_release release;
                 score_range(r, start, stop, w.data(), scores.data());
             },
             "start"_a, "stop"_a, "w"_a.noconvert(), "scores"_a.noconvert())
        .def("first_bad_row",
             [](const Argument& x, In<std::int64_t> rows) {
                 const auto r = x.rows();
                 require_rows(rows, r.n_rows);
                 nb::gil_scoped_release release;
                 return first_bad_row(r, rows.data(), length(rows));
             },
             "rows"_a.noconvert())
        .def("first_bad_in_range",
             [](const Argument& x, std::int64_t start, std::int64_t stop) {
                 const auto r = x.rows();
                 require(0 <= start && start <= stop && stop <= r.n_rows, "first_bad_in_range: rows are out of range");
                 nb::gil_scoped_release release;
                 return first_bad_in_range(r, start, stop);
             },
             "start"_a, "stop"_a)
        .def("add_combination",
             [](const Argument& x, In<double> a, Out<double> w) {
                 const auto r = x.rows();
                 require(length(a) == r.n_rows && length(w) == r.n_columns, "add_combination: shapes do not agree");
                 nb::gil_scoped_release release;
                 add_combination(r, a.data(), w.data());
             },
             "a"_a.noconvert(), "w"_a.noconvert())
        .def("add_weighted_gram",
             [](const Argument& x, In<double> weights, Out2<double> out) {
                 const auto r = x.rows();
                 require(length(weights) == r.n_rows && length(out) == r.n_columns &&
                             static_cast<std::int64_t>(out.shape(1)) == r.n_columns,
                         "add_weighted_gram: shapes do not agree");
                 nb::gil_scoped_release release;
                 add_weighted_gram(r, weights.data(), out.data());
             },
             "weights"_a.noconvert(), "out"_a.noconvert())
        .def("squared_norms",
             [](const Argument& x, std::int64_t start, std::int64_t stop, Out<double> norms) {
                 const auto r = x.rows();
                 require(0 <= start && start <= stop && stop <= r.n_rows && length(norms) == stop - start,
                         "squared_norms: shapes do not agree");
                 nb::gil_scoped_release release;
                 squared_norms(r, start, stop, norms.data());
             },
             "start"_a, "stop"_a, "norms"_a.noconvert())
        .def("keys",
             [](const Argument& x, std::uint64_t seed, Out<std::uint64_t> keys) {
                 const auto r = x.rows();
                 require(length(keys) == r.n_rows, "keys: shapes do not agree");
                 nb::gil_scoped_release release;
                 row_keys(r, seed, keys.data());
             },
             "seed"_a, "keys"_a.noconvert())
        .def("add_range",
             [](const Argument& x, std::int64_t start, std::int64_t stop, In<double> a, Out<double> w) {
                 const auto r = x.rows();
                 require(0 <= start && start <= stop && stop <= r.n_rows && length(a) == stop - start &&
                             length(w) == r.n_columns,
                         "add_range: shapes do not agree");
                 nb::gil_scoped_release release;
                 add_range(r, start, stop, a.data(), w.data());
             },
             "start"_a, "stop"_a, "a"_a.noconvert(), "w"_a.noconvert())
        .def("pair_gram",
             [](const Argument& x, In<std::int64_t> rows_p, In<std::int64_t> rows_b, In<double> p, In<std::int64_t> p_order,
                std::optional<In<double>> u, In<double> b, In<std::int64_t> b_order, std::optional<In<double>> v, double width,
                In<double> curvature_p, In<double> curvature_b, Out2<double> h) {
                 const auto r = x.rows();
                 const SortedScores positives = sorted_scores(p, p_order, u), negatives = sorted_scores(b, b_order, v);
                 require(length(rows_p) == positives.n && length(curvature_p) == positives.n &&
                             length(rows_b) == negatives.n && length(curvature_b) == negatives.n &&
                             length(h) == r.n_columns && static_cast<std::int64_t>(h.shape(1)) == r.n_columns,
                         "pair_gram: shapes do not agree");
                 require_rows(rows_p, r.n_rows);
                 require_rows(rows_b, r.n_rows);
                 nb::gil_scoped_release release;
                 pair_gram(r, rows_p.data(), rows_b.data(), positives, negatives, width, curvature_p.data(),
                           curvature_b.data(), h.data());
             },
             "rows_p"_a.noconvert(), "rows_b"_a.noconvert(), "p"_a.noconvert(), "p_order"_a.noconvert(),
             "u"_a.noconvert().none(), "b"_a.noconvert(), "b_order"_a.noconvert(), "v"_a.noconvert().none(), "width"_a,
             "curvature_p"_a.noconvert(), "curvature_b"_a.noconvert(), "h"_a.noconvert())
        .def("dual_descent",
             [](const Argument& x, std::optional<In<double>> signs, std::optional<In<double>> constants, In<double> upper,
                In<double> norms, Out<double> alpha, Out<double> w, Out<double> theta, double tol, std::int64_t max_passes,
                std::uint64_t seed, std::optional<std::tuple<std::int64_t, std::int64_t, double>> steering) {
                 const auto r = x.rows();
                 require(length(upper) == r.n_rows && length(norms) == r.n_rows && length(alpha) == r.n_rows &&
                             length(w) == r.n_columns && length(theta) == 1 && (!signs || length(*signs) == r.n_rows) &&
                             (!constants || length(*constants) == r.n_rows) && (!steering || (std::get<0>(*steering) <= r.n_rows && std::get<1>(*steering) >= 0)),
                         "dual_descent: shapes do not agree");
                 const double* s = signs ? signs->data() : nullptr;
                 const double* c = constants ? constants->data() : nullptr;
                 DualOutcome out;
                 {
                     nb::gil_scoped_release release;
                     DualDescent solver(r, s, c, upper.data(), norms.data(), alpha.data(), w.data(), theta.data());
                     if (steering) {
                         const auto [known, turn, w_norm2] = *steering;
                         out = solver.steer(tol, max_passes, seed, known, turn, w_norm2);
                     } else {
                         out = solver.solve(tol, max_passes, seed);
                     }
                 }
                 return std::make_tuple(out.primal, out.gap, out.passes, out.converged);
             },
             "signs"_a.noconvert().none(), "constants"_a.noconvert().none(), "upper"_a.noconvert(), "norms"_a.noconvert(),
             "alpha"_a.noconvert(), "w"_a.noconvert(), "theta"_a.noconvert(), "tol"_a, "max_passes"_a, "seed"_a,
             "steering"_a.none());
}

void require_terms(const std::int64_t* i, const std::int64_t* j, std::int64_t n, std::int64_t n_rows) {
    for (std::int64_t t = 0; t < n; ++t)
        require(i[t] >= -1 && i[t] < n_rows && j[t] >= -1 && j[t] < n_rows, "write_differences: a row is out of range");
}

template <class Value>
void bind_dense(nb::module_& m, const char* name) {
    using Argument = DenseArgument<Value>;
    nb::class_<Argument> cls(m, name);
    cls.def(
        "__init__", [](Argument* self, In2<Value> values) { new (self) Argument{std::move(values)}; }, "values"_a.noconvert());
    cls.def(
        "write_differences",
        [](const Argument& x, In<std::int64_t> i, In<std::int64_t> j, Out2<double> out) {
            const auto r = x.rows();
            require(length(i) == length(j) && length(out) == length(i) &&
                        static_cast<std::int64_t>(out.shape(1)) == r.n_columns,
                    "write_differences: shapes do not agree");
            require_terms(i.data(), j.data(), length(i), r.n_rows);
            nb::gil_scoped_release release;
            write_differences(r, i.data(), j.data(), length(i), out.data());
        },
        "i"_a.noconvert(), "j"_a.noconvert(), "out"_a.noconvert());
    bind_row_kernels(cls);
}

template <class Value, class Index>
void bind_csr(nb::module_& m, const char* name) {
    using Argument = CsrArgument<Value, Index>;
    nb::class_<Argument> cls(m, name);
    cls.def(
        "__init__",
        [](Argument* self, In<Value> values, In<Index> columns, In<Index> starts, std::int64_t n_columns) {
            require(length(starts) >= 1, "CSR rows: starts must have one entry more than there are rows");
            new (self) Argument{std::move(values), std::move(columns), std::move(starts), n_columns};
        },
        "values"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert(), "n_columns"_a);
    cls.def(
        "gather",
        [](const Argument& x, In<std::int64_t> rows, In<Index> starts, Out<Value> values, Out<Index> columns) {
            const auto r = x.rows();
            const std::int64_t n = length(rows);
            require(length(starts) == n + 1 && length(values) == length(columns), "gather: shapes do not agree");
            for (std::int64_t t = 0; t < n; ++t) {
                const std::int64_t k = rows.data()[t];
                require(k >= 0 && k < r.n_rows, "gather: a row is out of range");
                require(r.starts[k] >= 0 && r.starts[k + 1] <= r.n_values && starts.data()[t] >= 0 &&
                            starts.data()[t + 1] - starts.data()[t] == r.starts[k + 1] - r.starts[k] &&
                            r.starts[k + 1] >= r.starts[k] && starts.data()[t + 1] <= length(values),
                        "gather: bounds do not agree");
            }
            nb::gil_scoped_release release;
            gather_rows(r, rows.data(), n, starts.data(), values.data(), columns.data());
        },
        "rows"_a.noconvert(), "starts"_a.noconvert(), "values"_a.noconvert(), "columns"_a.noconvert());
    cls.def(
        "write_differences",
        [](const Argument& x, In<std::int64_t> i, In<std::int64_t> j, Out<double> values, Out<Index> columns,
           Out<Index> starts) {
            const auto r = x.rows();
            const std::int64_t n = length(i);
            require(length(j) == n && length(starts) == n + 1, "write_differences: shapes do not agree");
            require_terms(i.data(), j.data(), n, r.n_rows);
            std::int64_t needed = starts.data()[0];
            auto nnz = [&](std::int64_t k) { return k < 0 ? 0 : std::int64_t(r.starts[k + 1]) - r.starts[k]; };
            for (std::int64_t t = 0; t < n; ++t) needed += nnz(i.data()[t]) + nnz(j.data()[t]);
            require(length(values) >= needed && length(columns) >= needed, "write_differences: not enough room");
            nb::gil_scoped_release release;
            write_differences(r, i.data(), j.data(), n, values.data(), columns.data(), starts.data());
        },
        "i"_a.noconvert(), "j"_a.noconvert(), "values"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert());
    bind_row_kernels(cls);
}

void bind_pair_set(nb::module_& m) {
    nb::class_<PairSet>(m, "PairSet")
        .def(nb::init<>())
        .def("__len__", &PairSet::size)
        .def("insert",
             [](PairSet& set, In<std::int64_t> i, In<std::int64_t> j, Out<bool> fresh) {
                 require(length(i) == length(j) && length(fresh) == length(i), "PairSet.insert: shapes do not agree");
                 for (std::int64_t t = 0; t < length(i); ++t) fresh.data()[t] = set.insert(i.data()[t], j.data()[t]);
             },
             "i"_a.noconvert(), "j"_a.noconvert(), "fresh"_a.noconvert())
        .def("contains",
             [](const PairSet& set, In<std::int64_t> i, In<std::int64_t> j, Out<bool> found) {
                 require(length(i) == length(j) && length(found) == length(i), "PairSet.contains: shapes do not agree");
                 for (std::int64_t t = 0; t < length(i); ++t) found.data()[t] = set.contains(i.data()[t], j.data()[t]);
             },
             "i"_a.noconvert(), "j"_a.noconvert(), "found"_a.noconvert());
}

void bind_hard_pairs(nb::module_& m) {
    m.def(
        "hard_pairs",
        [](bool closeness, In<double> positive_scores, In<double> negative_scores, In<std::int64_t> negative_places,
           const PairSet& chosen, Out<std::int64_t> i, Out<std::int64_t> j) {
            require(length(negative_places) == length(negative_scores) && length(i) == length(j),
                    "hard_pairs: shapes do not agree");
            nb::gil_scoped_release release;
            HardPairs pairs(closeness ? Measure::closeness : Measure::correctness, positive_scores.data(),
                            length(positive_scores), negative_scores.data(), negative_places.data(),
                            length(negative_scores), chosen);
            return pairs.take(length(i), i.data(), j.data());
        },
        "closeness"_a, "positive_scores"_a.noconvert(), "negative_scores"_a.noconvert(), "negative_places"_a.noconvert(),
        "chosen"_a, "i"_a.noconvert(), "j"_a.noconvert());
}

void bind_cholesky(nb::module_& m) {
    m.def(
        "cholesky",
        [](Out2<double> a) {
            require(a.shape(0) == a.shape(1), "cholesky: the matrix must be square");
            nb::gil_scoped_release release;
            return cholesky(a.data(), length(a));
        },
        "a"_a.noconvert());
    m.def(
        "cholesky_solve",
        [](In2<double> factor, Out<double> b) {
            require(factor.shape(0) == factor.shape(1) && length(factor) == length(b), "cholesky_solve: shapes do not agree");
            nb::gil_scoped_release release;
            cholesky_solve(factor.data(), length(b), b.data());
        },
        "factor"_a.noconvert(), "b"_a.noconvert());
}

}  // namespace

void bind_rows(nb::module_& m) {
    bind_dense<float>(m, "DenseF32");
    bind_dense<double>(m, "DenseF64");
    bind_csr<float, std::int32_t>(m, "CsrF32I32");
    bind_csr<float, std::int64_t>(m, "CsrF32I64");
    bind_csr<double, std::int32_t>(m, "CsrF64I32");
    bind_csr<double, std::int64_t>(m, "CsrF64I64");
    bind_pair_set(m);
    bind_hard_pairs(m);
    bind_cholesky(m);
}

}  // namespace pairsift
