// Which query may look at which key: a closed value, composed by intersection.
//
//   Mask mask = Mask::Causal() & Mask::Window(256, std::nullopt);
//
// true always means "may attend". Positions: query i stands at position
// i + offset (AttentionProblem::query_offset), key j at position j.
#ifndef REGARD_MASK_H_
#define REGARD_MASK_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
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

// [begin, end)
struct IndexRange {
  int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
  friend IndexRange operator&(IndexRange a, IndexRange b) {
    return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
  }
  bool operator==(const IndexRange&) const = default;
};

// A block of queries x a block of keys; neither empty.
struct ScoreTile {
  IndexRange queries, keys;
};

enum class TileClass { kEmpty, kMixed, kFull };

// Whose scores are meant, and where they stand.
struct MaskFrame {
  int64_t batch = 0, head = 0;  // query head
  int64_t query_length = 0, key_length = 0;
  int64_t offset = 0;  // position of query 0
};

// A mask of your own. Queries and keys are counted from 0; query i stands at
// position i + frame.offset. The answers must follow from the arguments alone:
// they are asked for from several threads, in any order and number.
//
// Cost: Range and Classify are asked for every tile of a few queries x 512
// keys, Allows for every pair of a mixed tile that lies in the range of its
// row: a call through a table beside the 2 D / 16 vector operations of a score.
// A mask that leaves Range and Classify as they are is right, but saves no
// work.
class MaskFunction {
 public:
  virtual ~MaskFunction() = default;
  // Whether the query may attend to the key.
  virtual bool Allows(const MaskFrame& frame, int64_t query,
                      int64_t key) const noexcept = 0;
  // A part of `keys` outside which none of these queries sees any of them.
  // More queries or more keys must never make it smaller. What no query sees is
  // not read.
  virtual IndexRange Range(const MaskFrame&, IndexRange /*queries*/,
                           IndexRange keys) const noexcept {
    return keys;
  }
  // kEmpty and kFull are promises; kMixed is always right.
  virtual TileClass Classify(const MaskFrame&,
                             const ScoreTile&) const noexcept {
    return TileClass::kMixed;
  }
};

struct CustomMask {
  std::shared_ptr<const MaskFunction> function;
};

using MaskTerm = std::variant<CausalMask, PrefixMask, ChunkMask, WindowMask,
                              LengthsMask, DocumentMask, BlockSparseMask,
                              BitMask, BooleanMask, CustomMask>;

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
  static Mask Custom(std::shared_ptr<const MaskFunction> function) {
    return Mask(CustomMask{std::move(function)});
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
