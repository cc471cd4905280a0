// The dense linear algebra of a Newton step: a weighted Gram matrix and its Cholesky factor.
// Written here, in a fixed order of summation, because a threaded BLAS gives other bits for another number of threads.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "rows.hpp"

namespace pairsift {

// out += sum_k weights_k x_k x_k^T, lower triangle only. Rows are gathered in panels of four so that the big matrix is
// passed over once for four rows.
template <class Value>
void add_weighted_gram(const DenseRows<Value>& x, const double* weights /* in */, double* out /* in and out */) {
    const std::int64_t d = x.n_columns;
    std::vector<double> panel(4 * d), scaled(4 * d);
    int filled = 0;
    auto flush = [&] {
        for (std::int64_t r = 0; r < d; ++r) {
            double* to = out + r * d;
            const double a0 = scaled[r], a1 = scaled[d + r], a2 = scaled[2 * d + r], a3 = scaled[3 * d + r];
            for (std::int64_t c = 0; c <= r; ++c)
                to[c] += ((a0 * panel[c] + a1 * panel[d + c]) + a2 * panel[2 * d + c]) + a3 * panel[3 * d + c];
        }
        filled = 0;
    };
    for (std::int64_t k = 0; k < x.n_rows; ++k) {
        if (weights[k] == 0) continue;
        const Value* row = x.row(k);
        for (std::int64_t c = 0; c < d; ++c) {
            panel[filled * d + c] = static_cast<double>(row[c]);
            scaled[filled * d + c] = weights[k] * static_cast<double>(row[c]);
        }
        if (++filled == 4) flush();
    }
    if (filled > 0) {
        for (std::int64_t c = filled * d; c < 4 * d; ++c) panel[c] = scaled[c] = 0;
        flush();
    }
}

template <class Value, class Index>
void add_weighted_gram(const CsrRows<Value, Index>& x, const double* weights /* in */, double* out /* in and out */) {
    for (std::int64_t k = 0; k < x.n_rows; ++k) {
        if (weights[k] == 0) continue;
        for (Index a = x.starts[k]; a < x.starts[k + 1]; ++a) {
            double* to = out + static_cast<std::int64_t>(x.columns[a]) * x.n_columns;
            const double scaled = weights[k] * static_cast<double>(x.values[a]);
            for (Index b = x.starts[k]; b <= a; ++b) to[x.columns[b]] += scaled * static_cast<double>(x.values[b]);
        }
    }
}

// Replaces the lower triangle of the symmetric matrix a by its Cholesky factor. False when a pivot is not positive.
inline bool cholesky(double* a /* in and out: n x n */, std::int64_t n) {
    for (std::int64_t r = 0; r < n; ++r) {
        double* row = a + r * n;
        for (std::int64_t c = 0; c <= r; ++c) {
            const DenseRows<double> head{a + c * n, 1, c};
            const double rest = row[c] - head.dot(0, row);
            if (c < r) {
                row[c] = rest / a[c * n + c];
            } else {
                if (!(rest > 0)) return false;
                row[r] = std::sqrt(rest);
            }
        }
    }
    return true;
}

// Solves L L^T x = b in place.
inline void cholesky_solve(const double* l /* in: n x n */, std::int64_t n, double* b /* in and out */) {
    for (std::int64_t r = 0; r < n; ++r) {
        const DenseRows<double> head{l + r * n, 1, r};
        b[r] = (b[r] - head.dot(0, b)) / l[r * n + r];
    }
    for (std::int64_t r = n - 1; r >= 0; --r) {
        b[r] /= l[r * n + r];
        for (std::int64_t c = 0; c < r; ++c) b[c] -= l[r * n + c] * b[r];
    }
}

}  // namespace pairsift
