#include <limits>
#include <variant>

#include "attention/mask/document_index.h"
#include "attention/mask/mask_set.h"
#include "base/checked.h"

namespace regard::inline v0 {

namespace {

// One list for all sequences, or one for each.
int64_t RowsOf(const TensorView& view) {
  return view.rank() == 2 ? view.shape[0] : 1;
}
int64_t PiecesOfRow(const TensorView& view) {
  return CeilDiv(view.shape.Back(0), kIdsPerPiece);
}
int64_t PiecesOfRows(const TensorView& view, int64_t length) {
  return CheckedMul(RowsOf(view), CeilDiv(length, kIdsPerPiece), "documents");
}

// The ids of one sequence.
struct Ids {
  const void* data;
  int64_t stride;
  bool wide;              // i64
  const IdRange* pieces;  // or nullptr

  int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i * stride]
                : static_cast<const int32_t*>(data)[i * stride];
  }
  // Of the piece that begins at `i`, where there is one in `at`.
  const IdRange* PieceFrom(int64_t i, IndexRange at) const {
    if (pieces == nullptr || i % kIdsPerPiece != 0) return nullptr;
    if (i < at.begin || i + kIdsPerPiece > at.end) return nullptr;
    return pieces + i / kIdsPerPiece;
  }
};

// `pieces` are those of all rows.
Ids IdsOf(const TensorView& view, int64_t batch, const IdRange* pieces) {
  const int64_t row = RowsOf(view) != 1 ? batch : 0;
  const int64_t offset = row * (view.rank() == 2 ? view.strides[0] : 0);
  const bool wide = view.dtype == DType::kI64;
  const void* data = view.data;
  if (wide) {
    data = static_cast<const int64_t*>(data) + offset;
  } else {
    data = static_cast<const int32_t*>(data) + offset;
  }
  if (pieces != nullptr) pieces += row * PiecesOfRow(view);
  return {data, view.strides.Back(0), wide, pieces};
}

Ids QueryIds(const DocumentMask& mask, int64_t batch,
             const DocumentIndex& index) {
  return IdsOf(mask.query, batch, index.pieces);
}

Ids KeyIds(const DocumentMask& mask, int64_t batch,
           const DocumentIndex& index) {
  const IdRange* pieces = index.pieces;
  if (pieces != nullptr) {
    pieces += RowsOf(mask.query) * PiecesOfRow(mask.query);
  }
  return IdsOf(mask.key, batch, pieces);
}

// Of ids that grow the ends are enough.
IdRange RangeOf(const Ids& ids, IndexRange at, bool growing) {
  if (growing) return {ids[at.begin], ids[at.end - 1]};
  IdRange range = {std::numeric_limits<int64_t>::max(),
                   std::numeric_limits<int64_t>::min()};
  for (int64_t i = at.begin; i < at.end;) {
    const IdRange* piece = ids.PieceFrom(i, at);
    range.Add(piece != nullptr ? *piece : IdRange{ids[i], ids[i]});
    i += piece != nullptr ? kIdsPerPiece : 1;
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

// `keys` without those at either end whose ids are not wanted.
IndexRange Narrowed(const Ids& ids, IdRange wanted, IndexRange keys) {
  const auto skips = [&](const IdRange* piece) {
    return piece != nullptr && !piece->Meets(wanted);
  };
  while (!keys.empty()) {
    if (skips(ids.PieceFrom(keys.begin, keys))) {
      keys.begin += kIdsPerPiece;
    } else if (wanted.Holds(ids[keys.begin])) {
      break;
    } else {
      ++keys.begin;
    }
  }
  while (!keys.empty()) {
    if (skips(ids.PieceFrom(keys.end - kIdsPerPiece, keys))) {
      keys.end -= kIdsPerPiece;
    } else if (wanted.Holds(ids[keys.end - 1])) {
      break;
    } else {
      --keys.end;
    }
  }
  return keys;
}

bool Grows(const TensorView& view) {
  for (int64_t row = 0; row < RowsOf(view); ++row) {
    const Ids ids = IdsOf(view, row, nullptr);
    for (int64_t i = 1; i < view.shape.Back(0); ++i) {
      if (ids[i] < ids[i - 1]) return false;
    }
  }
  return true;
}

// Returns the end of what was written.
IdRange* FillPieces(const TensorView& view, IdRange* pieces) {
  const int64_t length = view.shape.Back(0);
  for (int64_t row = 0; row < RowsOf(view); ++row) {
    const Ids ids = IdsOf(view, row, nullptr);
    for (int64_t i = 0; i < length; i += kIdsPerPiece) {
      *pieces++ = RangeOf(ids, {i, std::min(i + kIdsPerPiece, length)}, false);
    }
  }
  return pieces;
}

template <typename Visit>
void ForEachDocumentMask(const Mask& mask, const Visit& visit) {
  for (const MaskTerm& term : mask.terms()) {
    if (const auto* documents = std::get_if<DocumentMask>(&term)) {
      visit(*documents);
    }
  }
}

}  // namespace

bool IdsGrow(const Mask& mask) {
  bool grow = true;
  ForEachDocumentMask(mask, [&](const DocumentMask& documents) {
    grow = grow && Grows(documents.query) && Grows(documents.key);
  });
  return grow;
}

int64_t PiecesOf(const DocumentMask& mask) {
  return RowsOf(mask.query) * PiecesOfRow(mask.query) +
         RowsOf(mask.key) * PiecesOfRow(mask.key);
}

int64_t PiecesOf(const Mask& mask) {
  int64_t pieces = 0;
  ForEachDocumentMask(mask, [&](const DocumentMask& documents) {
    pieces += PiecesOf(documents);
  });
  return pieces;
}

int64_t PiecesOf(const Mask& mask, int64_t queries, int64_t keys) {
  int64_t pieces = 0;
  ForEachDocumentMask(mask, [&](const DocumentMask& documents) {
    for (const int64_t more : {PiecesOfRows(documents.query, queries),
                               PiecesOfRows(documents.key, keys)}) {
      pieces = CheckedAdd(pieces, more, "documents");
    }
  });
  return pieces;
}

void FillPieces(const Mask& mask, IdRange* pieces) {
  ForEachDocumentMask(mask, [&](const DocumentMask& documents) {
    pieces = FillPieces(documents.key, FillPieces(documents.query, pieces));
  });
}

// Keys with an id between the smallest and the largest of the queries: exact
// for ids that grow with the position.
IndexRange Range(const DocumentMask& mask, const MaskFrame& frame,
                 IndexRange queries, IndexRange keys,
                 const DocumentIndex& index) {
  const IdRange wanted =
      RangeOf(QueryIds(mask, frame.batch, index), queries, index.growing);
  const Ids ids = KeyIds(mask, frame.batch, index);
  if (!index.growing) return Narrowed(ids, wanted, keys);
  keys.begin = FirstOf(ids, keys, [&](int64_t id) { return id >= wanted.min; });
  keys.end = FirstOf(ids, keys, [&](int64_t id) { return id > wanted.max; });
  return keys;
}

TileClass Classify(const DocumentMask& mask, const MaskFrame& frame,
                   const ScoreTile& tile, const DocumentIndex& index) {
  const Ids query_ids = QueryIds(mask, frame.batch, index);
  const Ids key_ids = KeyIds(mask, frame.batch, index);
  const IdRange queries = RangeOf(query_ids, tile.queries, index.growing);
  const IdRange keys = RangeOf(key_ids, tile.keys, index.growing);
  if (!queries.Meets(keys)) return TileClass::kEmpty;
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
  return IdsOf(mask.query, frame.batch, nullptr)[query] ==
         IdsOf(mask.key, frame.batch, nullptr)[key];
}

void AndRow(const DocumentMask& mask, const MaskFrame& frame, int64_t query,
            IndexRange keys, const KeyBits& visible) {
  const int64_t id = IdsOf(mask.query, frame.batch, nullptr)[query];
  const Ids ids = IdsOf(mask.key, frame.batch, nullptr);
  visible.And(keys, [&](IndexRange part) {
    uint64_t word = 0;
    for (int64_t k = part.begin; k < part.end; ++k) {
      word |= static_cast<uint64_t>(ids[k] == id) << (k - part.begin);
    }
    return word;
  });
}

}  // namespace regard::inline v0
