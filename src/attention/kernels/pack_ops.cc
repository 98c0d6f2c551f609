// Packing, built once per instruction set; the bits are the same on each.
#include "attention/kernels/pack_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/pack_ops.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h:
#include <hwy/highway.h>

#include "attention/kernels/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_HAVE_SCALABLE

const PackOps<float>* PackF32() { return nullptr; }
const PackOps<double>* PackF64() { return nullptr; }

#else

namespace hn = hwy::HWY_NAMESPACE;

// ------------------------------------------------------------ rows to columns

template <typename T>
constexpr int kLanesOf = static_cast<int>(HWY_LANES(T));
template <typename T>
constexpr int kBlocks = kLanesOf<T> / kInBlock<T>;

// Blocks change places with each other: block b of rows[g * kStep] and block g
// of rows[b * kStep].
template <int kStep, class D, class V>
HWY_INLINE void TransposeBlocks(D d, V* rows) {
#if HWY_MAX_BYTES == 64
  const auto pair = [](V a, V b, V& even, V& odd) HWY_ATTR {
    even = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
    odd = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
  };
  V even01, odd01, even23, odd23;
  pair(rows[0], rows[kStep], even01, odd01);
  pair(rows[2 * kStep], rows[3 * kStep], even23, odd23);
  rows[0] = hn::ConcatLowerLower(d, even23, even01);
  rows[kStep] = hn::ConcatLowerLower(d, odd23, odd01);
  rows[2 * kStep] = hn::ConcatUpperUpper(d, even23, even01);
  rows[3 * kStep] = hn::ConcatUpperUpper(d, odd23, odd01);
#elif HWY_MAX_BYTES == 32
  const auto low = hn::ConcatLowerLower(d, rows[kStep], rows[0]);
  rows[kStep] = hn::ConcatUpperUpper(d, rows[kStep], rows[0]);
  rows[0] = low;
#else
  (void)d;
  (void)rows;
#endif
}

// As many columns as rows: a vector of each.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void Transpose(D d, V (&rows)[kLanesOf<hn::TFromD<D>>]) {
  constexpr int kElements = kInBlock<hn::TFromD<D>>;
  HWY_UNROLL(4)
  for (int g = 0; g < kBlocks<hn::TFromD<D>>; ++g) {
    TransposeInBlocks(d, rows + g * kElements);
  }
  HWY_UNROLL(4)
  for (int e = 0; e < kElements; ++e) TransposeBlocks<kElements>(d, rows + e);
}

template <bool kScale, typename T>
HWY_INLINE void LoadTransposed(
    const T* const* rows, int64_t c, T factor,
    hn::Vec<hn::ScalableTag<T>> (&columns)[kLanesOf<T>]) {
  const hn::ScalableTag<T> d;
  HWY_UNROLL(16)
  for (int r = 0; r < kLanesOf<T>; ++r) columns[r] = hn::LoadU(d, rows[r] + c);
  Transpose(d, columns);
  if (!kScale) return;
  HWY_UNROLL(16)
  for (int e = 0; e < kLanesOf<T>; ++e) {
    columns[e] = hn::Mul(columns[e], hn::Set(d, factor));
  }
}

// Rows with fewer columns than a vector has lanes.
template <bool kScale, typename T>
HWY_NOINLINE void FewColumns(const T* const* rows, int64_t count, int64_t width,
                             T factor, T* to, int64_t step) {
  const hn::ScalableTag<T> d;
  constexpr int kRows = kLanesOf<T>;
  HWY_ALIGN T copies[kRows][kRows] = {};
  const T* pointers[kRows];
  for (int r = 0; r < kRows; ++r) {
    for (int64_t c = 0; c < count; ++c) copies[r][c] = rows[r][c];
    pointers[r] = copies[r];
  }
  hn::Vec<decltype(d)> columns[kRows];
  LoadTransposed<kScale>(pointers, 0, factor, columns);
  for (int e = 0; e < kRows; ++e) hn::Store(columns[e], d, copies[e]);
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t r = 0; r < width; ++r) to[c * step + r] = copies[c][r];
  }
}

template <bool kScale, typename T>
HWY_INLINE void ColumnsOf(const T* const* rows, int64_t count, int64_t width,
                          T factor, T* to, int64_t step) {
  const hn::ScalableTag<T> d;
  constexpr int kRows = kLanesOf<T>;
  if (count < kRows) {
    return FewColumns<kScale>(rows, count, width, factor, to, step);
  }
  for (int64_t c = 0; c < count; c += kRows) {
    c = HWY_MIN(c, count - kRows);  // some columns twice
    hn::Vec<decltype(d)> columns[kRows];
    LoadTransposed<kScale>(rows, c, factor, columns);
    HWY_UNROLL(16)
    for (int e = 0; e + 1 < kRows; ++e) {
      hn::StoreU(columns[e], d, to + (c + e) * step);
    }
    T* const last = to + (c + kRows - 1) * step;
    if (width == kRows || c + kRows < count) {
      hn::StoreU(columns[kRows - 1], d, last);
    } else {
      HWY_ALIGN T copy[kRows];
      hn::Store(columns[kRows - 1], d, copy);
      for (int64_t r = 0; r < width; ++r) last[r] = copy[r];
    }
  }
}

template <typename T>
void Columns(const T* const* rows, int64_t count, int64_t width, T factor,
             T* to, int64_t step) {
  if (factor == 1) {
    ColumnsOf<false>(rows, count, width, factor, to, step);
  } else {
    ColumnsOf<true>(rows, count, width, factor, to, step);
  }
}

// --------------------------------------------------------------------- values

// Tells whether values are ordinary from the bits of the largest magnitude and
// from the least of all bits as signed numbers, which is that of -0.
template <typename T>
class OrdinaryCheck {
  using Signed = hn::RebindToSigned<hn::ScalableTag<T>>;
  using Bits = hn::TFromD<Signed>;

 public:
  OrdinaryCheck() : largest_(hn::Zero(Signed())), least_(hn::Zero(Signed())) {}

  HWY_INLINE void Add(hn::Vec<hn::ScalableTag<T>> values) {
    const auto bits = hn::BitCast(Signed(), values);
    const auto magnitude =
        hn::And(bits, hn::Set(Signed(), hwy::LimitsMax<Bits>()));
    largest_ = hn::Max(largest_, magnitude);
    least_ = hn::Min(least_, bits);
  }

  // The two highest bits of an exponent: values from 2^65 on (2^513). No number
  // of smaller ones sums up to infinity.
  HWY_INLINE bool Ordinary() const {
    constexpr Bits kLarge = Bits{3} << (8 * sizeof(T) - 3);
    const auto large = hn::Gt(largest_, hn::Set(Signed(), kLarge - 1));
    const auto minus_zero =
        hn::Eq(least_, hn::Set(Signed(), hwy::LimitsMin<Bits>()));
    return hn::AllFalse(Signed(), hn::Or(large, minus_zero));
  }

 private:
  hn::Vec<Signed> largest_, least_;
};

// Columns c and on of a row, 0 from column `columns` on. nullptr: all 0.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadValues(D d, const T* row, int64_t c,
                                 int64_t columns) {
  constexpr int64_t kCount = hn::MaxLanes(D());
  if (row == nullptr || c >= columns) return hn::Zero(d);
  if (c + kCount <= columns) return hn::LoadU(d, row + c);
  HWY_ALIGN T tail[kCount] = {};
  for (int64_t i = c; i < columns; ++i) tail[i - c] = row[i];
  return hn::Load(d, tail);
}

// Calls visit(c, place) for each vector of columns: what it holds of row
// first_row + r comes to to[place + r * width].
template <typename T, class Visit>
HWY_INLINE void ForEachVector(const ValuePanels& panels, const Visit& visit) {
  for (int64_t begin = 0; begin < panels.padded; begin += panels.panel) {
    const int64_t width = HWY_MIN(panels.panel, panels.padded - begin);
    for (int64_t c = begin; c < begin + width; c += kLanesOf<T>) {
      visit(c, width, begin / panels.panel * panels.panel_step + (c - begin));
    }
  }
}

template <typename T>
bool Values(const T* const* rows, int64_t count, const ValuePanels& panels,
            T* to) {
  const hn::ScalableTag<T> d;
  OrdinaryCheck<T> check;
  for (int64_t r = 0; r < count; ++r) {
    ForEachVector<T>(
        panels, [&](int64_t c, int64_t width, int64_t at) HWY_ATTR {
          const auto values = LoadValues(d, rows[r], c, panels.columns);
          check.Add(values);
          hn::StoreU(values, d, to + at + (panels.first_row + r) * width);
        });
  }
  return check.Ordinary();
}

using Floats = hn::ScalableTag<float>;
using Halves = hn::Rebind<uint16_t, Floats>;  // as many

// The same for bf16, of which subnormal ones are not ordinary either.
class OrdinaryHalves {
 public:
  OrdinaryHalves()
      : largest_(hn::Zero(Halves())),
        least_(hn::Set(Halves(), uint16_t{0x7FFF})) {}

  HWY_INLINE void Add(hn::Vec<Halves> bits) {
    const Halves d;
    const auto magnitude = hn::And(bits, hn::Set(d, uint16_t{0x7FFF}));
    largest_ = hn::Max(largest_, magnitude);
    // 0 comes last, -0 first.
    const auto minus_zero = hn::Eq(bits, hn::Set(d, uint16_t{0x8000}));
    const auto less = hn::Sub(magnitude, hn::Set(d, uint16_t{1}));
    least_ = hn::Min(least_, hn::IfThenZeroElse(minus_zero, less));
  }

  HWY_INLINE bool Ordinary() const {
    const hn::RebindToSigned<Halves> d;  // none has the sign
    const auto large =
        hn::Gt(hn::BitCast(d, largest_), hn::Set(d, int16_t{0x6000 - 1}));
    const auto small =
        hn::Lt(hn::BitCast(d, least_), hn::Set(d, int16_t{0x7F}));
    return hn::AllFalse(d, hn::Or(large, small));
  }

 private:
  hn::Vec<Halves> largest_, least_;
};

bool PairValues(const uint16_t* const* rows, int64_t count,
                const ValuePanels& panels, float* to) {
  const Floats d;
  const hn::RebindToUnsigned<Floats> du;
  const Halves d16;
  OrdinaryHalves check;
  for (int64_t r = 0; r < count; r += 2) {
    const uint16_t* second = r + 1 < count ? rows[r + 1] : nullptr;
    ForEachVector<float>(
        panels, [&](int64_t c, int64_t width, int64_t at) HWY_ATTR {
          const auto low = LoadValues(d16, rows[r], c, panels.columns);
          const auto high = LoadValues(d16, second, c, panels.columns);
          check.Add(low);
          check.Add(high);
          const auto pairs = hn::Or(hn::PromoteTo(du, low),
                                    hn::ShiftLeft<16>(hn::PromoteTo(du, high)));
          hn::StoreU(hn::BitCast(d, pairs), d,
                     to + at + (panels.first_row + r) / 2 * width);
        });
  }
  return check.Ordinary();
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

const PackOps<float>* PackF32() {
  static constexpr PackOps<float> ops = {
      .lanes = kLanesOf<float>,
      .columns = Columns<float>,
      .values = Values<float>,
      .from_bf16 = RowFromBF16,
      .from_f16 = RowFromF16,
      .pair_values = PairValues,
  };
  return &ops;
}

const PackOps<double>* PackF64() {
  static constexpr PackOps<double> ops = {
      .lanes = kLanesOf<double>,
      .columns = Columns<double>,
      .values = Values<double>,
      .from_bf16 = nullptr,
      .from_f16 = nullptr,
      .pair_values = nullptr,
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

HWY_EXPORT(PackF32);
HWY_EXPORT(PackF64);

template <>
const PackOps<float>* PackOpsFor<float>(SimdTarget target) {
  return HWY_DISPATCH_TABLE(PackF32)[TargetIndex(target)]();
}

template <>
const PackOps<double>* PackOpsFor<double>(SimdTarget target) {
  return HWY_DISPATCH_TABLE(PackF64)[TargetIndex(target)]();
}

}  // namespace regard::inline v0
#endif  // HWY_ONCE
