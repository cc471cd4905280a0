// Sums over all pairs of a positive and a negative, in one sweep over their sorted scores.
//
// With p_i the scores of positives, b_j = 1 + (the scores of negatives), weights u_i and v_j, and the shortfall
// z_ij = b_j - p_i = 1 - (margin), the loss of a pair is
//
//   phi(z) = 0                 z <= 0
//            z^2 / (2 width)   0 < z <= width     the pair is inside
//            z - width / 2     z > width          the pair is past
//
// so that width = 0 is the hinge and a width in between its smoothed form; width = infinity stands for z^2, the squared hinge.
//
// A sweep visits targets (say the positives, from the highest score down) and keeps sums over the sources (the negatives with
// b_j > p_i) as the reference point `at` moves: with delta = how far it moves,
//
//   sum v z^2 += delta (2 sum v z + delta sum v),   sum v z += delta sum v.
//
// Every term is non-negative: the value comes out to full relative precision, where differences of prefix sums of b and b^2
// would cancel. Only what leaves the inside is subtracted, and it has then been counted, as past, with no less.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace pairsift {

struct SortedScores {
    const double* values;       // ascending
    const std::int64_t* order;  // the place of each in the caller's arrays
    const double* weights;      // by place, or null: all one
    std::int64_t n;

    double weight(std::int64_t k) const { return weights ? weights[order[k]] : 1.0; }
};

// Neumaier's compensated sum.
class Total {
public:
    void add(double x) {
        const double t = sum_ + x;
        lost_ += std::abs(sum_) >= std::abs(x) ? (sum_ - t) + x : (x - t) + sum_;
        sum_ = t;
    }
    double value() const { return sum_ + lost_; }

private:
    double sum_ = 0, lost_ = 0;
};

// The sources of a sweep, in the order in which they come inside. `Time` runs forward.
//   positives as targets, from the top:    time = -score, sources b_j descending
//   negatives as targets, from the bottom: time = +score, sources p_i ascending
// Whether a pair is past is decided by one comparison, p_i < b_j - width, for both, so that they agree on every pair.
struct DownOverNegatives {
    const SortedScores &targets, &sources;  // positives, negatives (values b_j)
    double width;
    std::int64_t target(std::int64_t t) const { return targets.n - 1 - t; }
    std::int64_t source(std::int64_t k) const { return sources.n - 1 - k; }
    double target_time(std::int64_t t) const { return -targets.values[target(t)]; }
    double enter_time(std::int64_t k) const { return -sources.values[source(k)]; }
    double leave_time(std::int64_t k) const { return -(sources.values[source(k)] - width); }
    bool past(std::int64_t k, std::int64_t t) const { return targets.values[target(t)] < sources.values[source(k)] - width; }
};

struct UpOverPositives {
    const SortedScores &targets, &sources;  // negatives (values b_j), positives
    double width;
    std::int64_t target(std::int64_t t) const { return t; }
    std::int64_t source(std::int64_t k) const { return k; }
    double target_time(std::int64_t t) const { return targets.values[t]; }
    double enter_time(std::int64_t k) const { return sources.values[k]; }
    double leave_time(std::int64_t k) const { return sources.values[k] + width; }
    bool past(std::int64_t k, std::int64_t t) const { return sources.values[k] < targets.values[t] - width; }
};

// Calls sums.enter(source), sums.leave(source), sums.advance(time) and visit(target) in the order of time.
template <class Direction, class Sums, class Visit>
void sweep(const Direction& way, Sums& sums, Visit visit) {
    std::int64_t entered = 0, left = 0;
    if (way.sources.n > 0) sums.start(way.enter_time(0));
    for (std::int64_t t = 0; t < way.targets.n; ++t) {
        const double now = way.target_time(t);
        for (;;) {
            const bool enters = entered < way.sources.n && way.enter_time(entered) < now;
            const bool leaves = left < entered && way.past(left, t);
            if (enters && !(leaves && way.leave_time(left) < way.enter_time(entered))) {
                sums.advance(way.enter_time(entered));
                sums.enter(way.source(entered++));
            } else if (leaves) {
                sums.advance(std::min(way.leave_time(left), now));
                sums.leave(way.source(left++));
                if (left == entered) sums.none_inside();
            } else {
                break;
            }
        }
        sums.advance(now);
        visit(way.target(t));
    }
}

// Sums of v, v z, v z^2 over the sources inside, and of v, v (z - width) over those past.
struct ShortfallSums {
    const SortedScores& sources;
    double width;
    double at = 0, inside0 = 0, inside1 = 0, inside2 = 0, past0 = 0, past1 = 0;

    void start(double time) { at = time; }
    void advance(double time) {
        const double delta = time - at;
        if (!(delta > 0)) return;
        inside2 += delta * (2 * inside1 + delta * inside0);
        inside1 += delta * inside0;
        past1 += delta * past0;
        at = time;
    }
    void enter(std::int64_t k) { inside0 += sources.weight(k); }
    void leave(std::int64_t k) {
        const double v = sources.weight(k);
        inside0 = std::max(inside0 - v, 0.0);
        inside1 = std::max(inside1 - v * width, 0.0);
        inside2 = std::max(inside2 - v * width * width, 0.0);
        past0 += v;
    }
    void none_inside() { inside0 = inside1 = inside2 = 0; }

    bool squared() const { return std::isinf(width); }
    double value() const {
        if (squared()) return inside2;
        return past1 + 0.5 * width * past0 + (width > 0 ? inside2 / (2 * width) : 0.0);
    }
    double slope() const { return squared() ? 2 * inside1 : past0 + (width > 0 ? inside1 / width : 0.0); }
    double curvature() const { return squared() ? 2 * inside0 : width > 0 ? inside0 / width : 0.0; }
    double hinge() const { return inside1 + past1 + (past0 > 0 ? width * past0 : 0.0); }
    // sum v (z - z phi'(z)), z > 0: what the multipliers phi' lack of the hinge; meant for a finite width.
    double slack() const { return width > 0 && !squared() ? std::max(inside1 - inside2 / width, 0.0) : 0.0; }
};

struct PairTotals {
    double value, hinge, slack;
};

// For each place: the derivative of sum u_i v_j phi(z_ij) by p_i and by b_j, and the sums of phi'' over its pairs.
inline PairTotals sum_pairs(const SortedScores& p, const SortedScores& b, double width, double* slope_p /* out */,
                            double* slope_b /* out */, double* curvature_p /* out */, double* curvature_b /* out */) {
    Total value, hinge, slack;
    ShortfallSums over_b{b, width};
    sweep(DownOverNegatives{p, b, width}, over_b, [&](std::int64_t k) {
        const double u = p.weight(k);
        value.add(u * over_b.value());
        hinge.add(u * over_b.hinge());
        slack.add(u * over_b.slack());
        slope_p[p.order[k]] = -u * over_b.slope();
        curvature_p[p.order[k]] = u * over_b.curvature();
    });
    ShortfallSums over_p{p, width};
    sweep(UpOverPositives{b, p, width}, over_p, [&](std::int64_t k) {
        const double v = b.weight(k);
        slope_b[b.order[k]] = v * over_p.slope();
        curvature_b[b.order[k]] = v * over_p.curvature();
    });
    return {value.value(), hinge.value(), slack.value()};
}

// Sums of v and v d over the sources inside.
struct DirectionSums {
    const SortedScores& sources;
    const double* d;  // by place
    double weight = 0, weighted = 0;

    void start(double) {}
    void advance(double) {}
    void enter(std::int64_t k) {
        weight += sources.weight(k);
        weighted += sources.weight(k) * d[sources.order[k]];
    }
    void leave(std::int64_t k) {
        weight = std::max(weight - sources.weight(k), 0.0);
        weighted -= sources.weight(k) * d[sources.order[k]];
    }
    void none_inside() { weight = weighted = 0; }
};

// (h_p, h_b) = second derivative of sum u_i v_j phi(z_ij) times (d_p, d_b): a graph Laplacian over the pairs inside.
inline void curvature_product(const SortedScores& p, const SortedScores& b, double width, const double* d_p /* in */,
                              const double* d_b /* in */, double* h_p /* out */, double* h_b /* out */) {
    const double scale = std::isinf(width) ? 2.0 : width > 0 ? 1 / width : 0.0;
    DirectionSums over_b{b, d_b}, over_p{p, d_p};
    sweep(DownOverNegatives{p, b, width}, over_b, [&](std::int64_t k) {
        const std::int64_t i = p.order[k];
        h_p[i] = scale * p.weight(k) * (over_b.weight * d_p[i] - over_b.weighted);
    });
    sweep(UpOverPositives{b, p, width}, over_p, [&](std::int64_t k) {
        const std::int64_t j = b.order[k];
        h_b[j] = scale * b.weight(k) * (over_p.weight * d_b[j] - over_p.weighted);
    });
}

}  // namespace pairsift
