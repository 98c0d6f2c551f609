// Which query may look at which key: a closed value, composed by intersection.
//
//   Mask mask = Mask::Causal() & Mask::Window(256, std::nullopt);
//
// true always means "may attend". Positions: query i stands at position
// i + offset (AttentionProblem::query_offset), key j at position j.
#ifndef REGARD_MASK_H_
#define REGARD_MASK_H_

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "regard/tensor.h"

namespace regard::inline v0 {

// Key j is visible to query i when j <= i + offset.
struct CausalMask {};

// Key j is visible to query i when j < keys or j <= i + offset: both ways
// within the prefix, causal behind it. 0 is causal; negative numbers are
// refused. (Prefix LM: Raffel et al. 2020, section 3.1.1.)
struct PrefixMask {
  int64_t keys = 0;
};

// Positions are cut into chunks of `size` (1 or more), from position 0 on; a
// query sees the keys of its own chunk, later ones too: intersect with Causal.
struct ChunkMask {
  int64_t size = 0;
};

// Key j is visible when i + offset - j < left and j - (i + offset) <= right.
// `left` counts the query itself: 1 sees only itself, 0 is refused. `right`
// counts later keys. Unset: no limit on that side.
struct WindowMask {
  std::optional<int64_t> left, right;
};

// Per-batch lengths, one number per batch entry; an empty list means "all".
// Queries at or past their length are empty rows; keys past theirs are hidden
// (and never read).
struct LengthsMask {
  std::vector<int64_t> query, key;
};

// Any pattern: bool or u8 (0 or not 0), broadcast to [B, Hq, Lq, Lk] by numpy
// rules from ranks 0 to 4. The memory stays the caller's.
struct BooleanMask {
  TensorView allowed;
};

using MaskTerm = std::variant<CausalMask, PrefixMask, ChunkMask, WindowMask,
                              LengthsMask, BooleanMask>;

class Mask {
 public:
  Mask() = default;  // everything is visible
  explicit Mask(MaskTerm term);

  static Mask Full() { return Mask(); }
  static Mask Causal() { return Mask(CausalMask{}); }
  static Mask Prefix(int64_t keys) { return Mask(PrefixMask{keys}); }
  static Mask Chunk(int64_t size) { return Mask(ChunkMask{size}); }
  static Mask Window(std::optional<int64_t> left,
                     std::optional<int64_t> right) {
    return Mask(WindowMask{left, right});
  }
  static Mask Lengths(std::vector<int64_t> query, std::vector<int64_t> key) {
    return Mask(LengthsMask{std::move(query), std::move(key)});
  }
  static Mask Boolean(TensorView allowed) { return Mask(BooleanMask{allowed}); }

  // Intersection: visible only where both agree.
  friend Mask operator&(Mask a, const Mask& b) { return a.And(b); }

  const std::vector<MaskTerm>& terms() const { return terms_; }

 private:
  Mask And(const Mask& other);

  std::vector<MaskTerm> terms_;
};

}  // namespace regard::inline v0

#endif  // REGARD_MASK_H_
