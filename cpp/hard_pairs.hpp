// The hard samplers: the unchosen pairs with the lowest closeness |m| or correctness -[1 - m]_+, m = s_i - s_j.
//
// For one positive i, walking through the negatives in sorted order visits its pairs in ascending measure: outwards in both
// directions from s_i for closeness, from the highest negative downwards for correctness. A heap holds the next
// measure of every positive, so the pairs come out in the order (measure, i, j) after O(N log N + (b + |L*|) log N) work and
// without an enumeration. Pairs of one positive with equal measure (equal scores, or all pairs that are right
// already) come out as one group, in ascending j.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "pair_set.hpp"

namespace pairsift {

enum class Measure { closeness, correctness };

class HardPairs {
public:
    // negative_scores ascending; negative_places[t] is the place of the t-th of them.
    HardPairs(Measure measure, const double* positive_scores, std::int64_t n_positive, const double* negative_scores,
              const std::int64_t* negative_places, std::int64_t n_negative, const PairSet& chosen)
        : measure_(measure), positive_(positive_scores), negative_(negative_scores), places_(negative_places),
          n_negative_(n_negative), chosen_(chosen), walks_(n_positive) {
        std::vector<Next> first;
        first.reserve(n_positive);
        for (std::int64_t i = 0; i < n_positive; ++i) {
            const std::int64_t from = measure_ == Measure::closeness
                                          ? std::lower_bound(negative_, negative_ + n_negative_, positive_[i]) - negative_
                                          : n_negative_;
            walks_[i] = {from - 1, from};
            if (has_next(i)) first.push_back({next_measure(i), i});
        }
        heap_ = Heap(Later{}, std::move(first));
    }

    // Writes up to `count` pairs and returns how many there were.
    std::int64_t take(std::int64_t count, std::int64_t* i_out /* out */, std::int64_t* j_out /* out */) {
        std::int64_t taken = 0;
        std::vector<std::int64_t> group;
        while (taken < count && !heap_.empty()) {
            const auto [measure, i] = heap_.top();
            heap_.pop();
            collect_group(i, measure, group);
            const std::int64_t wanted = std::min<std::int64_t>(count - taken, group.size());
            std::partial_sort(group.begin(), group.begin() + wanted, group.end());
            for (std::int64_t t = 0; t < wanted; ++t, ++taken) i_out[taken] = i, j_out[taken] = group[t];
            if (has_next(i)) heap_.push({next_measure(i), i});
        }
        return taken;
    }

private:
    struct Walk {
        std::int64_t down, up;  // the next negatives below and above
    };
    using Next = std::pair<double, std::int64_t>;  // measure, i
    using Later = std::greater<Next>;
    using Heap = std::priority_queue<Next, std::vector<Next>, Later>;

    bool can_go_down(std::int64_t i) const { return walks_[i].down >= 0; }
    bool can_go_up(std::int64_t i) const { return walks_[i].up < n_negative_; }
    bool has_next(std::int64_t i) const { return can_go_down(i) || can_go_up(i); }

    double value(std::int64_t i, std::int64_t t) const {
        const double m = positive_[i] - negative_[t];
        return measure_ == Measure::closeness ? std::abs(m) : -std::max(0.0, 1 - m);
    }

    double next_measure(std::int64_t i) const {
        if (!can_go_up(i)) return value(i, walks_[i].down);
        if (!can_go_down(i)) return value(i, walks_[i].up);
        return std::min(value(i, walks_[i].down), value(i, walks_[i].up));
    }

    // The unchosen places j whose pair with i has this measure; the walk moves past them.
    void collect_group(std::int64_t i, double measure, std::vector<std::int64_t>& group) {
        group.clear();
        auto put = [&](std::int64_t t) {
            if (!chosen_.contains(i, places_[t])) group.push_back(places_[t]);
        };
        while (can_go_down(i) && value(i, walks_[i].down) == measure) put(walks_[i].down--);
        while (can_go_up(i) && value(i, walks_[i].up) == measure) put(walks_[i].up++);
    }

    Measure measure_;
    const double *positive_, *negative_;
    const std::int64_t* places_;
    std::int64_t n_negative_;
    const PairSet& chosen_;
    std::vector<Walk> walks_;
    Heap heap_;
};

}  // namespace pairsift
