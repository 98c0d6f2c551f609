// The arithmetic of the tile loop, built once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/flash.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target.h:
#include <hwy/highway.h>

#include "attention/kernels/bf16_dot-inl.h"
#include "attention/kernels/dropout-inl.h"
#include "attention/kernels/flash_ops.h"
#include "attention/kernels/register_tile-inl.h"
#include "attention/kernels/score_row-inl.h"
#include "attention/kernels/score_strip-inl.h"
#include "attention/kernels/softmax_strip-inl.h"

HWY_BEFORE_NAMESPACE();
namespace regard::inline v0 {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_HAVE_SCALABLE

const FlashOps<float>* OpsF32() { return nullptr; }
const FlashOps<double>* OpsF64() { return nullptr; }
const FlashOps<float>* OpsBF16() { return nullptr; }

#else

namespace hn = hwy::HWY_NAMESPACE;

template <class Cells, typename T>
void Scores(int64_t rows, const T* q, const T* k, int64_t depth, int64_t count,
            T* s, T* largest, const RowsAhead (&ahead)[2], LinesAhead* lines) {
  WithRows<ScoreStrip<Cells, T>::template Rows>(
      rows, ScoresArgs<T>{q, k, depth, count, s, largest, ahead, lines});
}

template <typename T>
void PackScores(const T* q, const T* rows, int64_t row_step, T* k,
                int64_t depth, int64_t count, T* s, T* largest,
                const RowsAhead (&ahead)[2], LinesAhead* lines) {
  PackScoreStrip(ScoresArgs<T>{q, k, depth, count, s, largest, ahead, lines},
                 KeysApart<T>{rows, row_step}, k);
}

template <class Cells, typename T>
auto PackScoresOf() -> decltype(FlashOps<T>::pack_scores) {
  if constexpr (Cells::kPair == 1) return PackScores<T>;
  return nullptr;
}

template <typename T>
struct AccumulateArgs {
  const T* p;
  const T* v;
  int64_t skipped;
  KeyRuns runs;
  int64_t panel_rows, row_step, columns;
  const T* factor;
  T* out;
  LinesAhead* lines;
};

// One panel of value columns (kVectors wide).
template <class Cells, int kRows, int kVectors, typename T>
HWY_INLINE void AccumulatePanel(const AccumulateArgs<T>& a, const T* v, T* out,
                                LinesAhead& lines) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = HWY_LANES(T);
  hn::Vec<decltype(d)> sums[kRows][kVectors];
  ClearSums(d, sums);
  const int64_t step = a.panel_rows == 0 ? a.row_step : kVectors * kLanes;
  for (int64_t i = 0; i < a.runs.count; ++i) {
    const IndexRange run = a.runs.at[i];
    const int64_t first = (a.skipped + run.begin) / Cells::kPair;
    FetchingProducts<Cells, kRows, kVectors, kScoreStride<T>, 1>(
        d, a.p + run.begin / Cells::kPair, v + first * step, step,
        (run.end - run.begin) / Cells::kPair, lines, sums);
  }
  HWY_UNROLL(12)
  for (int r = 0; r < kRows; ++r) {
    const auto factor = hn::Set(d, a.factor[r]);
    HWY_UNROLL(2)
    for (int j = 0; j < kVectors; ++j) {
      T* at = out + r * a.columns + j * kLanes;
      hn::Store(hn::MulAdd(hn::Load(d, at), factor, sums[r][j]), d, at);
    }
  }
}

template <class Cells, typename T>
struct AccumulateStrip {
  template <int kRows>
  struct Rows {
    static void Call(const AccumulateArgs<T>& a) {
      const T* v = a.v;
      int64_t column = 0;
      LinesAhead lines = *a.lines;
      for (; column + kPanel<T> <= a.columns; column += kPanel<T>) {
        AccumulatePanel<Cells, kRows, kPanelVectors>(a, v, a.out + column,
                                                     lines);
        v += a.panel_rows == 0 ? kPanel<T>
                               : a.panel_rows / Cells::kPair * kPanel<T>;
      }
      if (column < a.columns)
        AccumulatePanel<Cells, kRows, 1>(a, v, a.out + column, lines);
      *a.lines = lines;
    }
  };
};

template <class Cells, typename T>
void Accumulate(int64_t rows, const T* p, const T* v, int64_t skipped,
                const KeyRuns& runs, int64_t panel_rows, int64_t row_step,
                int64_t columns, const T* factor, T* out, LinesAhead* lines) {
  WithRows<AccumulateStrip<Cells, T>::template Rows>(
      rows, AccumulateArgs<T>{p, v, skipped, runs, panel_rows, row_step,
                              columns, factor, out, lines});
}

// One row and one vector of columns, in the same order of additions as above; a
// sum of -0 only stays -0.
template <typename T>
struct VisibleCells {
  static constexpr int64_t kPair = 1;
  using Weights = VisibleCells;

  static void Vector(const T* p, const T* v, int64_t step, const KeyRuns& runs,
                     T factor, const uint8_t* hidden, T* out) {
    const hn::ScalableTag<T> d;
    auto sum = hn::Set(d, -T{0});
    for (int64_t run = 0; run < runs.count; ++run) {
      for (int64_t i = runs.at[run].begin; i < runs.at[run].end; ++i) {
        if (hidden[i]) continue;
        sum = hn::MulAdd(hn::Set(d, p[i]), hn::Load(d, v + i * step), sum);
      }
    }
    hn::Store(hn::MulAdd(hn::Load(d, out), hn::Set(d, factor), sum), d, out);
  }
};

template <class Visible, typename T>
void AccumulateVisible(int64_t rows, const T* p, const T* v, int64_t skipped,
                       const KeyRuns& runs, int64_t panel_rows, int64_t columns,
                       const T* factor, const uint8_t* hidden, T* out) {
  constexpr int64_t kLanes = HWY_LANES(T);
  constexpr int64_t kPair = Visible::kPair;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t column = 0; column < columns; column += kLanes) {
      const int64_t panel = column / kPanel<T>;
      const int64_t width = HWY_MIN(kPanel<T>, columns - panel * kPanel<T>);
      const T* from = v + panel * (panel_rows / kPair) * kPanel<T> +
                      skipped / kPair * width + column % kPanel<T>;
      Visible::Vector(p + r * kScoreStride<T>, from, width, runs, factor[r],
                      hidden + r * kKeysPerBlock<T>,
                      out + r * columns + column);
    }
  }
}

template <class Cells, typename T>
void Softmax(int64_t rows, T* s, const KeyRuns& runs, T log2_scale,
             const T* largest, const RowState<T>& state) {
  SoftmaxStrip<Cells>(rows, s, runs, log2_scale, largest, state);
}

template <typename T>
void Cap(T* s, int64_t count, T scale, T cap) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (cap != 0) return CapFloats(s, count, scale, cap);
  }
  CapScores(s, count, scale, cap);
}

template <typename T>
void Add(T* s, const T* bias, int64_t count) {
  AddScores(s, bias, count);
}

void AddBF16(float* s, const uint16_t* bias, int64_t count) {
  AddScoresBF16(s, bias, count);
}

template <typename T>
auto AddBF16Of() -> void (*)(T*, const uint16_t*, int64_t) {
  if constexpr (sizeof(T) == sizeof(float)) return AddBF16;
  return nullptr;
}

template <typename T>
void AddLinearBias(T* s, int64_t count, double slope, T distance) {
  AddLinear(s, count, slope, distance);
}

template <typename T>
void Hide(T* s, const uint64_t* visible, int64_t first, int64_t count) {
  HideScores(s, visible, first, count);
}

template <class Cells, typename T>
void Drop(T* p, IndexRange run, int64_t first_key, const DropoutRow& row) {
  constexpr size_t kBytes = sizeof(T) / Cells::kPair;
  DropWeights<kBytes>(reinterpret_cast<unsigned char*>(p) +
                          run.begin * static_cast<int64_t>(kBytes),
                      run.end - run.begin, first_key, row);
}

uint64_t NotZero(const uint8_t* bytes) { return NotZeroBits(bytes); }

template <typename T>
void Weights(T* s, int64_t count, T log2_scale, T max, T sum) {
  const IndexRange all = {0, count};
  RowExp<PlainCells>(s, KeyRuns{&all, 1}, ScaledExp2<T>(log2_scale), max);
  DivideBySum(s, count, sum);
}

template <typename T>
bool Finish(T* out, int64_t columns, T sum) {
  const hn::ScalableTag<T> d;
  DivideBySum(out, columns, sum);
  auto zero = hn::Zero(d);  // or NaN
  for (int64_t i = 0; i < columns; i += HWY_LANES(T)) {
    zero = hn::MulAdd(hn::Load(d, out + i), hn::Zero(d), zero);
  }
  return hn::AllTrue(d, hn::Eq(zero, hn::Zero(d)));
}

template <typename T, class Cells = PlainCells, class Visible = VisibleCells<T>>
FlashOps<T> OpsOn(const char* instruction_set) {
  return {
      .instruction_set = instruction_set,
      .lanes = HWY_LANES(T),
      .panel = kPanel<T>,
      .strip_rows = kStripRows,
      .pairs = Cells::kPair == 2,
      .pack_depth = kMaxChain,
      .scores = Scores<Cells, T>,
      .pack_scores = PackScoresOf<Cells, T>(),
      .cap = Cap<T>,
      .add = Add<T>,
      .add_bf16 = AddBF16Of<T>(),
      .add_linear = AddLinearBias<T>,
      .hide = Hide<T>,
      .not_zero = NotZero,
      .softmax = Softmax<Cells, T>,
      .drop = Drop<Cells, T>,
      .drop_weights = Drop<PlainCells, T>,
      .accumulate = Accumulate<Cells, T>,
      .accumulate_visible = AccumulateVisible<Visible, T>,
      .accumulate_weights = AccumulateVisible<typename Visible::Weights, T>,
      .weights = Weights<T>,
      .finish = Finish<T>,
  };
}

const FlashOps<float>* OpsF32() {
  static const FlashOps<float> ops = OpsOn<float>(hwy::TargetName(HWY_TARGET));
  return &ops;
}

const FlashOps<double>* OpsF64() {
  static const FlashOps<double> ops =
      OpsOn<double>(hwy::TargetName(HWY_TARGET));
  return &ops;
}

#if REGARD_BF16_DOT

// Cells of two bf16.
struct PairCells {
  static constexpr int64_t kPair = 2;

  static HWY_INLINE FloatVec MulAdd(FloatVec a, FloatVec b, FloatVec sum) {
    return DotPairs(a, b, sum);
  }
  // What is written was read before: a weight takes half of a score's place.
  static HWY_INLINE void Store(FloatVec p, Floats d, float* row, int64_t i) {
    hn::Store(ToPairs(p, hn::Zero(d)), d, row + i / 2);
  }
  static HWY_INLINE void Store(FloatVec p0, FloatVec p1, Floats d, float* row,
                               int64_t i) {
    hn::Store(ToPairs(p0, p1), d, row + i / 2);
  }
};

// The values of pairs, with weights that are not rounded, in f32.
struct VisibleUnpairedWeights {
  static constexpr int64_t kPair = 2;

  static void Vector(const float* p, const float* v, int64_t step,
                     const KeyRuns& runs, float factor, const uint8_t* hidden,
                     float* out) {
    const Floats d;
    const hn::RebindToUnsigned<Floats> du;
    const auto upper = hn::Set(du, uint32_t{0xFFFF0000});
    auto sum = hn::Set(d, -0.0f);
    for (int64_t run = 0; run < runs.count; ++run) {
      for (int64_t i = runs.at[run].begin; i < runs.at[run].end; ++i) {
        if (hidden[i]) continue;
        const auto pair = hn::BitCast(du, hn::Load(d, v + i / 2 * step));
        const auto value =
            i % 2 == 0 ? hn::ShiftLeft<16>(pair) : hn::And(pair, upper);
        sum = hn::MulAdd(hn::Set(d, p[i]), hn::BitCast(d, value), sum);
      }
    }
    hn::Store(hn::MulAdd(hn::Load(d, out), hn::Set(d, factor), sum), d, out);
  }
};

// The products of AccumulatePanel, with 0 for what is hidden, whose weight is 0
// too: the same bits.
struct VisiblePairs {
  static constexpr int64_t kPair = 2;
  using Weights = VisibleUnpairedWeights;

  static void Vector(const float* p, const float* v, int64_t step,
                     const KeyRuns& runs, float factor, const uint8_t* hidden,
                     float* out) {
    const Floats d;
    const hn::RebindToUnsigned<Floats> du;
    auto sum = hn::Zero(d);
    for (int64_t run = 0; run < runs.count; ++run) {
      for (int64_t i = runs.at[run].begin; i < runs.at[run].end; i += 2) {
        const uint32_t seen =
            (hidden[i] ? 0 : 0x0000FFFFu) | (hidden[i + 1] ? 0 : 0xFFFF0000u);
        const auto pair = hn::BitCast(du, hn::Load(d, v + i / 2 * step));
        const auto values = hn::BitCast(d, hn::And(pair, hn::Set(du, seen)));
        sum = DotPairs(hn::Set(d, p[i / 2]), values, sum);
      }
    }
    hn::Store(hn::MulAdd(hn::Load(d, out), hn::Set(d, factor), sum), d, out);
  }
};

const FlashOps<float>* OpsBF16() {
  static const FlashOps<float> ops =
      OpsOn<float, PairCells, VisiblePairs>("AVX3_BF16");
  return &ops;
}

#else

const FlashOps<float>* OpsBF16() { return nullptr; }

#endif  // REGARD_BF16_DOT

#endif

}  // namespace HWY_NAMESPACE
}  // namespace regard::inline v0
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "attention/kernels/target_index.h"

namespace regard::inline v0 {

HWY_EXPORT(OpsF32);
HWY_EXPORT(OpsF64);
HWY_EXPORT(OpsBF16);

template <>
const FlashOps<float>* FlashOpsFor<float>(SimdTarget target) {
  return HWY_DISPATCH_TABLE(OpsF32)[TargetIndex(target)]();
}

template <>
const FlashOps<double>* FlashOpsFor<double>(SimdTarget target) {
  return HWY_DISPATCH_TABLE(OpsF64)[TargetIndex(target)]();
}

const FlashOps<float>* FlashBF16OpsFor(SimdTarget target) {
  if (target != kAvx3Bf16) return nullptr;
  return HWY_DISPATCH_TABLE(OpsBF16)[TargetIndex(target)]();
}

}  // namespace regard::inline v0
#endif  // HWY_ONCE
