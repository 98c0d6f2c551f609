// Copies of q, k and v in the order in which the kernels read them.
#ifndef REGARD_SRC_ATTENTION_PACK_H_
#define REGARD_SRC_ATTENTION_PACK_H_

#include <cstdint>
#include <span>

#include "attention/kernels/pack_ops.h"
#include "attention/mask/mask_set.h"
#include "attention/rows.h"

namespace regard::inline v0 {

// Whether none of them is infinite or NaN.
template <typename T>
bool AllFinite(const T* values, int64_t count);

// to[i * width + d] = from[first + i, d] for i in [0, count) and d < columns; 0
// for d in [columns, width).
template <typename T>
void CopyRows(const Rows& from, int64_t first, int64_t count, int64_t columns,
              int64_t width, T* to);

// What kernels must know of the values of a key block.
enum class ValueClass : uint8_t {
  kOrdinary,
  // Finite, but some so large that their sum may overflow, or some -0, or some
  // subnormal ones that products in pairs take for 0.
  kUnusual,
  kNotFinite,  // some NaN or infinity
};

// Packs for the tile loop. Packed memory consists of cells of type T: an
// element each or, in pairs, two of bf16, the first in the lower half:
// neighbours in depth of q and k, neighbouring keys of v. Where there is none
// stands 0.
template <typename T>
class Packer {
 public:
  // In pairs, T is float, and q, k and v are bf16.
  Packer(const PackOps<T>& ops, bool pairs) : ops_(ops), pairs_(pairs) {}

  // Elements of a cell.
  int64_t pair() const { return pairs_ ? 2 : 1; }
  int64_t CellsOf(int64_t elements) const {
    return (elements + pair() - 1) / pair();
  }

  // to[d * strip_rows + r] = factor * q[rows.begin + r, d], d counting cells; 0
  // past rows.end. The factor is a power of two of at most 1, or 0.
  void Queries(const Rows& q, IndexRange rows, int64_t depth,
               int64_t strip_rows, double factor, T* to) const;

  // Panels of `panel` keys: to[(j / panel) * cells * panel + d * panel + j %
  // panel] = k[first + j, d] for j in [0, count) and d in [0, cells); 0 for
  // keys outside the ranges `seen`, parts of [first, first + count), which are
  // never read.
  void Keys(const Rows& k, int64_t first, int64_t count,
            std::span<const IndexRange> seen, int64_t depth, int64_t panel,
            T* to) const;

  // Panels of `panel` columns, one after the other, each [count /
  // pair()][panel] (the last one narrower when `padded_columns` is not a
  // multiple of `panel`). Columns from `columns` on, and keys outside `seen`,
  // are 0.
  ValueClass Values(const Rows& v, int64_t first, int64_t count,
                    std::span<const IndexRange> seen, int64_t columns,
                    int64_t padded_columns, int64_t panel, T* to) const;

 private:
  struct Piece;
  struct Group;
  class Seen;
  const T* PieceOf(const Rows& rows, int64_t row, Piece piece, T* memory) const;
  const T* PairsOf(const Rows& rows, int64_t row, Piece piece, T* memory) const;
  const uint16_t* HalvesOf(const Rows& rows, int64_t row, Piece piece,
                           uint16_t* memory) const;
  void Convert(const Rows& rows, int64_t row, Piece piece, T* to) const;
  void Columns(const Rows& rows, const Group& group, int64_t depth,
               double factor, int64_t width, T* to, int64_t step) const;
  Group GroupOf(int64_t first, int64_t count, Seen& seen) const;
  bool ValuesOf(const Rows& v, const Group& group, int64_t at,
                const ValuePanels& panels, T* to) const;

  const PackOps<T>& ops_;
  const bool pairs_;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_PACK_H_
