// The scale, the softcap and the base of the exponential as kernels apply them.
#ifndef REGARD_SRC_ATTENTION_SCORE_SCALE_H_
#define REGARD_SRC_ATTENTION_SCORE_SCALE_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace regard::inline v0 {

// q k^T is computed with a power of two and the sign of the scale folded into q
// (exact): one of at most 1, so that neither q nor a sum leaves the range of T
// where the score does not. The rest of the scale multiplies the difference of
// a score and its maximum, together with log2(e): large scores keep their
// exactness. Where softcap or bias need the score itself, it is multiplied out
// first.
template <typename T>
struct ScaleParts {
  double folded;
  T rest;            // multiplies q k^T before softcap and bias
  T log2_scale;      // takes differences of scores to exponents of 2
  double lse_scale;  // takes a maximum of scores to natural units
  T cap;             // 0: none

  ScaleParts(double scale, double softcap, bool explicit_scores) {
    int exponent = 0;  // |scale| = mantissa * 2^exponent, mantissa in [1/2, 1)
    const double mantissa = std::frexp(std::fabs(scale), &exponent);
    // No sum is longer than 2^kFolded; the rest fits the exponents of T.
    constexpr int kFolded = 32, kRest = 100;
    const int rest_exponent =
        std::clamp(exponent - std::clamp(exponent, -kFolded, 1), -kRest, kRest);
    folded = scale == 0
                 ? 0
                 : std::copysign(std::ldexp(1.0, exponent - 1 - rest_exponent),
                                 scale);
    double factor = scale == 0 ? 1 : std::ldexp(2 * mantissa, rest_exponent);
    rest = explicit_scores ? static_cast<T>(factor) : T{1};
    if (explicit_scores) factor = 1;
    log2_scale = static_cast<T>(factor * std::numbers::log2e);
    lse_scale = factor;
    // Past the range of T a cap caps nothing; below it, everything.
    constexpr double kLargest = std::numeric_limits<T>::max();
    cap = softcap > kLargest ? T{0} : static_cast<T>(softcap);
    if (softcap != 0 && softcap <= kLargest) {
      cap = std::max(cap, std::numeric_limits<T>::min());
    }
  }

  // Natural logarithm of the sum of exponentials, from the maximum of a row and
  // its sum of 2^(log2_scale * (score - max)).
  double LogSumExp(T max, T sum) const {
    if (sum == 0) return -std::numeric_limits<double>::infinity();
    return lse_scale * static_cast<double>(max) +
           std::log(static_cast<double>(sum));
  }
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_SCORE_SCALE_H_
