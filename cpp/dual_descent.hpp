// Dual coordinate descent for a linear SVM whose terms have each a weight of their own.
//
//   primal   min_w  P(w) = 1/2 |w|^2 + sum_k U_k [1 - w . z_k]_+
//   dual     max_a  D(a) = sum_k a_k - 1/2 |sum_k a_k z_k|^2,   0 <= a_k <= U_k
//
// where z_k = s_k x_k is a row of the matrix with its sign, and, with a threshold theta, one more column c_k:
// w . z_k = s_k (w . x_k) + c_k theta, and theta is regularised like w. Pairs have c = 0, positive points c = -1, negative
// points c = +1 (the paper's extended vectors).
//
// Given: rows x, signs s (or none), c (or none), U, |z_k|^2, a (a warm start, clipped to the box), a seed for the order of the
// passes. Returned: a, w = sum a_k z_k, theta, and the certificate P(w) - D(a), which is the sum over k of
//   U_k [1 - w . z_k]_+ + a_k (w . z_k - 1)  >= 0.
//
// `steer` is the short form for rounds whose w only guides the next draw: it takes w and its squared length along instead of
// summing them anew, and returns the estimated gap in place of the certificate, so that its cost is that of its passes alone.
// Of the `known` first terms, which were visited in rounds before, those at a bound (nine of ten, commonly) mostly stay
// there, and the others hardly move: a part of them is visited, other ones each turn, and stands for all of them in the
// estimate.
//
// Hsieh, Chang, Lin, Keerthi, Sundararajan (ICML 2008), algorithm 3 with its shrinking. What differs: the stopping rule is the
// relative gap. While a pass runs, the gap is estimated from the margins that are computed anyway; the true one is
// computed, over all terms, only when the estimate says that it will pass.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "random.hpp"
#include "rows.hpp"

namespace pairsift {

struct DualOutcome {
    double primal, dual, gap;  // gap = primal - dual, summed term by term so that it does not cancel
    std::int64_t passes;
    bool converged;
};

template <class Rows>
class DualDescent {
public:
    DualDescent(const Rows& rows, const double* signs, const double* constants, const double* upper, const double* norm2,
                double* alpha, double* w, double* theta)
        : rows_(rows), signs_(signs), constants_(constants), upper_(upper), norm2_(norm2), alpha_(alpha), w_(w),
          theta_(theta), n_(rows.n_rows), active_(n_) {}

    DualOutcome steer(double tol, std::int64_t max_passes, std::uint64_t seed, std::int64_t known, std::int64_t turn,
                      double w_norm2) {
        Random random(seed);
        w_norm2_ = w_norm2;
        clip();
        known_ = known;
        turns_at_bound_ = std::clamp<std::int64_t>(known / kTermsATurn, 1, kTurnsAtBound);
        turns_inside_ = std::clamp<std::int64_t>(known / kTermsATurnInside, 1, kTurnsInside);
        activate_some(turn);
        DualOutcome outcome{};
        for (std::int64_t pass = 1; pass <= max_passes && !outcome.converged; ++pass) {
            // A term at its bound that wants to stay there adds nothing to the gap: it waits for the next choice of terms.
            shrink_above_ = shrink_below_ = 0;
            const double visited = run_pass(random), estimate = visited + waiting_, primal = dual_value() + estimate;
            outcome = {primal, dual_value(), estimate, pass, estimate <= tol * primal};
            counts_for_waiting_ = false;
            if (visited <= 0.5 * tol * primal) activate_some(++turn);  // the rest is with terms that wait
        }
        return outcome;
    }

    DualOutcome solve(double tol, std::int64_t max_passes, std::uint64_t seed) {
        Random random(seed);
        restore_w();
        activate_all();
        DualOutcome outcome{};
        double promise = 0.7 * tol;  // the estimate lags behind the true gap: ask a little more of it
        double widen_at = 0;
        haste_ = tol < kTight ? kCareful : kHasty;
        for (std::int64_t pass = 1; pass <= max_passes && !outcome.converged; ++pass) {
            const bool all = n_active_ == n_;
            const double estimate = run_pass(random);
            if (all) widen_at = haste_.widen * estimate;
            const bool promising = estimate <= promise * (dual_value() + estimate);
            if (promising || pass == max_passes) {
                if (tol < kTight) restore_w();  // thousands of updates have left their rounding in w
                outcome = certificate(tol);
                promise *= 0.7;
            }
            // Terms were put aside by margins that are old by now. Solving what is left far beyond that would be in vain.
            if (promising || estimate <= widen_at) activate_all();
            outcome.passes = pass;
        }
        if (max_passes < 1) outcome = certificate(tol);
        return outcome;
    }

private:
    static constexpr double kTight = 1e-6;
    // A term is put aside when its gradient holds it at its bound by more than `lean` times the worst violation, and all
    // terms are looked at again when the gap has fallen to `widen` of what it was. Putting aside early and looking back
    // seldom pays at loose tolerances (WSVM on mnist: 0.58 s to 0.35 s, on no set slower); at tight ones terms come back.
    struct Haste {
        double lean, widen;
    };
    static constexpr Haste kCareful{1.0, 0.2}, kHasty{0.1, 0.1};

    // In how many turns all known terms are visited that are at a bound, or inside their box: fewer while there are few, which
    // cost little and whose w is looked at (validation). On no set did the test AUC depend on it (tools/measure_steering.py).
    static constexpr std::int64_t kTurnsAtBound = 20, kTurnsInside = 5, kTermsATurn = 250, kTermsATurnInside = 1000;

    double sign(std::int64_t k) const { return signs_ ? signs_[k] : 1.0; }
    double constant(std::int64_t k) const { return constants_ ? constants_[k] : 0.0; }
    double margin(std::int64_t k) const { return sign(k) * rows_.dot(k, w_) + constant(k) * *theta_; }
    double dual_value() const { return alpha_sum_ - 0.5 * w_norm2_; }

    void activate_all() {
        n_active_ = n_;
        for (std::int64_t k = 0; k < n_; ++k) active_[k] = k;
        shrink_above_ = std::numeric_limits<double>::infinity();
        shrink_below_ = -shrink_above_;
    }

    std::int64_t turns(std::int64_t k) const {
        return alpha_[k] <= 0 || alpha_[k] >= upper_[k] ? turns_at_bound_ : turns_inside_;
    }

    // All terms that are new, and those of the others whose turn it is.
    void activate_some(std::int64_t turn) {
        n_active_ = 0;
        waiting_ = 0;
        counts_for_waiting_ = true;
        for (std::int64_t k = 0; k < n_; ++k)
            if (k >= known_ || (k + turn) % turns(k) == 0) active_[n_active_++] = k;
    }

    // Brings a into its box, and w and |w|^2 along; sums a_k.
    void clip() {
        alpha_sum_ = 0;
        for (std::int64_t k = 0; k < n_; ++k) {
            const double clipped = std::min(std::max(alpha_[k], 0.0), upper_[k]);
            if (clipped != alpha_[k]) move(k, clipped, margin(k));
            alpha_sum_ += clipped;
        }
    }

    // w = sum a_k z_k from nothing.
    void restore_w() {
        std::fill(w_, w_ + rows_.n_columns, 0.0);
        *theta_ = alpha_sum_ = 0;
        for (std::int64_t k = 0; k < n_; ++k) {
            alpha_[k] = std::min(std::max(alpha_[k], 0.0), upper_[k]);
            alpha_sum_ += alpha_[k];
            if (alpha_[k] != 0) add_to_w(k, alpha_[k]);
        }
        w_norm2_ = *theta_ * *theta_ + DenseRows<double>{w_, 1, rows_.n_columns}.dot(0, w_);
    }

    void add_to_w(std::int64_t k, double step) {
        rows_.axpy(k, sign(k) * step, w_);
        *theta_ += constant(k) * step;
    }

    DualOutcome certificate(double tol) const {
        double loss = 0, gap = 0;
        for (std::int64_t k = 0; k < n_; ++k) {
            const double gradient = margin(k) - 1;
            const double hinge = upper_[k] * std::max(0.0, -gradient);
            loss += hinge;
            gap += hinge + alpha_[k] * gradient;
        }
        gap = std::max(gap, 0.0);
        const double primal = 0.5 * w_norm2_ + loss;
        return {primal, primal - gap, gap, 0, gap <= tol * primal};
    }

    // One visit of every active term in random order. Returns the estimated gap.
    double run_pass(Random& random) {
        for (std::int64_t t = n_active_ - 1; t > 0; --t) std::swap(active_[t], active_[random.below(t + 1)]);
        double estimate = 0, highest = -std::numeric_limits<double>::infinity(), lowest = -highest;
        for (std::int64_t t = 0; t < n_active_;) {
            const std::int64_t k = active_[t];
            const double m = margin(k), gradient = m - 1, a = alpha_[k], upper = upper_[k];
            const double gap = upper * std::max(0.0, -gradient) + a * gradient;
            estimate += gap;
            if (counts_for_waiting_ && k < known_) waiting_ += (turns(k) - 1) * gap;
            double projected = gradient;
            if (a <= 0) {
                if (gradient > shrink_above_) {
                    std::swap(active_[t], active_[--n_active_]);
                    continue;
                }
                projected = std::min(gradient, 0.0);
            } else if (a >= upper) {
                if (gradient < shrink_below_) {
                    std::swap(active_[t], active_[--n_active_]);
                    continue;
                }
                projected = std::max(gradient, 0.0);
            }
            highest = std::max(highest, projected);
            lowest = std::min(lowest, projected);
            if (projected != 0) update(k, m, gradient);
            ++t;
        }
        shrink_above_ = highest > 0 ? haste_.lean * highest : std::numeric_limits<double>::infinity();
        shrink_below_ = lowest < 0 ? haste_.lean * lowest : -std::numeric_limits<double>::infinity();
        return estimate;
    }

    void update(std::int64_t k, double m, double gradient) {
        const double old = alpha_[k];
        // A term without length (two equal rows) has the constant loss 1: its multiplier belongs at the upper bound.
        const double wanted = norm2_[k] > 0 ? old - gradient / norm2_[k] : upper_[k];
        const double next = std::min(std::max(wanted, 0.0), upper_[k]);
        if (next != old) move(k, next, m);
    }

    // a_k = next, where the margin of term k is m.
    void move(std::int64_t k, double next, double m) {
        const double step = next - alpha_[k];
        alpha_[k] = next;
        add_to_w(k, step);
        alpha_sum_ += step;
        w_norm2_ += step * (2 * m + step * norm2_[k]);
    }

    const Rows& rows_;
    const double *signs_, *constants_, *upper_, *norm2_;
    double *alpha_, *w_, *theta_;
    std::int64_t n_, n_active_ = 0, known_ = 0, turns_at_bound_ = 1, turns_inside_ = 1;
    std::vector<std::int64_t> active_;
    Haste haste_ = kCareful;
    double shrink_above_ = 0, shrink_below_ = 0, alpha_sum_ = 0, w_norm2_ = 0;
    double waiting_ = 0;  // the estimated gap of the terms whose turn it is not, as the first pass of a turn tells it
    bool counts_for_waiting_ = false;
};

}  // namespace pairsift
