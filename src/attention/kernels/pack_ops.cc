// Packing, built once per instruction set; the bits are the same on each.
#include "attention/kernels/pack_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/pack_ops.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h:
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_HAVE_SCALABLE

const PackOps* Ops() { return nullptr; }

#else

namespace hn = hwy::HWY_NAMESPACE;

// ------------------------------------------------------------ rows to columns

// A block of 4 x 4.
HWY_INLINE void TransposeBlock(const float* const* rows, int64_t c, float* to,
                               int64_t step) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<uint32_t, 4> d32;
  const hn::FixedTag<uint64_t, 2> d64;
  // As integers: a pair of bf16 may look like a signalling NaN.
  const auto row0 = hn::BitCast(d32, hn::LoadU(d, rows[0] + c));
  const auto row1 = hn::BitCast(d32, hn::LoadU(d, rows[1] + c));
  const auto row2 = hn::BitCast(d32, hn::LoadU(d, rows[2] + c));
  const auto row3 = hn::BitCast(d32, hn::LoadU(d, rows[3] + c));
  const auto low01 = hn::BitCast(d64, hn::InterleaveLower(d32, row0, row1));
  const auto low23 = hn::BitCast(d64, hn::InterleaveLower(d32, row2, row3));
  const auto high01 = hn::BitCast(d64, hn::InterleaveUpper(d32, row0, row1));
  const auto high23 = hn::BitCast(d64, hn::InterleaveUpper(d32, row2, row3));
  float* const at = to + c * step;
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, low01, low23)), d, at);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, low01, low23)), d,
             at + step);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, high01, high23)), d,
             at + 2 * step);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, high01, high23)), d,
             at + 3 * step);
}

// A block of 2 x 2.
HWY_INLINE void TransposeBlock(const double* const* rows, int64_t c, double* to,
                               int64_t step) {
  const hn::FixedTag<double, 2> d;
  const auto row0 = hn::LoadU(d, rows[0] + c);
  const auto row1 = hn::LoadU(d, rows[1] + c);
  hn::StoreU(hn::InterleaveLower(d, row0, row1), d, to + c * step);
  hn::StoreU(hn::InterleaveUpper(d, row0, row1), d, to + (c + 1) * step);
}

template <typename T>
void Columns(const T* const* rows, int64_t count, T* to, int64_t step) {
  constexpr int64_t kRows = kTransposedRows<T>;
  int64_t c = 0;
  for (; c + kRows <= count; c += kRows) TransposeBlock(rows, c, to, step);
  for (; c < count; ++c) {
    for (int64_t r = 0; r < kRows; ++r) to[c * step + r] = rows[r][c];
  }
}

// ----------------------------------------------------------------- conversion

// Numbers of 16 bits, in 32-bit lanes, as floats.
struct FromBF16 {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V bits) const {
    return hn::BitCast(d, hn::ShiftLeft<16>(bits));
  }
};

// By integers: below AVX2, Highway's conversion is wrong for infinities, NaN
// and overflow. Exponent and fraction, moved to their place, are 2^-112 times
// the number, subnormal ones too; a product sets it right. Infinities and NaN
// are 2^16 and more then, and get the exponent that they have in f32.
struct FromF16 {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V bits) const {
    const hn::RebindToUnsigned<D> du;
    const auto magnitude =
        hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, uint32_t{0x7FFF})));
    const auto sign =
        hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, uint32_t{0x8000})));
    const auto scaled =
        hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 0x1p112f));
    const auto special = hn::Ge(scaled, hn::Set(d, 0x1p16f));
    const auto exponent = hn::BitCast(d, hn::Set(du, uint32_t{0x7F800000}));
    return hn::Or(hn::Or(scaled, hn::IfThenElseZero(special, exponent)),
                  hn::BitCast(d, sign));
  }
};

using Floats = hn::ScalableTag<float>;
using Halves = hn::Rebind<uint16_t, Floats>;  // as many

template <class Convert>
HWY_INLINE void ConvertRow(const uint16_t* HWY_RESTRICT from, int64_t count,
                           float* HWY_RESTRICT to) {
  const Floats d;
  const hn::RebindToUnsigned<Floats> du;
  const Halves d16;
  constexpr int64_t kLanes = HWY_LANES(float);
  const Convert convert;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto bits = hn::PromoteTo(du, hn::LoadU(d16, from + i));
    hn::StoreU(convert(d, bits), d, to + i);
  }
  if (i == count) return;
  HWY_ALIGN uint16_t tail[kLanes] = {};
  HWY_ALIGN float converted[kLanes];
  for (int64_t j = i; j < count; ++j) tail[j - i] = from[j];
  hn::Store(convert(d, hn::PromoteTo(du, hn::Load(d16, tail))), d, converted);
  for (int64_t j = i; j < count; ++j) to[j] = converted[j - i];
}

void RowFromBF16(const uint16_t* from, int64_t count, float* to) {
  ConvertRow<FromBF16>(from, count, to);
}

void RowFromF16(const uint16_t* from, int64_t count, float* to) {
  ConvertRow<FromF16>(from, count, to);
}

void Pairs(const uint16_t* first, const uint16_t* second, int64_t count,
           float* to) {
  const Floats d;
  const hn::RebindToUnsigned<Floats> du;
  const Halves d16;
  constexpr int64_t kLanes = HWY_LANES(float);
  const auto pair = [&](const uint16_t* low, const uint16_t* high) HWY_ATTR {
    const auto above =
        hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(d16, high)));
    return hn::BitCast(d,
                       hn::Or(hn::PromoteTo(du, hn::LoadU(d16, low)), above));
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(pair(first + i, second + i), d, to + i);
  }
  if (i == count) return;
  HWY_ALIGN uint16_t tails[2][kLanes] = {};
  HWY_ALIGN float last[kLanes];
  for (int64_t j = i; j < count; ++j) {
    tails[0][j - i] = first[j];
    tails[1][j - i] = second[j];
  }
  hn::Store(pair(tails[0], tails[1]), d, last);
  for (int64_t j = i; j < count; ++j) to[j] = last[j - i];
}

const PackOps* Ops() {
  static constexpr PackOps ops = {
      .columns_f32 = Columns<float>,
      .columns_f64 = Columns<double>,
      .from_bf16 = RowFromBF16,
      .from_f16 = RowFromF16,
      .pairs = Pairs,
  };
  return &ops;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "attention/kernels/target_index.h"

namespace regard::inline v0 {

HWY_EXPORT(Ops);

const PackOps* PackOpsFor(SimdTarget target) {
  return HWY_DISPATCH_TABLE(Ops)[TargetIndex(target)]();
}

}  // namespace regard::inline v0
#endif  // HWY_ONCE
