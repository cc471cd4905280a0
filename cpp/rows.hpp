// Rows of a matrix, dense or compressed sparse, and the few operations that every solver is written in.
//
//   dot(k, w)       w . x_k
//   axpy(k, a, w)   w += a x_k
//   norm2(k)        |x_k|^2
//   key(k, seed)    64 bits that depend on what the row holds and on the seed
//   good(k)         every value is finite and (sparse) the columns are in range and strictly ascending
//
// The other three trust their row: `good` is asked before a row of unknown origin is used (data/rows.py).
// Data may be float32 or float64; sums are always float64. The order of summation is fixed and does not depend on the
// machine or the number of threads, so the same data give the same bits. Several accumulators are used because a single
// chain of additions waits four cycles for each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pairsift {

// The finisher of splitmix64.
inline std::uint64_t mix_bits(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

// What a value adds to the key of its row: nothing for 0, so that dense and sparse rows have one key; a sum, so that the
// order of the columns does not count.
inline std::uint64_t cell_key(std::uint64_t seed, std::uint64_t column, double value) {
    if (value == 0) return 0;
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return mix_bits(bits ^ (seed + (column + 1) * 0x9e3779b97f4a7c15ULL));
}

// x - x is 0 for a finite number and NaN otherwise; the sum of the differences keeps any NaN.
template <class Value>
bool all_finite(const Value* x, std::int64_t n) {
    Value sum[4] = {0, 0, 0, 0};
    std::int64_t t = 0;
    for (; t + 4 <= n; t += 4)
        for (int lane = 0; lane < 4; ++lane) sum[lane] += x[t + lane] - x[t + lane];
    for (; t < n; ++t) sum[0] += x[t] - x[t];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]) == 0;
}

template <class Value>
struct DenseRows {
    const Value* values;  // n_rows x n_columns, row after row
    std::int64_t n_rows;
    std::int64_t n_columns;

    const Value* row(std::int64_t k) const { return values + k * n_columns; }

    double dot(std::int64_t k, const double* w) const {
        const Value* x = row(k);
        double sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        std::int64_t c = 0;
        for (; c + 8 <= n_columns; c += 8)
            for (int lane = 0; lane < 8; ++lane) sum[lane] += static_cast<double>(x[c + lane]) * w[c + lane];
        for (int lane = 0; c < n_columns; ++c, ++lane) sum[lane] += static_cast<double>(x[c]) * w[c];
        return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
    }

    void axpy(std::int64_t k, double a, double* w) const {
        const Value* x = row(k);
        for (std::int64_t c = 0; c < n_columns; ++c) w[c] += a * static_cast<double>(x[c]);
    }

    double norm2(std::int64_t k) const {
        const Value* x = row(k);
        double sum = 0;
        for (std::int64_t c = 0; c < n_columns; ++c) sum += static_cast<double>(x[c]) * static_cast<double>(x[c]);
        return sum;
    }

    std::uint64_t key(std::int64_t k, std::uint64_t seed) const {
        const Value* x = row(k);
        std::uint64_t sum = 0;
        for (std::int64_t c = 0; c < n_columns; ++c)
            sum += cell_key(seed, static_cast<std::uint64_t>(c), static_cast<double>(x[c]));
        return mix_bits(sum + seed);
    }

    bool good(std::int64_t k) const { return all_finite(row(k), n_columns); }
};

template <class Value, class Index>
struct CsrRows {
    const Value* values;
    const Index* columns;
    const Index* starts;  // n_rows + 1
    std::int64_t n_rows;
    std::int64_t n_columns;
    std::int64_t n_values;

    double dot(std::int64_t k, const double* w) const {
        double sum[4] = {0, 0, 0, 0};
        Index at = starts[k];
        const Index end = starts[k + 1];
        for (; at + 4 <= end; at += 4)
            for (int lane = 0; lane < 4; ++lane) sum[lane] += static_cast<double>(values[at + lane]) * w[columns[at + lane]];
        for (int lane = 0; at < end; ++at, ++lane) sum[lane] += static_cast<double>(values[at]) * w[columns[at]];
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }

    void axpy(std::int64_t k, double a, double* w) const {
        for (Index at = starts[k]; at < starts[k + 1]; ++at) w[columns[at]] += a * static_cast<double>(values[at]);
    }

    double norm2(std::int64_t k) const {
        double sum = 0;
        for (Index at = starts[k]; at < starts[k + 1]; ++at)
            sum += static_cast<double>(values[at]) * static_cast<double>(values[at]);
        return sum;
    }

    std::uint64_t key(std::int64_t k, std::uint64_t seed) const {
        std::uint64_t sum = 0;
        for (Index at = starts[k]; at < starts[k + 1]; ++at)
            sum += cell_key(seed, static_cast<std::uint64_t>(columns[at]), static_cast<double>(values[at]));
        return mix_bits(sum + seed);
    }

    bool good(std::int64_t k) const {
        const Index start = starts[k], end = starts[k + 1];
        if (start < 0 || end < start || end > n_values) return false;
        Index last = -1;
        for (Index at = start; at < end; ++at) {
            if (columns[at] <= last || columns[at] >= n_columns) return false;
            last = columns[at];
        }
        return all_finite(values + start, end - start);
    }
};

// scores[t] = w . x_{rows[t]}
template <class Rows>
void score_rows(const Rows& x, const std::int64_t* rows /* in */, std::int64_t n, const double* w /* in */,
                double* scores /* out */) {
    for (std::int64_t t = 0; t < n; ++t) scores[t] = x.dot(rows[t], w);
}

// scores[k - start] = w . x_k for start <= k < stop
template <class Rows>
void score_range(const Rows& x, std::int64_t start, std::int64_t stop, const double* w /* in */,
                 double* scores /* out */) {
    for (std::int64_t k = start; k < stop; ++k) scores[k - start] = x.dot(k, w);
}

// The first row that is not good, or -1.
template <class Rows>
std::int64_t first_bad_row(const Rows& x, const std::int64_t* rows /* in */, std::int64_t n) {
    for (std::int64_t t = 0; t < n; ++t)
        if (!x.good(rows[t])) return rows[t];
    return -1;
}

template <class Rows>
std::int64_t first_bad_in_range(const Rows& x, std::int64_t start, std::int64_t stop) {
    for (std::int64_t k = start; k < stop; ++k)
        if (!x.good(k)) return k;
    return -1;
}

// norms[k - start] = |x_k|^2 for start <= k < stop
template <class Rows>
void squared_norms(const Rows& x, std::int64_t start, std::int64_t stop, double* norms /* out */) {
    for (std::int64_t k = start; k < stop; ++k) norms[k - start] = x.norm2(k);
}

// keys[k] = the key of x_k, for all rows
template <class Rows>
void row_keys(const Rows& x, std::uint64_t seed, std::uint64_t* keys /* out */) {
    for (std::int64_t k = 0; k < x.n_rows; ++k) keys[k] = x.key(k, seed);
}

// w += sum_k a_{k - start} x_k over the rows start <= k < stop with a != 0
template <class Rows>
void add_range(const Rows& x, std::int64_t start, std::int64_t stop, const double* a /* in */, double* w /* in and out */) {
    for (std::int64_t k = start; k < stop; ++k)
        if (a[k - start] != 0) x.axpy(k, a[k - start], w);
}

// w += sum_k a_k x_k over all rows with a_k != 0
template <class Rows>
void add_combination(const Rows& x, const double* a /* in */, double* w /* in and out */) {
    for (std::int64_t k = 0; k < x.n_rows; ++k)
        if (a[k] != 0) x.axpy(k, a[k], w);
}

// The given rows one behind the other: values and columns from starts[t] on.
template <class Value, class Index>
void gather_rows(const CsrRows<Value, Index>& x, const std::int64_t* rows /* in */, std::int64_t n,
                 const Index* starts /* in */, Value* values /* out */, Index* columns /* out */) {
    for (std::int64_t t = 0; t < n; ++t) {
        const Index from = x.starts[rows[t]], to = x.starts[rows[t] + 1];
        std::copy(x.values + from, x.values + to, values + starts[t]);
        std::copy(x.columns + from, x.columns + to, columns + starts[t]);
    }
}

}  // namespace pairsift
