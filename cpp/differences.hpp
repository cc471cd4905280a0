// The rows of the chosen pool: x_i - x_j for a pair, x_i for a positive point (j = -1), -x_j for a negative point (i = -1).
//
// They are written out once, in float64 and one after the other, because the dual solver reads each of them hundreds of
// times: two scattered rows a visit would cost more than the copy does. Only chosen terms are ever written.
#pragma once

#include "rows.hpp"

namespace pairsift {

template <class Value>
void write_differences(const DenseRows<Value>& x, const std::int64_t* i /* in */, const std::int64_t* j /* in */,
                       std::int64_t n, double* out /* out: n x n_columns */) {
    for (std::int64_t t = 0; t < n; ++t) {
        double* row = out + t * x.n_columns;
        const Value* plus = i[t] < 0 ? nullptr : x.row(i[t]);
        const Value* minus = j[t] < 0 ? nullptr : x.row(j[t]);
        for (std::int64_t c = 0; c < x.n_columns; ++c)
            row[c] = (plus ? static_cast<double>(plus[c]) : 0.0) - (minus ? static_cast<double>(minus[c]) : 0.0);
    }
}

// Merges the two sorted index lists. Columns where both values are equal vanish. `starts[0]` is given; `starts[t + 1]` is
// written. The caller reserves nnz(x_i) + nnz(x_j) places for each term.
template <class Value, class Index>
void write_differences(const CsrRows<Value, Index>& x, const std::int64_t* i /* in */, const std::int64_t* j /* in */,
                       std::int64_t n, double* values /* out */, Index* columns /* out */, Index* starts /* in and out */) {
    Index to = starts[0];
    auto put = [&](Index column, double value) {
        if (value == 0) return;
        columns[to] = column;
        values[to] = value;
        ++to;
    };
    for (std::int64_t t = 0; t < n; ++t) {
        Index a = i[t] < 0 ? 0 : x.starts[i[t]], a_end = i[t] < 0 ? 0 : x.starts[i[t] + 1];
        Index b = j[t] < 0 ? 0 : x.starts[j[t]], b_end = j[t] < 0 ? 0 : x.starts[j[t] + 1];
        while (a < a_end || b < b_end) {
            if (b == b_end || (a < a_end && x.columns[a] < x.columns[b])) {
                put(x.columns[a], static_cast<double>(x.values[a]));
                ++a;
            } else if (a == a_end || x.columns[b] < x.columns[a]) {
                put(x.columns[b], -static_cast<double>(x.values[b]));
                ++b;
            } else {
                put(x.columns[a], static_cast<double>(x.values[a]) - static_cast<double>(x.values[b]));
                ++a, ++b;
            }
        }
        starts[t + 1] = to;
    }
}

}  // namespace pairsift
