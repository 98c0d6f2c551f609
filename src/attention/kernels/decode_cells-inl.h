// How keys and values of a type are read where they lie, and multiplied.
#if defined(REGARD_ATTENTION_KERNELS_DECODE_CELLS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef REGARD_ATTENTION_KERNELS_DECODE_CELLS_INL_H_
#undef REGARD_ATTENTION_KERNELS_DECODE_CELLS_INL_H_
#else
#define REGARD_ATTENTION_KERNELS_DECODE_CELLS_INL_H_
#endif

#include <hwy/highway.h>

#include "attention/kernels/bf16_dot-inl.h"
#include "attention/kernels/decode_ops.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX2
constexpr bool kReadsTails = true;
#else
constexpr bool kReadsTails = false;  // MaskedLoad reads what it drops
#endif

// f16 below AVX2 is converted wrongly by Highway 1.0.3 at infinity and NaN.
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
constexpr bool kConvertsF16 = true;
#else
constexpr bool kConvertsF16 = false;
#endif

// ------------------------------------------------- elements, one in each lane

struct BF16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

// Loads in the order of the program, which is that of addresses where keys and
// values come one after the other: the hardware fetches ahead as long as it
// sees that order, of which compilers know nothing. (Sanitizers know nothing of
// instructions.)
template <class D>
HWY_INLINE hn::Vec<D> LoadInOrder(D d, const hn::TFromD<D>* from) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86_64 && !HWY_IS_ASAN && !HWY_IS_MSAN
  using Bytes = const uint8_t[hn::MaxLanes(D()) * sizeof(hn::TFromD<D>)];
  hn::Vec<D> loaded;
  asm volatile("vmovups %1, %0"
               : "=v"(loaded.raw)
               : "m"(*reinterpret_cast<Bytes*>(from)));
  (void)d;
  return loaded;
#else
  return hn::LoadU(d, from);
#endif
}

// A vector of elements in the type of D; the same of `count` elements, 0 behind
// them: what lies there is not read.
template <class D>
HWY_INLINE hn::Vec<D> LoadStored(D d, const hn::TFromD<D>* from) {
  return LoadInOrder(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> LoadTail(D d, const hn::TFromD<D>* from, int64_t count) {
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
}

template <class D>
HWY_INLINE hn::Vec<D> LoadStored(D d, const BF16* from) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint16_t, D> half;
  const auto bits = hn::LoadU(half, reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
}

template <class D>
HWY_INLINE hn::Vec<D> LoadStored(D d, const F16* from) {
  const hn::Rebind<uint16_t, D> half;
  const auto bits = hn::LoadU(half, reinterpret_cast<const uint16_t*>(from));
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), bits));
}

// Not yet multiplied by the scale of the row.
template <class D>
HWY_INLINE hn::Vec<D> LoadStored(D d, const int8_t* from) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<int8_t, D> bytes;
  return hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(bytes, from)));
}

// Narrow elements by way of memory.
template <class D, typename S, hwy::EnableIf<sizeof(S) < 4>* = nullptr>
HWY_INLINE hn::Vec<D> LoadTail(D d, const S* from, int64_t count) {
  HWY_ALIGN S copy[HWY_LANES(float)] = {};
  for (int64_t i = 0; i < count; ++i) copy[i] = from[i];
  return LoadStored(d, copy);
}

// A key or a value.
template <typename T, typename S>
struct ElementRow {
  const S* at;

  template <class D>
  HWY_INLINE hn::Vec<D> Load(D d, int64_t i) const {
    return LoadStored(d, at + i);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> Tail(D d, int64_t i, int64_t count) const {
    return LoadTail(d, at + i, count);
  }
};

template <typename T>
struct ElementRow<T, int8_t> {
  const int8_t* at;
  float scale;

  template <class D>
  HWY_INLINE hn::Vec<D> Load(D d, int64_t i) const {
    return hn::Mul(LoadStored(d, at + i), hn::Set(d, scale));
  }
  template <class D>
  HWY_INLINE hn::Vec<D> Tail(D d, int64_t i, int64_t count) const {
    return hn::Mul(LoadTail(d, at + i, count), hn::Set(d, scale));
  }
};

// k and v of type S, computed in T.
template <typename T, typename S>
struct ElementCells {
  using Number = T;
  using Stored = S;
  using Key = ElementRow<T, S>;
  using Value = ElementRow<T, S>;
  static constexpr int64_t kPair = 1;

  static HWY_INLINE Key KeyAt(const StoredRows& rows, int64_t i) {
    const S* at = static_cast<const S*>(rows.first) + i * rows.stride;
    if constexpr (sizeof(S) == 1) {
      return {at, rows.scales[i * rows.scale_stride]};
    } else {
      return {at};
    }
  }
  static HWY_INLINE Value ValueAt(const StoredRows& rows, int64_t i) {
    return KeyAt(rows, i);
  }
  template <class V>
  static HWY_INLINE V MulAdd(V a, V b, V sum) {
    return hn::MulAdd(a, b, sum);
  }
  // Vectors of columns from `column` on.
  template <int kVectors, class D, class V>
  static HWY_INLINE void LoadValues(D d, const Value& v, int64_t column,
                                    V (&loaded)[kVectors]) {
    constexpr int64_t kLanes = HWY_LANES(T);
    HWY_UNROLL(8)
    for (int j = 0; j < kVectors; ++j) {
      loaded[j] = v.Load(d, column + j * kLanes);
    }
  }
};

#if REGARD_BF16_DOT

// ------------------------------------------------------ bf16, two in each lane

constexpr int64_t kPairLanes = HWY_LANES(float);

// A vector of pairs: 2 * kPairLanes elements of a key.
struct PairedKey {
  const uint16_t* at;

  HWY_INLINE FloatVec Load(Floats d, int64_t i) const {
    const hn::ScalableTag<uint16_t> halves;
    return hn::BitCast(d, LoadInOrder(halves, at + i));
  }
  HWY_INLINE FloatVec Tail(Floats d, int64_t i, int64_t count) const {
    const hn::ScalableTag<uint16_t> halves;
    const auto there = hn::FirstN(halves, static_cast<size_t>(count));
    return hn::BitCast(d, hn::MaskedLoad(there, halves, at + i));
  }
};

// Two values; a vector of pairs has kPairLanes columns of both.
struct PairedValues {
  const uint16_t* low;
  const uint16_t* high;

  HWY_INLINE FloatVec Load(Floats d, int64_t column) const {
    const hn::Rebind<uint16_t, Floats> half;
    return Pair(d, hn::LoadU(half, low + column),
                hn::LoadU(half, high + column));
  }
  HWY_INLINE FloatVec Tail(Floats d, int64_t column, int64_t count) const {
    const hn::Rebind<uint16_t, Floats> half;
    const auto there = hn::FirstN(half, static_cast<size_t>(count));
    return Pair(d, hn::MaskedLoad(there, half, low + column),
                hn::MaskedLoad(there, half, high + column));
  }

 private:
  template <class H>
  static HWY_INLINE FloatVec Pair(Floats d, H low, H high) {
    const hn::RebindToUnsigned<Floats> du;
    const auto above = hn::ShiftLeft<16>(hn::PromoteTo(du, high));
    return hn::BitCast(d, hn::Or(hn::PromoteTo(du, low), above));
  }
};

// k and v of bf16, multiplied in pairs: neighbours in depth of q and k,
// neighbouring keys of weights and v.
struct PairCells {
  using Number = float;
  using Stored = BF16;
  using Key = PairedKey;
  using Value = PairedValues;
  static constexpr int64_t kPair = 2;

  static HWY_INLINE Key KeyAt(const StoredRows& rows, int64_t i) {
    return {static_cast<const uint16_t*>(rows.first) + i * rows.stride};
  }
  // Of keys 2 i and 2 i + 1.
  static HWY_INLINE Value ValueAt(const StoredRows& rows, int64_t i) {
    const uint16_t* low = KeyAt(rows, 2 * i).at;
    return {low, low + rows.stride};
  }
  static HWY_INLINE FloatVec MulAdd(FloatVec a, FloatVec b, FloatVec sum) {
    return DotPairs(a, b, sum);
  }
  // All of one value before the other, in order of addresses.
  template <int kVectors>
  static HWY_INLINE void LoadValues(Floats d, const Value& v, int64_t column,
                                    FloatVec (&loaded)[kVectors]) {
    if constexpr (kVectors == 1) {
      loaded[0] = v.Load(d, column);
    } else {
      const hn::ScalableTag<uint16_t> halves;
      hn::Vec<decltype(halves)> low[kVectors / 2], high[kVectors / 2];
      HWY_UNROLL(4)
      for (int j = 0; j < kVectors / 2; ++j) {
        low[j] = LoadInOrder(halves, v.low + column + 2 * j * kPairLanes);
      }
      HWY_UNROLL(4)
      for (int j = 0; j < kVectors / 2; ++j) {
        high[j] = LoadInOrder(halves, v.high + column + 2 * j * kPairLanes);
        Interleave(low[j], high[j], loaded[2 * j], loaded[2 * j + 1]);
      }
    }
  }

 private:
  // Whole vectors of two values as pairs.
  template <class H>
  static HWY_INLINE void Interleave(H low, H high, FloatVec& first,
                                    FloatVec& second) {
    const hn::RebindToUnsigned<Floats> du;
    const auto first_half =
        hn::Or(hn::Iota(du, 0), hn::ShiftLeft<16>(hn::Iota(du, 32)));
    const auto second_half =
        hn::Add(first_half, hn::Set(du, uint32_t{0x00100010}));
    first.raw = _mm512_castsi512_ps(
        _mm512_permutex2var_epi16(low.raw, first_half.raw, high.raw));
    second.raw = _mm512_castsi512_ps(
        _mm512_permutex2var_epi16(low.raw, second_half.raw, high.raw));
  }
};

#endif  // REGARD_BF16_DOT

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
