#include "attention/cache/page_pool.h"

#include "base/checked.h"

namespace regard::inline v0 {

PagePool::PagePool(int64_t sequences, int64_t pages_per_sequence, int64_t pages)
    : table_shape_{sequences, pages_per_sequence},
      table_(static_cast<size_t>(
                 CheckedMul(sequences, pages_per_sequence, "block table")),
             -1),
      users_(static_cast<size_t>(pages), 0) {
  // The last one is taken first: page 0, then 1, ...
  free_.reserve(users_.size());
  for (int64_t page = pages - 1; page >= 0; --page) free_.push_back(page);
}

int64_t& PagePool::Entry(int64_t sequence, int64_t i) {
  return table_[static_cast<size_t>(sequence * table_shape_[1] + i)];
}

int64_t PagePool::At(int64_t sequence, int64_t i) const {
  return table_[static_cast<size_t>(sequence * table_shape_[1] + i)];
}

const int32_t& PagePool::Users(int64_t sequence, int64_t i) const {
  return users_[static_cast<size_t>(At(sequence, i))];
}

int32_t& PagePool::Users(int64_t sequence, int64_t i) {
  return users_[static_cast<size_t>(At(sequence, i))];
}

size_t PagePool::bytes() const {
  return (table_.capacity() + free_.capacity()) * sizeof(int64_t) +
         users_.capacity() * sizeof(int32_t);
}

void PagePool::Take(int64_t sequence, int64_t i) {
  const int64_t page = free_.back();
  free_.pop_back();
  Entry(sequence, i) = page;
  users_[static_cast<size_t>(page)] = 1;
}

void PagePool::Leave(int64_t sequence, int64_t i) {
  if (--Users(sequence, i) == 0) free_.push_back(At(sequence, i));
  Entry(sequence, i) = -1;
}

void PagePool::Share(int64_t from, int64_t to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    Entry(to, i) = At(from, i);
    ++Users(to, i);
  }
}

}  // namespace regard::inline v0
