#include "attention/check.h"

#include <algorithm>
#include <cmath>

#include "attention/array_check.h"
#include "attention/overlap.h"
#include "attention/score/bias.h"
#include "attention/score/dropout.h"
#include "attention/sequence_check.h"

namespace regard::inline v0 {

namespace {

Dims FullShape(const Problem& p) {
  return {p.sequences, p.query_heads, p.query_length, p.key_length};
}

// The rules of problems and masks, each on one line below.
class Checker : public ArrayChecker {
 public:
  using ArrayChecker::ArrayChecker;

  void Broadcasts(const TensorView& view, const char* name,
                  const Problem& problem) const {
    Broadcasts(view, name, FullShape(problem), "[B, Hq, Lq, Lk]");
  }
  void Broadcasts(const TensorView& view, const char* name, const Dims& full,
                  const char* letters) const;
  // f16, bf16, f32 or f64.
  void AnyFloating(const TensorView& view, const char* name, const char* hint,
                   ErrorKind kind = ErrorKind::kArgument) const;
  // [Hq], where it is given.
  void PerHead(const TensorView& list, const char* name,
               const Problem& problem) const;
  void Masks(const Problem& problem, bool offset_given) const;
  void Term(const CausalMask&, const Problem&) const {}
  void Term(const PrefixMask& mask, const Problem&) const;
  void Term(const ChunkMask& mask, const Problem&) const;
  void Term(const WindowMask& mask, const Problem&) const;
  void Term(const LengthsMask& mask, const Problem& problem) const;
  void Term(const DocumentMask& mask, const Problem& problem) const;
  void Term(const BlockSparseMask& mask, const Problem& problem) const;
  void Term(const BitMask& mask, const Problem& problem) const;
  void Term(const BooleanMask& mask, const Problem& problem) const;
  void Term(const CustomMask& mask, const Problem&) const;
  void Ids(const TensorView& ids, const char* name, const char* letters,
           int64_t length, const Problem& problem) const;
  void Bytes(const TensorView& view) const;
  void Lengths(const std::vector<int64_t>& lengths, const char* name,
               int64_t Sequence::*length, const Problem& problem) const;
};

void Checker::Broadcasts(const TensorView& view, const char* name,
                         const Dims& full, const char* letters) const {
  bool fits = view.rank() <= 4;
  for (int i = 0; fits && i < view.rank(); ++i) {
    const int64_t size = view.shape.Back(i);
    fits = size == 1 || size == full.Back(i);
  }
  if (!fits) {
    Fail(name, "shape " + ToString(view.shape) + " does not broadcast to " +
                   letters + " = " + ToString(full));
  }
  Memory(view, name);
}

void Checker::AnyFloating(const TensorView& view, const char* name,
                          const char* hint, ErrorKind kind) const {
  switch (view.dtype) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
      return;
    default:
      Fail(name,
           std::string("type ") + Name(view.dtype) + " is not a floating type",
           hint, kind);
  }
}

void Checker::PerHead(const TensorView& list, const char* name,
                      const Problem& p) const {
  if (!list.given()) return;
  AnyFloating(list, name, "");
  Shape(list, name, {p.query_heads}, "[Hq]");
  Memory(list, name);
}

void Checker::Term(const PrefixMask& mask, const Problem&) const {
  if (mask.keys >= 0) return;
  Fail("mask", "a prefix of " + std::to_string(mask.keys) + " keys",
       "use 0 for a causal mask without prefix");
}

void Checker::Term(const ChunkMask& mask, const Problem&) const {
  if (mask.size >= 1) return;
  Fail("mask", "chunks of size " + std::to_string(mask.size) + " hold no key",
       "use 1 for the query's own position alone, or no mask for one chunk");
}

void Checker::Term(const WindowMask& mask, const Problem&) const {
  if (mask.left && *mask.left < 1) {
    Fail("mask",
         "a window of left = " + std::to_string(*mask.left) +
             " shows no key: left counts the query itself",
         "use 1 for the query alone, or leave it unset for no limit");
  }
  if (mask.right && *mask.right < 0) {
    Fail("mask",
         "a window of right = " + std::to_string(*mask.right) + " is negative",
         "use 0 for no later key, or leave it unset for no limit");
  }
  if (mask.first_keys < 0) {
    Fail("mask", "a window of first_keys = " + std::to_string(mask.first_keys) +
                     " is negative");
  }
}

// `length` is query_length or key_length.
void Checker::Lengths(const std::vector<int64_t>& lengths, const char* name,
                      int64_t Sequence::*length, const Problem& p) const {
  if (!lengths.empty() && static_cast<int64_t>(lengths.size()) != p.sequences) {
    Fail("mask", std::to_string(lengths.size()) + " " + name +
                     " lengths for B = " + std::to_string(p.sequences));
  }
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t limit = p.PlaceOf(static_cast<int64_t>(i)).*length;
    if (lengths[i] < 0 || lengths[i] > limit) {
      Fail("mask", std::string(name) + " length " + std::to_string(lengths[i]) +
                       " of batch entry " + std::to_string(i) +
                       " is not within 0 and " + std::to_string(limit));
    }
  }
}

void Checker::Term(const LengthsMask& mask, const Problem& p) const {
  Lengths(mask.query, "query", &Sequence::query_length, p);
  Lengths(mask.key, "key", &Sequence::key_length, p);
}

void Checker::Ids(const TensorView& ids, const char* name, const char* letters,
                  int64_t length, const Problem& p) const {
  if (ids.dtype != DType::kI32 && ids.dtype != DType::kI64) {
    Fail("mask", std::string(name) + " ids of type " + Name(ids.dtype),
         "use i32 or i64");
  }
  const Dims& shape = ids.shape;
  const bool fits =
      (shape.size() == 1 ||
       (shape.size() == 2 && (shape[0] == p.sequences || shape[0] == 1))) &&
      shape.Back(0) == length;
  if (!fits) {
    Fail("mask", std::string(name) + " ids of shape " + ToString(shape) +
                     " are not " + letters +
                     " for B = " + std::to_string(p.sequences) + ", length " +
                     std::to_string(length));
  }
  Memory(ids, "mask");
}

void Checker::Term(const DocumentMask& mask, const Problem& p) const {
  Ids(mask.query, "query", "[Lq] or [B, Lq]", p.query_length, p);
  Ids(mask.key, "key", "[Lk] or [B, Lk]", p.key_length, p);
}

void Checker::Term(const BlockSparseMask& mask, const Problem& p) const {
  if (mask.query_block < 1 || mask.key_block < 1) {
    Fail("mask", "blocks of " + std::to_string(mask.query_block) +
                     " queries x " + std::to_string(mask.key_block) + " keys");
  }
  Bytes(mask.layout);
  // Rounded up without a sum that might not fit.
  const auto blocks = [](int64_t length, int64_t size) {
    return length / size + (length % size != 0);
  };
  const Dims full = {p.sequences, p.query_heads,
                     blocks(p.query_length, mask.query_block),
                     blocks(p.key_length, mask.key_block)};
  const TensorView& layout = mask.layout;
  if (layout.rank() < 2 || layout.shape.Back(1) != full[2] ||
      layout.shape.Back(0) != full[3]) {
    Fail("mask", "a layout of shape " + ToString(layout.shape) +
                     " does not end in [ceil(Lq / query_block), ceil(Lk / "
                     "key_block)] = " +
                     ToString({full[2], full[3]}));
  }
  Broadcasts(layout, "mask", full,
             "[B, Hq, ceil(Lq / query_block), ceil(Lk / key_block)]");
}

void Checker::Term(const BitMask& mask, const Problem& p) const {
  if (mask.bytes.dtype != DType::kU8) {
    Fail("mask", std::string("bits in type ") + Name(mask.bytes.dtype),
         "use u8, eight keys each");
  }
  const int64_t bytes = p.key_length / 8 + (p.key_length % 8 != 0);
  const Dims full = {p.sequences, p.query_heads, p.query_length, bytes};
  if (mask.bytes.rank() < 1 || mask.bytes.shape.Back(0) != bytes) {
    Fail("mask", "bits of shape " + ToString(mask.bytes.shape) +
                     " do not end in ceil(Lk / 8) = " + std::to_string(bytes) +
                     " bytes");
  }
  Broadcasts(mask.bytes, "mask", full, "[B, Hq, Lq, ceil(Lk / 8)]");
}

void Checker::Bytes(const TensorView& view) const {
  if (view.dtype == DType::kBool || view.dtype == DType::kU8) return;
  Fail("mask", std::string("a mask of type ") + Name(view.dtype),
       "use bool or u8 (not 0: may attend); numbers to add go into bias");
}

void Checker::Term(const BooleanMask& mask, const Problem& p) const {
  Bytes(mask.allowed);
  Broadcasts(mask.allowed, "mask", p);
}

void Checker::Term(const CustomMask& mask, const Problem&) const {
  if (mask.function == nullptr) Fail("mask", "a custom mask without function");
}

bool ComparesPositions(const MaskTerm& term) {
  return std::holds_alternative<CausalMask>(term) ||
         std::holds_alternative<PrefixMask>(term) ||
         std::holds_alternative<ChunkMask>(term) ||
         std::holds_alternative<WindowMask>(term);
}

void Checker::Masks(const Problem& p, bool offset_given) const {
  const std::vector<MaskTerm>& terms = p.mask->terms();
  for (const MaskTerm& term : terms) {
    std::visit([&](const auto& mask) { Term(mask, p); }, term);
  }
  if (offset_given ||
      (!p.alibi_slopes.given() &&
       std::none_of(terms.begin(), terms.end(), ComparesPositions))) {
    return;
  }
  const int64_t different =
      p.uniform() ? std::min<int64_t>(1, p.sequences) : p.sequences;
  for (int64_t i = 0; i < different; ++i) {
    const Sequence s = p.PlaceOf(i);
    if (s.query_length == s.key_length) continue;
    Fail("query_offset",
         "not set, but a mask or ALiBi that compares positions meets Lq = " +
             std::to_string(s.query_length) +
             ", Lk = " + std::to_string(s.key_length) +
             (p.uniform() ? "" : " of sequence " + std::to_string(i)),
         "choose top-left, bottom-right or an explicit offset");
  }
}

// Rows of i8 have scales, others have none.
void CheckScales(const Checker& check, const TensorView& rows,
                 const char* rows_name, const TensorView& scales,
                 const char* name) {
  const bool wanted = rows.dtype == DType::kI8;
  if (wanted != scales.given()) {
    check.Fail(name, wanted
                         ? std::string("not given, but ") + rows_name + " is i8"
                         : std::string("given, but ") + rows_name + " is " +
                               Name(rows.dtype));
  }
  if (!wanted) return;
  if (scales.dtype != DType::kF32) {
    check.Fail(name, std::string("type ") + Name(scales.dtype), "use f32");
  }
  check.Shape(scales, name, {rows.shape[0], rows.shape[1], rows.shape[2]},
              "[B, Hkv, Lk], one for each row");
  check.Memory(scales, name);
}

// q, k and v agree with each other; fills the sizes.
void CheckShapes(const Checker& check, const AttentionProblem& inputs,
                 Problem& p) {
  const std::pair<const TensorView*, const char*> arrays[] = {
      {&p.q, "q"}, {&p.k, "k"}, {&p.v, "v"}};
  for (const auto& [view, name] : arrays) {
    if (view->rank() != 4) {
      check.Fail(name,
                 "shape " + ToString(view->shape) + " has rank " +
                     std::to_string(view->rank()),
                 "give [B, H, L, D]");
    }
    if (view == &p.q || view->dtype != DType::kI8) {
      check.AnyFloating(*view, name, "convert it to f64, f32, bf16 or f16",
                        ErrorKind::kUnsupported);
    }
    check.Memory(*view, name);
    // f32 arithmetic would lose what makes them f64.
    if (view->dtype == DType::kF64 && p.q.dtype != DType::kF64) {
      check.Fail(name, std::string("type f64 beside q of ") + Name(p.q.dtype),
                 "convert q to f64, or both k and v to f32",
                 ErrorKind::kUnsupported);
    }
  }
  p.dtype = p.q.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  p.query_heads = p.q.shape[1];
  p.head_size = p.q.shape[3];
  p.kv_heads = p.k.shape[1];
  p.value_size = p.v.shape[3];
  CheckSequences(check, inputs, p);
  const bool of_sequences = !p.key_starts.given() && !p.block_table.given();
  const int64_t batch = of_sequences ? p.sequences : p.k.shape[0];
  const int64_t rows = p.k.shape[2];
  check.Shape(p.k, "k", {batch, p.kv_heads, rows, p.head_size},
              "[B, Hkv, Lk, D] with q's B and D");
  check.Shape(p.v, "v", {batch, p.kv_heads, rows, p.value_size},
              "[B, Hkv, Lk, Dv] with k's B, Hkv and Lk");
  CheckScales(check, p.k, "k", p.k_scales, "k_scales");
  CheckScales(check, p.v, "v", p.v_scales, "v_scales");
  const bool divides =
      p.kv_heads == 0 ? p.query_heads == 0 : p.query_heads % p.kv_heads == 0;
  if (!divides) {
    check.Fail("k", "Hq = " + std::to_string(p.query_heads) +
                        " query heads are not a multiple of Hkv = " +
                        std::to_string(p.kv_heads) + " kv heads");
  }
}

// The words of Philox's counter hold 32 bits.
void CheckDropout(const Checker& check, const Dropout& dropout, Problem& p) {
  constexpr int64_t kWords = int64_t{1} << 32;
  const std::vector<int64_t>& ids = dropout.sequence_ids;
  if (!(dropout.p >= 0 && dropout.p < 1)) {
    check.Fail("dropout",
               "p = " + std::to_string(dropout.p) + " is not in [0, 1)",
               "leave dropout unset for none");
  }
  if (!ids.empty() && static_cast<int64_t>(ids.size()) != p.sequences) {
    check.Fail("dropout",
               std::to_string(ids.size()) + " sequence ids for " +
                   std::to_string(p.sequences) + " sequences",
               "give one for each, or none");
  }
  for (const int64_t id : ids) {
    if (id >= 0 && id < kWords) continue;
    check.Fail("dropout",
               "sequence id " + std::to_string(id) + " is not in [0, 2^32)");
  }
  if (p.sequences > kWords || p.query_heads > kWords ||
      p.query_length > kWords || p.key_length / kKeysPerCounter > kWords) {
    check.Fail("dropout",
               "more than 2^32 sequences, heads or queries, or 2^34 "
               "keys, have no random numbers of their own",
               "", ErrorKind::kSize);
  }
  if (dropout.p > 0) p.dropout = &dropout;
}

// What there is one of for each row, head or element must be countable too. An
// empty product stays empty, however large its other sizes.
void CheckCountable(const Checker& check, std::initializer_list<int64_t> sizes,
                    const char* letters) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  int64_t bytes = sizeof(double);
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      check.Fail("out", std::string(letters) + " does not fit a 64-bit size",
                 "", ErrorKind::kSize);
    }
  }
}

}  // namespace

Problem Check(const AttentionProblem& problem, const std::string& function) {
  const Checker check(function);
  Problem p;
  p.q = problem.q;
  p.k = problem.k;
  p.v = problem.v;
  p.bias = problem.bias;
  p.alibi_slopes = problem.alibi_slopes;
  p.sink_logit = problem.sink_logit;
  p.mask = &problem.mask;
  p.query_starts = problem.query_starts;
  p.key_starts = problem.key_starts;
  p.key_lengths = problem.key_lengths;
  p.block_table = problem.block_table;
  p.k_scales = problem.k_scales;
  p.v_scales = problem.v_scales;
  CheckShapes(check, problem, p);
  CheckCountable(check, {p.sequences, p.kv_heads}, "[B, Hkv]");
  CheckCountable(check, {p.sequences, p.query_heads, p.query_length},
                 "[B, Hq, Lq]");
  const int64_t rows = p.q.shape[2];
  CheckCountable(check, {p.q.shape[0], p.query_heads, rows, p.value_size},
                 "[B, Hq, Lq, Dv]");
  if (problem.scale && !std::isfinite(*problem.scale)) {
    check.Fail("scale", std::to_string(*problem.scale) + " is not finite");
  }
  // Without elements every dot product is 0 already.
  p.scale = problem.scale.value_or(
      p.head_size == 0 ? 0 : 1 / std::sqrt(static_cast<double>(p.head_size)));
  if (problem.softcap) {
    if (!std::isfinite(*problem.softcap) || *problem.softcap <= 0) {
      check.Fail("softcap",
                 std::to_string(*problem.softcap) + " is not > 0 and finite",
                 "leave it unset for none");
    }
    p.softcap = *problem.softcap;
  }
  p.offset = problem.query_offset.value_or(QueryOffset::TopLeft());
  if (p.offset.kind == QueryOffset::Kind::kExplicit &&
      (p.offset.value > kMaxOffset || p.offset.value < -kMaxOffset)) {
    check.Fail("query_offset",
               std::to_string(p.offset.value) + " is out of range",
               "it counts tokens: at most 2^62 either way", ErrorKind::kSize);
  }
  check.Masks(p, problem.query_offset.has_value());
  p.documents.growing = IdsGrow(problem.mask);
  if (p.bias.given()) {
    check.AnyFloating(p.bias, "bias", "a mask of bool or u8 goes into mask");
    check.Broadcasts(p.bias, "bias", p);
  }
  check.PerHead(p.alibi_slopes, "alibi_slopes", p);
  for (int64_t h = 0; p.alibi_slopes.given() && h < p.query_heads; ++h) {
    const double slope = HeadNumber(p.alibi_slopes, h);
    if (!std::isfinite(slope)) {
      check.Fail("alibi_slopes", std::to_string(slope) + " of head " +
                                     std::to_string(h) + " is not finite");
    }
  }
  check.PerHead(p.sink_logit, "sink_logit", p);
  if (problem.dropout) CheckDropout(check, *problem.dropout, p);
  CheckRing(check, p);
  return p;
}

namespace {

// The arrays that a mask reads.
struct ArraysOf {
  using List = std::array<const TensorView*, 2>;
  template <typename M>
  List operator()(const M&) const {
    return {};
  }
  List operator()(const DocumentMask& mask) const {
    return {&mask.query, &mask.key};
  }
  List operator()(const BlockSparseMask& mask) const { return {&mask.layout}; }
  List operator()(const BitMask& mask) const { return {&mask.bytes}; }
  List operator()(const BooleanMask& mask) const { return {&mask.allowed}; }
};

struct NamedView {
  const char* name;
  const TensorView* view;
};

void CheckOverlaps(const Checker& check, const AttentionProblem& inputs,
                   const Problem& problem, std::span<const NamedView> written) {
  const auto refuse = [&](const NamedView& output, const char* other) {
    check.Fail(output.name, std::string("shares memory with ") + other,
               "give it memory of its own");
  };
  const NamedView read[] = {{"q", &inputs.q},
                            {"k", &inputs.k},
                            {"v", &inputs.v},
                            {"bias", &inputs.bias},
                            {"alibi_slopes", &inputs.alibi_slopes},
                            {"sink_logit", &inputs.sink_logit},
                            {"query_starts", &inputs.query_starts},
                            {"key_starts", &inputs.key_starts},
                            {"key_lengths", &inputs.key_lengths},
                            {"block_table", &inputs.block_table},
                            {"ring.oldest", &problem.ring_oldest},
                            {"k_scales", &inputs.k_scales},
                            {"v_scales", &inputs.v_scales}};
  for (size_t i = 0; i < written.size(); ++i) {
    const NamedView& output = written[i];
    if (MayOverlapItself(*output.view)) refuse(output, "itself");
    for (const NamedView& input : read) {
      if (input.view->given() && MayOverlap(*output.view, *input.view)) {
        refuse(output, input.name);
      }
    }
    for (const MaskTerm& term : inputs.mask.terms()) {
      for (const TensorView* array : std::visit(ArraysOf(), term)) {
        if (array != nullptr && MayOverlap(*output.view, *array)) {
          refuse(output, "mask");
        }
      }
    }
    for (size_t j = 0; j < i; ++j) {
      if (MayOverlap(*output.view, *written[j].view)) {
        refuse(output, written[j].name);
      }
    }
  }
}

}  // namespace

Outputs CheckOutputs(const AttentionProblem& inputs, const Problem& p,
                     const AttentionOutputs& outputs,
                     const std::string& function) {
  const Checker check(function);
  const struct {
    const char* name;
    const MutableTensorView* view;
    Dims shape;
    const char* letters;
  } rules[] = {
      {"out",
       &outputs.out,
       {p.q.shape[0], p.query_heads, p.q.shape[2], p.value_size},
       "[B, Hq, Lq, Dv]"},
      {"lse",
       &outputs.lse,
       {p.q.shape[0], p.query_heads, p.q.shape[2]},
       "[B, Hq, Lq]"},
      {"weights",
       &outputs.weights,
       {p.q.shape[0], p.query_heads, p.q.shape[2], p.key_length},
       "[B, Hq, Lq, Lk]"},
  };
  std::array<NamedView, 3> written;
  size_t count = 0;
  for (const auto& rule : rules) {
    if (!rule.view->given() && rule.view != &outputs.out) continue;
    check.Shape(*rule.view, rule.name, rule.shape, rule.letters);
    if (rule.view == &outputs.out) {
      check.AnyFloating(*rule.view, rule.name, "use f64, f32, bf16 or f16");
    } else if (rule.view->dtype != p.dtype) {
      check.Fail(rule.name,
                 std::string("type ") + Name(rule.view->dtype) +
                     " beside q of " + Name(p.q.dtype),
                 std::string("use ") + Name(p.dtype));
    }
    check.Memory(*rule.view, rule.name);
    written[count++] = {rule.name, rule.view};
  }
  CheckOverlaps(check, inputs, p, std::span(written).first(count));
  return {outputs.out, outputs.lse, outputs.weights, nullptr};
}

}  // namespace regard::inline v0
