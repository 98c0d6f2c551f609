#include "attention/score/score_terms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "attention/score/alibi.h"
#include "attention/score/bias.h"
#include "attention/score/broadcast.h"

namespace regard::inline v0 {

template <typename T>
ScoreTerms<T>::ScoreTerms(const Problem& problem, const FlashOps<T>& ops)
    : p_(problem),
      ops_(ops),
      explicit_(problem.bias.given() || problem.alibi_slopes.given() ||
                problem.softcap != 0),
      scale_(problem.scale, problem.softcap, explicit_) {}

template <typename T>
void ScoreTerms<T>::Apply(const ScoreRow& row, IndexRange keys, T* s,
                          T* memory) const {
  if (scale_.rest != 1 || scale_.cap != 0) {
    ops_.cap(s, keys.end - keys.begin, scale_.rest, scale_.cap);
  }
  if (p_.bias.given()) AddBias(row, keys, s, memory);
  if (p_.alibi_slopes.given()) AddAlibi(row, keys, s, memory);
}

// In place where its elements lie side by side in a type that the instruction
// set reads.
template <typename T>
void ScoreTerms<T>::AddBias(const ScoreRow& row, IndexRange keys, T* s,
                            T* memory) const {
  const int64_t count = std::min(keys.end, row.key_length) - keys.begin;
  if (count <= 0) return;
  const BroadcastRow at = RowOf(p_.bias, row.sequence, row.head, row.query);
  const int64_t first = at.offset + keys.begin * at.stride;
  if (at.stride == 1 && p_.bias.dtype == DTypeOf<T>()) {
    ops_.add(s, static_cast<const T*>(p_.bias.data) + first, count);
  } else if (at.stride == 1 && p_.bias.dtype == DType::kBF16 &&
             ops_.add_bf16 != nullptr) {
    ops_.add_bf16(s, static_cast<const uint16_t*>(p_.bias.data) + first, count);
  } else {
    LoadBias(p_.bias, row.sequence, row.head, row.query, keys.begin, count,
             memory);
    ops_.add(s, memory, count);
  }
}

template <typename T>
RowsAhead ScoreTerms<T>::BiasAhead(int64_t sequence, int64_t head,
                                   int64_t query, int64_t key) const {
  if (!p_.bias.given()) return {};
  return AheadOf(p_.bias, sequence, head, query, key, 1);
}

template <typename T>
void ScoreTerms<T>::AddAlibi(const ScoreRow& row, IndexRange keys, T* s,
                             T* memory) const {
  const double slope = HeadNumber(p_.alibi_slopes, row.head);
  const int64_t count = keys.end - keys.begin;
  const double first =
      static_cast<double>(row.position) - static_cast<double>(keys.begin);
  const double last = first - static_cast<double>(count);
  const double farthest = std::max(std::fabs(first), std::fabs(last));
  // Whole numbers up to here are exact in T.
  constexpr double kExact = std::is_same_v<T, float> ? 0x1p24 : 0x1p53;
  const bool fits = std::fabs(slope) * std::max(farthest, 1.0) <
                    static_cast<double>(std::numeric_limits<T>::max()) / 2;
  if (farthest < kExact && fits) {
    ops_.add_linear(s, count, slope, static_cast<T>(first));
  } else {
    LoadAlibi(slope, row.position, keys.begin, count, memory);
    ops_.add(s, memory, count);
  }
}

template class ScoreTerms<float>;
template class ScoreTerms<double>;

}  // namespace regard::inline v0
