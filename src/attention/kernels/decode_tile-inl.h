// The sizes of what the decode kernel computes at a time.
#if defined(REGARD_ATTENTION_KERNELS_DECODE_TILE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef REGARD_ATTENTION_KERNELS_DECODE_TILE_INL_H_
#undef REGARD_ATTENTION_KERNELS_DECODE_TILE_INL_H_
#else
#define REGARD_ATTENTION_KERNELS_DECODE_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include "attention/kernels/decode_ops.h"
#include "attention/kernels/register_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Whether this pass builds the decode kernel.
#undef REGARD_DECODES
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_HAVE_SCALABLE
#define REGARD_DECODES 0
#else
#define REGARD_DECODES 1
#endif

// Whether the queries of a few rows can stay in registers.
#undef REGARD_KEEPS_QUERIES
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86_64
#define REGARD_KEEPS_QUERIES 1
#else
#define REGARD_KEEPS_QUERIES 0
#endif
// A tile of rows x keys has one sum per score, 4 x 4 of 32 registers or 2 x 4
// of 16, and the 4 loaded keys; a tile of rows x value vectors 16 (8) sums.
constexpr int64_t kTileKeys = 4;
#if REGARD_32_REGISTERS
constexpr int kMaxTileRows = 4;
constexpr int kTileSums = 16;
#else
constexpr int kMaxTileRows = 2;
constexpr int kTileSums = 8;
#endif

// Few rows are bound by memory. What they read, they read in order of
// addresses, one key after the other: the hardware then fetches ahead by
// itself, better than when it is told to. More rows are bound by arithmetic,
// whose best order is another one: for them lines are fetched, evenly and in
// order of addresses too. Up to these row counts the first way was the faster
// one; of values it takes sums of 2 rows x 8 vectors. Rows that lie elsewhere
// are fetched for all.
#if HWY_TARGET <= HWY_AVX3
template <class Cells>
constexpr bool kIsNarrow = sizeof(typename Cells::Stored) <= 2;
template <class Cells>
constexpr int64_t kStreamedScoreRows = kIsNarrow<Cells> ? 2 : 6;
template <class Cells>
constexpr int64_t kUnfetchedValueRows = kIsNarrow<Cells> ? 2 : 8;
constexpr int64_t kStreamedValueRows = 8;
// Up to this many rows of some head sizes stay in registers while all keys pass
// by. Elements that are converted meet more rows at a time without that.
template <class Cells>
constexpr int64_t kKeptRows = Cells::kPair == 2  ? kDecodeStripRows
                              : kIsNarrow<Cells> ? 2
                                                 : 4;
#else
template <class Cells>
constexpr int64_t kStreamedScoreRows = 2;
template <class Cells>
constexpr int64_t kUnfetchedValueRows = 0;
constexpr int64_t kStreamedValueRows = 0;
#endif

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
