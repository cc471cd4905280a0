// Stochastic gradient on a mix of pairs and points (CRR: Sculley 2010, "Combined regression and ranking").
//
//   min_w  1/2 |w|^2 + C * mean over the drawn terms of their loss
//
// A term is a pair of rows (i, j) with the hinge loss [1 - w.(x_i - x_j)]_+, or a point, written as a pair without its
// other row: (i, -1) is a positive point, (-1, j) a negative one. A point has the hinge loss [1 - y w.x]_+ or the squared
// loss 1/2 (y - w.x)^2. With a threshold each row has a constant feature 1 more, which cancels in pairs.
//
// Step t = 1, 2, ... with lambda = 1 / C and Pegasos' step size eta_t = C / t is
//
//   w_t = (1 - 1/t) w_{t-1} + eta_t g_t          g_t: minus the gradient of the term's loss at w_{t-1}
//
// Times t / C this reads u_t = u_{t-1} + g_t for u_t = t w_t / C: the shrinking of w is never carried out, u is the plain
// sum of the g_t, and a step costs the stored values of its rows. (A scale kept beside w, as sofia-ml has it, is the same
// and drifts by rounding.)
//
// The squared loss has no bounded gradient, and the first steps, C, C / 2, ..., blow up. Its step is cut at 1 / |x|^2, which
// puts the row's score on its target.
//
// Given: rows, the terms, the number of steps made before. Returned: u (and its constant feature), how many terms moved it.
#pragma once

#include <cstdint>

#include "rows.hpp"

namespace pairsift {

template <class Rows>
class CombinedSgd {
public:
    CombinedSgd(const Rows& x, double C, bool squared, bool threshold, double* u /* in and out */,
                double* u_constant /* in and out */)
        : x_(x), C_(C), squared_(squared), constant_(threshold ? 1.0 : 0.0), u_(u), u_constant_(u_constant) {}

    // Makes n steps after `done` earlier ones.
    std::int64_t run(const std::int64_t* i /* in */, const std::int64_t* j /* in */, std::int64_t n, std::int64_t done) {
        std::int64_t moved = 0;
        for (std::int64_t s = 0; s < n; ++s) {
            const double t = static_cast<double>(done + s + 1);
            if (i[s] >= 0 && j[s] >= 0)
                moved += pair_step(i[s], j[s], t);
            else if (i[s] >= 0)
                moved += point_step(i[s], 1.0, t);
            else
                moved += point_step(j[s], -1.0, t);
        }
        return moved;
    }

private:
    // w_{t-1} = scale(t) u_{t-1}; before the first step both are zero.
    double scale(double t) const { return t > 1 ? C_ / (t - 1) : 0.0; }

    bool pair_step(std::int64_t i, std::int64_t j, double t) {
        if (scale(t) * (x_.dot(i, u_) - x_.dot(j, u_)) >= 1) return false;
        x_.axpy(i, 1.0, u_);
        x_.axpy(j, -1.0, u_);
        return true;
    }

    bool point_step(std::int64_t k, double y, double t) {
        const double score = x_.dot(k, u_) + constant_ * *u_constant_;
        const double a = squared_ ? squared_step(k, y, score, t) : (y * scale(t) * score < 1 ? y : 0.0);
        if (a == 0) return false;
        x_.axpy(k, a, u_);
        *u_constant_ += a * constant_;
        return true;
    }

    // min(1, t / (C |x|^2)) (y - scale(t) score), written so that a large C does not overflow.
    double squared_step(std::int64_t k, double y, double score, double t) const {
        const double norm2 = x_.norm2(k) + constant_;
        if (C_ * norm2 <= t) return y - scale(t) * score;
        return (t / C_ * y - (t > 1 ? t / (t - 1) * score : 0.0)) / norm2;
    }

    const Rows& x_;
    const double C_;
    const bool squared_;
    const double constant_;
    double* u_;
    double* u_constant_;
};

}  // namespace pairsift
