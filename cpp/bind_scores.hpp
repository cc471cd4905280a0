// How binding files take sorted scores.
#pragma once

#include <nanobind/stl/optional.h>

#include <optional>

#include "all_pairs.hpp"
#include "bindings.hpp"

namespace pairsift {

inline SortedScores sorted_scores(const In<double>& values, const In<std::int64_t>& order,
                                  const std::optional<In<double>>& weights) {
    require(length(values) == length(order) && (!weights || length(*weights) == length(values)),
            "all pairs: values, order and weights must be of one length");
    require_rows(order, length(values));
    return {values.data(), order.data(), weights ? weights->data() : nullptr, length(values)};
}

}  // namespace pairsift
