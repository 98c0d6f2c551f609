// Keys and values of the past, for decoding: what attention was given stays
// here, and new rows are appended to it.
//
//   KvCache cache = KvCache::Contiguous({.sequences = 4, .kv_heads = 8,
//                                        .key_size = 128, .value_size = 128},
//                                       4096);
//   AttentionProblem problem;
//   cache.Bind(problem);                       // k, v, key_lengths
//   AttentionPlan plan(problem);               // for the full capacity
//   for (...) {
//     cache.Append(k, v);                      // [4, 8, 1, 128]
//     plan.Run(problem, outputs);              // allocates nothing
//   }
//
// Three ways to store them:
//
//   contiguous  every sequence has memory for `capacity` keys
//   ring        only the first keys and a window of the last ones are kept: a
//               sequence never ends
//   paged       sequences take pages from a pool as they grow, and share those
//               that a fork has in common until one of them writes
//
// Key j of a sequence is the j-th that was appended to it, whatever has been
// evicted since: masks, ALiBi and offsets use this true position. Attention
// over a cache has the bits of attention over the same keys in one array.
#ifndef REGARD_KV_CACHE_H_
#define REGARD_KV_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "regard/attention.h"

namespace regard::inline v0 {

// Sizes are >= 0.
struct KvCacheSizes {
  int64_t sequences = 1;
  int64_t kv_heads = 0;
  int64_t key_size = 0;    // D
  int64_t value_size = 0;  // Dv
  // Of what is stored: f32, bf16, f16 or f64, to which what is appended is
  // rounded, to nearest even. i8: a row of a head is its elements times an f32
  // scale, of which the largest magnitude is 127; a row that isn't finite
  // becomes NaN.
  DType dtype = DType::kF32;
};

// All functions throw Error (kArgument) with "KvCache::Function: argument"
// before anything is changed. None allocates but those that make a cache. Not
// to be changed from two threads at once, nor while attention runs on it.
class KvCache {
 public:
  // Up to `capacity` keys in each sequence.
  static KvCache Contiguous(const KvCacheSizes& sizes, int64_t capacity);

  // The first `first_keys` keys and, of the others, those that a query sees
  // whose window counts `window` keys, itself included, when up to
  // `longest_append` keys are appended in one step: the last window +
  // longest_append - 1. Bound problems need Mask::Window(window, ...,
  // first_keys), or a narrower one. More rows may be appended at once: then the
  // older ones of their queries can't be asked for any more.
  static KvCache Ring(const KvCacheSizes& sizes, int64_t window,
                      int64_t first_keys, int64_t longest_append);

  // Up to `capacity` keys in each sequence, in pages of `page_rows` keys out of
  // a pool of `pages` for all of them.
  static KvCache Paged(const KvCacheSizes& sizes, int64_t capacity,
                       int64_t pages, int64_t page_rows);

  ~KvCache();
  KvCache(KvCache&&) noexcept;
  KvCache& operator=(KvCache&&) noexcept;

  // New rows behind those of every sequence: k [S, Hkv, n, D], v [S, Hkv, n,
  // Dv], any floating types and strides.
  void Append(const TensorView& k, const TensorView& v);
  // As many for each as it has packed rows: k [1, Hkv, total, D], v alike,
  // starts i32 or i64 [S + 1] as AttentionProblem::query_starts.
  void AppendPacked(const TensorView& k, const TensorView& v,
                    const TensorView& starts);
  // To one sequence: k [1, Hkv, n, D], v alike.
  void AppendTo(int64_t sequence, const TensorView& k, const TensorView& v);

  // Forgets the keys from `length` on; pages that hold none go back to the
  // pool. A ring refuses where the window of the next query has been
  // overwritten.
  void Trim(int64_t sequence, int64_t length);
  // `to`, which must be empty, begins with the first `length` keys of `from`:
  // shared pages, copies elsewhere. A ring copies all of `from` or nothing.
  void Fork(int64_t from, int64_t to, int64_t length);
  void Fork(int64_t from, int64_t to) { Fork(from, to, length(from)); }

  // Makes all sequences, or those from `first` on, the keys and values of a
  // problem: sets k, v, key_lengths, block_table and ring, clears key_starts.
  // The views stay valid, and follow what is appended, until the cache is
  // destroyed; a move keeps them.
  void Bind(AttentionProblem& problem) const;
  void Bind(AttentionProblem& problem, int64_t first, int64_t sequences) const;

  // Copies the keys [begin, begin + n) of a sequence into k [1, Hkv, n, D] and
  // v [1, Hkv, n, Dv], of any floating type and strides. Error where some of
  // them have been evicted.
  void Read(int64_t sequence, int64_t begin, const MutableTensorView& k,
            const MutableTensorView& v) const;

  const KvCacheSizes& sizes() const;
  // Keys that were appended and not trimmed: the position of the next one.
  int64_t length(int64_t sequence) const;
  // The first key behind the ring's first keys that is still held; 0 where
  // nothing has been evicted.
  int64_t oldest(int64_t sequence) const;
  // Keys that a sequence may have; for a ring, that it holds at a time.
  int64_t capacity() const;
  int64_t pages() const;       // 0 where there are none
  int64_t free_pages() const;  // that no sequence uses
  // Of all memory that it holds, taken when it is made.
  size_t bytes() const;

 private:
  struct State;
  explicit KvCache(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace regard::inline v0

#endif  // REGARD_KV_CACHE_H_
