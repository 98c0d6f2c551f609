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
// counts later keys. Unset: no limit on that side. The first `first_keys` keys
// stay visible however far back they are (StreamingLLM: Xiao et al. 2024);
// `right` holds for them too.
struct WindowMask {
  std::optional<int64_t> left, right;
  int64_t first_keys = 0;
};

// Per-batch lengths, one number per batch entry; an empty list means "all".
// Queries at or past their length are empty rows; keys past theirs are hidden
// (and never read).
struct LengthsMask {
  std::vector<int64_t> query, key;
};

// Sequences side by side in one: key j is visible when query i and key j have
// the same id. i32 or i64 [Lq] and [Lk], or [B, Lq] and [B, Lk], in any order;
// ids that grow with the position are fastest. The memory stays the caller's.
struct DocumentMask {
  TensorView query, key;
};

// Whole blocks: key j is visible when layout[b, h, i / query_block, j /
// key_block] is not 0. bool or u8, [ceil(Lq / query_block), ceil(Lk /
// key_block)], with leading axes B and Hq or what broadcasts to them. i and j
// count from 0 whatever the query offset. The memory stays the caller's.
struct BlockSparseMask {
  TensorView layout;
  int64_t query_block = 0, key_block = 0;
};

// Any pattern, one bit a key, the least significant one first: bit j % 8 of
// byte j / 8 of a row. u8 [..., Lq, ceil(Lk / 8)], whose stride over Lq is the
// row stride in bytes; the axes before the last broadcast to [B, Hq, Lq] by
// numpy rules. Bits behind Lk mean nothing. The memory stays the caller's.
struct BitMask {
  TensorView bytes;
};

// Any pattern: bool or u8 (0 or not 0), broadcast to [B, Hq, Lq, Lk] by numpy
// rules from ranks 0 to 4. The memory stays the caller's.
struct BooleanMask {
  TensorView allowed;
};

using MaskTerm =
    std::variant<CausalMask, PrefixMask, ChunkMask, WindowMask, LengthsMask,
                 DocumentMask, BlockSparseMask, BitMask, BooleanMask>;

class Mask {
 public:
  Mask() = default;  // everything is visible
  explicit Mask(MaskTerm term);

  static Mask Full() { return Mask(); }
  static Mask Causal() { return Mask(CausalMask{}); }
  static Mask Prefix(int64_t keys) { return Mask(PrefixMask{keys}); }
  static Mask Chunk(int64_t size) { return Mask(ChunkMask{size}); }
  static Mask Window(std::optional<int64_t> left, std::optional<int64_t> right,
                     int64_t first_keys = 0) {
    return Mask(WindowMask{left, right, first_keys});
  }
  static Mask Lengths(std::vector<int64_t> query, std::vector<int64_t> key) {
    return Mask(LengthsMask{std::move(query), std::move(key)});
  }
  static Mask Documents(TensorView query, TensorView key) {
    return Mask(DocumentMask{query, key});
  }
  static Mask BlockSparse(TensorView layout, int64_t query_block,
                          int64_t key_block) {
    return Mask(BlockSparseMask{layout, query_block, key_block});
  }
  static Mask Bits(TensorView bytes) { return Mask(BitMask{bytes}); }
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
