// The second derivative, in w, of a loss over all pairs of a few rows, written out.
//
//   H = sum_ij u_i v_j phi''(z_ij) (x_i - x_j)(x_i - x_j)^T
//     = sum_i D_i x_i x_i^T + sum_j D_j x_j x_j^T - (K + K^T),   K = sum_i u_i x_i (sum_{j inside for i} v_j x_j)^T
//
// with D the sums of phi'' over the pairs of a row. The inner sum is kept while a sweep goes down the sorted scores, so the cost
// is that of the outer products: rows * (values in a row) * columns. Meant for a sample of the rows and a few hundred columns.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "all_pairs.hpp"
#include "rows.hpp"

namespace pairsift {

// h[c, :] += a x_kc t for every column c where the row is not zero
template <class Value>
void add_outer(const DenseRows<Value>& x, std::int64_t k, double a, const double* t /* in */, double* h /* in and out */) {
    const Value* row = x.row(k);
    for (std::int64_t c = 0; c < x.n_columns; ++c) {
        const double factor = a * static_cast<double>(row[c]);
        double* to = h + c * x.n_columns;
        if (factor != 0)
            for (std::int64_t e = 0; e < x.n_columns; ++e) to[e] += factor * t[e];
    }
}

template <class Value, class Index>
void add_outer(const CsrRows<Value, Index>& x, std::int64_t k, double a, const double* t, double* h) {
    for (Index at = x.starts[k]; at < x.starts[k + 1]; ++at) {
        const double factor = a * static_cast<double>(x.values[at]);
        double* to = h + static_cast<std::int64_t>(x.columns[at]) * x.n_columns;
        for (std::int64_t e = 0; e < x.n_columns; ++e) to[e] += factor * t[e];
    }
}

// h += a x_k x_k^T
template <class Value>
void add_square(const DenseRows<Value>& x, std::int64_t k, double a, double* h /* in and out */) {
    const Value* row = x.row(k);
    for (std::int64_t c = 0; c < x.n_columns; ++c) {
        const double factor = a * static_cast<double>(row[c]);
        double* to = h + c * x.n_columns;
        if (factor != 0)
            for (std::int64_t e = 0; e < x.n_columns; ++e) to[e] += factor * static_cast<double>(row[e]);
    }
}

template <class Value, class Index>
void add_square(const CsrRows<Value, Index>& x, std::int64_t k, double a, double* h) {
    for (Index at = x.starts[k]; at < x.starts[k + 1]; ++at) {
        const double factor = a * static_cast<double>(x.values[at]);
        double* to = h + static_cast<std::int64_t>(x.columns[at]) * x.n_columns;
        for (Index other = x.starts[k]; other < x.starts[k + 1]; ++other)
            to[x.columns[other]] += factor * static_cast<double>(x.values[other]);
    }
}

// The sum of v_j x_j over the sources inside, and how many they are.
template <class Rows>
struct RowSums {
    const Rows& x;
    const SortedScores& sources;
    const std::int64_t* rows;  // row number by place
    std::vector<double> sum;
    std::int64_t inside = 0;

    void start(double) {}
    void advance(double) {}
    void enter(std::int64_t k) { ++inside, x.axpy(rows[sources.order[k]], sources.weight(k), sum.data()); }
    void leave(std::int64_t k) { --inside, x.axpy(rows[sources.order[k]], -sources.weight(k), sum.data()); }
    void none_inside() { std::fill(sum.begin(), sum.end(), 0.0); }
};

template <class Rows>
void pair_gram(const Rows& x, const std::int64_t* rows_p /* in */, const std::int64_t* rows_b /* in */,
               const SortedScores& p, const SortedScores& b, double width, const double* curvature_p /* in */,
               const double* curvature_b /* in */, double* h /* out: n_columns x n_columns */) {
    const std::int64_t d = x.n_columns;
    const double scale = std::isinf(width) ? 2.0 : width > 0 ? 1 / width : 0.0;
    std::fill(h, h + d * d, 0.0);
    RowSums<Rows> over_b{x, b, rows_b, std::vector<double>(d)};
    sweep(DownOverNegatives{p, b, width}, over_b, [&](std::int64_t k) {
        if (over_b.inside > 0) add_outer(x, rows_p[p.order[k]], -scale * p.weight(k), over_b.sum.data(), h);
    });
    for (std::int64_t i = 0; i < p.n; ++i)
        if (curvature_p[i] != 0) add_square(x, rows_p[i], 0.5 * curvature_p[i], h);
    for (std::int64_t j = 0; j < b.n; ++j)
        if (curvature_b[j] != 0) add_square(x, rows_b[j], 0.5 * curvature_b[j], h);
    for (std::int64_t c = 0; c < d; ++c)
        for (std::int64_t e = 0; e <= c; ++e) h[c * d + e] = h[e * d + c] = h[c * d + e] + h[e * d + c];
}

}  // namespace pairsift
