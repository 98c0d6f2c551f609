// Asking for memory before it is read.
#if defined(REGARD_ATTENTION_KERNELS_FETCH_AHEAD_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef REGARD_ATTENTION_KERNELS_FETCH_AHEAD_INL_H_
#undef REGARD_ATTENTION_KERNELS_FETCH_AHEAD_INL_H_
#else
#define REGARD_ATTENTION_KERNELS_FETCH_AHEAD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "attention/kernels/decode_ops.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Bytes between what is used and what is fetched.
constexpr int64_t kBytesAhead = 8192;
// All fetching stops at a page whose address has not been translated yet, which
// takes a virtual machine as long as reading half of the page: so one line of
// every page is fetched long before the others.
constexpr int64_t kPageBytesAhead = 32768;

// Rows in one place that are too few for the hardware to find out how they
// follow each other.
constexpr int64_t kShortRun = 32;

constexpr int64_t kLineBytes = 64;
constexpr int kPageBits = 12;

// To the second-level cache, where vectors are wide: many more lines can be on
// their way there than to the first, and what is read in order of addresses the
// hardware brings nearer. Narrower ones have it faster from the first.
HWY_INLINE void FetchLine(uintptr_t at) {
#if HWY_TARGET <= HWY_AVX3
  constexpr int kLevel = 2;
#else
  constexpr int kLevel = 3;
#endif
  __builtin_prefetch(reinterpret_cast<const void*>(at), 0, kLevel);
}

// Rows of keys or values. Addresses are numbers, since some lie behind the last
// row: fetching them does no harm.
class MemoryRows {
 public:
  // `count` rows of `columns` elements of `size` bytes.
  MemoryRows(const StoredRows& rows, int64_t count, int64_t columns,
             int64_t size)
      : at_(reinterpret_cast<uintptr_t>(rows.first)),
        next_(reinterpret_cast<uintptr_t>(rows.next)),
        stride_(rows.stride * size),
        bytes_(HWY_MAX(columns, 1) * size),
        count_(count) {
    ahead_ = HWY_MAX(kBytesAhead / bytes_, 1);
    if (rows.next != nullptr) ahead_ = HWY_MIN(ahead_, count);
  }

  // The row that is fetched while row i is used: in the next rows, where it is
  // none of these and those are known.
  uintptr_t Ahead(int64_t i) const {
    i += ahead_;
    return next_ == 0 || i < count_ ? Row(i) : RowFrom(next_, i - count_);
  }
  // Whether it is fetched even where the hardware does well by itself: at the
  // end of these rows, and where they are few.
  bool IsFetched(int64_t i) const {
    return next_ != 0 && (count_ <= kShortRun || i + ahead_ >= count_);
  }
  int64_t stride() const { return stride_; }
  int64_t bytes() const { return bytes_; }

  // Has the addresses of `count` rows translated that will be read when
  // kPageBytesAhead more have been.
  HWY_INLINE void FetchPages(int64_t row, int64_t count) {
    const int64_t first = row + kPageBytesAhead / bytes_;
    for (int64_t i = first; i < first + count; ++i) {
      const uintptr_t at = Row(i);
      if (((at ^ page_) >> kPageBits) == 0) continue;
      FetchLine(at);
      page_ = at;
    }
  }

 private:
  uintptr_t RowFrom(uintptr_t first, int64_t i) const {
    return first + static_cast<uintptr_t>(i * stride_);
  }
  uintptr_t Row(int64_t i) const { return RowFrom(at_, i); }

  uintptr_t at_, next_;
  int64_t stride_, bytes_, count_, ahead_;
  uintptr_t page_ = 0;
};

// Fetches `count` rows in order of addresses, evenly over the `shares` of the
// work that goes on meanwhile.
class Fetcher {
 public:
  Fetcher() = default;
  // The rows that belong to those from `first` on.
  Fetcher(const MemoryRows& rows, int64_t first, int64_t count, int64_t shares)
      : at_(rows.Ahead(first)),
        end_(at_ + static_cast<uintptr_t>(rows.bytes())),
        stride_(rows.stride()),
        bytes_(rows.bytes()),
        count_(count),
        shares_(shares) {}

  // `shares` more of the work begin: that many more rows may be fetched.
  HWY_INLINE void Begin(int64_t shares) {
    if (count_ == 0) return;
    const int64_t before = count_ * begun_ / shares_;
    begun_ += shares;
    allowed_ += count_ * begun_ / shares_ - before;
  }

  // Fetches up to `lines` lines.
  HWY_INLINE void Lines(int64_t lines) {
    for (; lines > 0 && allowed_ > 0; --lines) {
      FetchLine(at_);
      at_ += kLineBytes;
      if (at_ >= end_) {
        end_ += static_cast<uintptr_t>(stride_);
        at_ = end_ - static_cast<uintptr_t>(bytes_);
        --allowed_;
      }
    }
  }

 private:
  uintptr_t at_ = 0, end_ = 0;
  int64_t stride_ = 0, bytes_ = 0;
  int64_t count_ = 0, shares_ = 1, begun_ = 0, allowed_ = 0;
};

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
