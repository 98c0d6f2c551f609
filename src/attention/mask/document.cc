#include <variant>

#include "attention/mask/mask_set.h"

namespace regard::inline v0 {

namespace {

// The ids of one sequence.
struct Ids {
  const void* data;
  int64_t stride;
  bool wide;  // i64

  int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i * stride]
                : static_cast<const int32_t*>(data)[i * stride];
  }
};

Ids IdsOf(const TensorView& view, int64_t batch) {
  const bool per_entry = view.rank() == 2 && view.shape[0] != 1;
  const int64_t offset = per_entry ? batch * view.strides[0] : 0;
  const bool wide = view.dtype == DType::kI64;
  const void* data = view.data;
  if (wide) {
    data = static_cast<const int64_t*>(data) + offset;
  } else {
    data = static_cast<const int32_t*>(data) + offset;
  }
  return {data, view.strides.Back(0), wide};
}

struct IdRange {
  int64_t min, max;
  bool Holds(int64_t id) const { return id >= min && id <= max; }
};

// Of ids that grow the ends are enough.
IdRange RangeOf(const Ids& ids, IndexRange at, bool growing) {
  IdRange range = {ids[at.begin], ids[at.begin]};
  if (growing) {
    range.max = ids[at.end - 1];
    return range;
  }
  for (int64_t i = at.begin + 1; i < at.end; ++i) {
    range.min = std::min(range.min, ids[i]);
    range.max = std::max(range.max, ids[i]);
  }
  return range;
}

// The first of `at` for which is_behind(id) holds, as it does for all that
// follow.
template <typename IsBehind>
int64_t FirstOf(const Ids& ids, IndexRange at, const IsBehind& is_behind) {
  while (!at.empty()) {
    const int64_t middle = at.begin + (at.end - at.begin) / 2;
    if (is_behind(ids[middle])) {
      at.end = middle;
    } else {
      at.begin = middle + 1;
    }
  }
  return at.begin;
}

bool Grows(const TensorView& view) {
  const int64_t rows = view.rank() == 2 ? view.shape[0] : 1;
  for (int64_t b = 0; b < rows; ++b) {
    const Ids ids = IdsOf(view, b);
    for (int64_t i = 1; i < view.shape.Back(0); ++i) {
      if (ids[i] < ids[i - 1]) return false;
    }
  }
  return true;
}

}  // namespace

bool IdsGrow(const Mask& mask) {
  return std::all_of(
      mask.terms().begin(), mask.terms().end(), [](const MaskTerm& term) {
        const auto* documents = std::get_if<DocumentMask>(&term);
        return documents == nullptr ||
               (Grows(documents->query) && Grows(documents->key));
      });
}

// Keys with an id between the smallest and the largest of the queries: exact
// for ids that grow with the position.
IndexRange Range(const DocumentMask& mask, const MaskFrame& frame,
                 IndexRange queries, IndexRange keys, bool growing) {
  const IdRange wanted =
      RangeOf(IdsOf(mask.query, frame.batch), queries, growing);
  const Ids ids = IdsOf(mask.key, frame.batch);
  if (growing) {
    keys.begin =
        FirstOf(ids, keys, [&](int64_t id) { return id >= wanted.min; });
    keys.end = FirstOf(ids, keys, [&](int64_t id) { return id > wanted.max; });
    return keys;
  }
  while (!keys.empty() && !wanted.Holds(ids[keys.begin])) ++keys.begin;
  while (!keys.empty() && !wanted.Holds(ids[keys.end - 1])) --keys.end;
  return keys;
}

TileClass Classify(const DocumentMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile, bool growing) {
  const Ids query_ids = IdsOf(mask.query, frame.batch);
  const Ids key_ids = IdsOf(mask.key, frame.batch);
  const IdRange queries = RangeOf(query_ids, tile.queries, growing);
  const IdRange keys = RangeOf(key_ids, tile.keys, growing);
  if (queries.max < keys.min || keys.max < queries.min) {
    return TileClass::kEmpty;
  }
  const bool one_query_id = queries.min == queries.max;
  const bool one_key_id = keys.min == keys.max;
  if (one_query_id && one_key_id) return TileClass::kFull;
  // One id against several that hold it at an end: some see, some don't.
  if (one_query_id || one_key_id) {
    const IdRange& several = one_query_id ? keys : queries;
    const int64_t id = one_query_id ? queries.min : keys.min;
    if (id == several.min || id == several.max) return TileClass::kMixed;
  }
  for (int64_t q = tile.queries.begin; q < tile.queries.end; ++q) {
    for (int64_t k = tile.keys.begin; k < tile.keys.end; ++k) {
      if (query_ids[q] == key_ids[k]) return TileClass::kMixed;
    }
  }
  return TileClass::kEmpty;
}

bool Allows(const DocumentMask& mask, const MaskFrame& frame, int64_t query,
            int64_t key) {
  return IdsOf(mask.query, frame.batch)[query] ==
         IdsOf(mask.key, frame.batch)[key];
}

void AndRow(const DocumentMask& mask, const MaskFrame& frame, int64_t query,
            IndexRange keys, const KeyBits& visible) {
  const int64_t id = IdsOf(mask.query, frame.batch)[query];
  const Ids ids = IdsOf(mask.key, frame.batch);
  visible.And(keys, [&](IndexRange part) {
    uint64_t word = 0;
    for (int64_t k = part.begin; k < part.end; ++k) {
      word |= static_cast<uint64_t>(ids[k] == id) << (k - part.begin);
    }
    return word;
  });
}

}  // namespace regard::inline v0
