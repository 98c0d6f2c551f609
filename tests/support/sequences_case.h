// Random problems of several sequences of different lengths, in every way in
// which their keys may be stored, beside the same sequences one by one.
#ifndef REGARD_TESTS_SUPPORT_SEQUENCES_CASE_H_
#define REGARD_TESTS_SUPPORT_SEQUENCES_CASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "regard/attention.h"

namespace regard::inline v0 {

enum class KeyStorage { kPacked, kCapacity, kPages, kRing, kPagedRing };
inline constexpr KeyStorage kKeyStorages[] = {
    KeyStorage::kPacked, KeyStorage::kCapacity, KeyStorage::kPages,
    KeyStorage::kRing, KeyStorage::kPagedRing};
const char* NameOf(KeyStorage storage);

struct SequencesRequest {
  uint64_t seed = 0;
  DType dtype = DType::kF32;
  KeyStorage storage = KeyStorage::kPacked;
  bool packed_queries = true;  // else all have equally many
};

// Memory behind lengths, in pages that nobody uses and around everything is
// NaN; entries of tables behind a length lead nowhere.
class SequencesCase {
 public:
  explicit SequencesCase(const SequencesRequest& request);

  const AttentionProblem& problem() const { return problem_; }
  int64_t sequences() const {
    return static_cast<int64_t>(query_lengths_.size());
  }
  // Sequence s alone, contiguous.
  AttentionProblem Alone(int64_t s) const;
  // Rows of sequence s in an output [1 or S, Hq, Lq, ...].
  TensorView RowsOf(int64_t s, const TensorView& output) const;
  const std::string& description() const { return description_; }

 private:
  struct Shape;
  void MakeLengths(const SequencesRequest& request, Shape& shape);
  void MakeKeys(const SequencesRequest& request, const Shape& shape);
  void MakeMask(const Shape& shape);

  AttentionProblem problem_;
  std::string description_;
  std::vector<int64_t> query_lengths_, key_lengths_;
  std::vector<int64_t> query_starts_, key_starts_;
  std::vector<Tensor> keys_, values_;  // of each sequence, [1, Hkv, L, D]
  Tensor q_, k_, v_, table_, lengths_, mask_, bias_, ids_q_, ids_k_;
  uint64_t state_ = 0;
};

}  // namespace regard::inline v0

#endif  // REGARD_TESTS_SUPPORT_SEQUENCES_CASE_H_
