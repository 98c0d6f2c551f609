// Pages that sequences take, share and give back.
#ifndef REGARD_SRC_ATTENTION_CACHE_PAGE_POOL_H_
#define REGARD_SRC_ATTENTION_CACHE_PAGE_POOL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "regard/tensor.h"

namespace regard::inline v0 {

// Every page is free, or stands in the table of the sequences that use it. No
// function but the constructor allocates or fails: who calls it has looked.
class PagePool {
 public:
  // Of no pages.
  PagePool() = default;
  PagePool(int64_t sequences, int64_t pages_per_sequence, int64_t pages);

  int64_t pages() const { return static_cast<int64_t>(users_.size()); }
  int64_t free() const { return static_cast<int64_t>(free_.size()); }
  // [sequences, pages_per_sequence]; -1 where there is none.
  TensorView table() const { return {table_.data(), table_shape_}; }
  int64_t At(int64_t sequence, int64_t i) const;
  bool IsShared(int64_t sequence, int64_t i) const {
    return Users(sequence, i) > 1;
  }
  size_t bytes() const;

  // A free page becomes page i of the sequence, which had none.
  void Take(int64_t sequence, int64_t i);
  // Page i of the sequence is one user fewer; free when it was the last.
  void Leave(int64_t sequence, int64_t i);
  // The first `count` pages of `from` become those of `to`, too.
  void Share(int64_t from, int64_t to, int64_t count);

  // For counting ahead: as if one user of page i had left it, or come back.
  void Discount(int64_t sequence, int64_t i) { --Users(sequence, i); }
  void Recount(int64_t sequence, int64_t i) { ++Users(sequence, i); }

 private:
  int64_t& Entry(int64_t sequence, int64_t i);
  const int32_t& Users(int64_t sequence, int64_t i) const;
  int32_t& Users(int64_t sequence, int64_t i);

  Dims table_shape_ = {0, 0};
  std::vector<int64_t> table_, free_;
  std::vector<int32_t> users_;  // of each page
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_CACHE_PAGE_POOL_H_
