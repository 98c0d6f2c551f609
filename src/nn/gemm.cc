#include "nn/gemm.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/float_state.h"
#include "base/parallel_for.h"
#include "regard/error.h"
#include "tensor/simd_target.h"

namespace regard::inline v0 {

namespace {

// oneDNN 2.6 gives a row other bits when the number of rows changes, so every
// product has the same shape: kPieceRows x in times in x kPanelColumns, the
// last piece padded. 16 rows waste little on a short sentence; with the panel
// of weights transposed once per task (oneDNN does it again for every piece
// otherwise), they reach 95 % of the speed of 64. 96 columns are twice the 48
// of oneDNN's AVX-512 kernel and leave enough panels to share out.
constexpr int64_t kPieceRows = 16;
constexpr int64_t kPanelColumns = 96;
// Inputs are summed in chains of this length, whose sums are added. Measured at
// in = 512: half the rounding error of one chain, for 5 % of the speed.
constexpr int64_t kChain = 128;
// Tasks per thread that are aimed at, so that threads end together.
constexpr int64_t kTasksPerThread = 2;

// For oneDNN this thread's OpenMP has one thread while this lives: no team is
// ever started (a forked child of a process with a team hangs). The setting
// belongs to the thread and comes back. Found at run time, because which OpenMP
// library oneDNN brings with it, if any, is the system's choice.
class OneOpenMpThread {
 public:
  OneOpenMpThread() {
    if (!Usable()) return;
    saved_ = Get()();
    if (saved_ != 1) Set()(1);
  }
  ~OneOpenMpThread() {
    if (Usable() && saved_ != 1) Set()(saved_);
  }
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  using Getter = int (*)();
  using Setter = void (*)(int);
  static Getter Get() {
    static const Getter get =
        reinterpret_cast<Getter>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    return get;
  }
  static Setter Set() {
    static const Setter set =
        reinterpret_cast<Setter>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    return set;
  }
  static bool Usable() { return Get() != nullptr && Set() != nullptr; }

  int saved_ = 1;
};

dnnl::cpu_isa OneDnnIsa(const std::string& name) {
  if (name == "AVX3_DL") return dnnl::cpu_isa::all;
  if (name.starts_with("AVX3")) return dnnl::cpu_isa::avx512_core;
  if (name == "AVX2") return dnnl::cpu_isa::avx2;
  return dnnl::cpu_isa::sse41;  // the least that oneDNN has kernels for
}

// The instruction set can be chosen before oneDNN's first product only; when
// the host has used it already, its choice stands.
void CapInstructionSet() {
  static const bool done = [] {
    const std::string widest = SimdTargetName(UsableSimdTargets().front());
    static_cast<void>(
        dnnl_set_max_cpu_isa(static_cast<dnnl_cpu_isa_t>(OneDnnIsa(widest))));
    return true;
  }();
  static_cast<void>(done);
}

const dnnl::engine& Engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

using dnnl::memory;

// Rows of an array of floats, `stride` apart.
memory::desc RowsDesc(int64_t rows, int64_t columns, int64_t stride) {
  return {{rows, columns}, memory::data_type::f32, memory::dims{stride, 1}};
}

dnnl::primitive_attr OwnScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// A piece of rows times a chain of the transposed panel; the first chain of a
// product overwrites, the others add.
struct ChainKernel {
  ChainKernel(int64_t in, int64_t columns, int64_t length, bool adds);

  memory::desc rows, weights, out, scratch;
  dnnl::matmul multiply;
};

ChainKernel::ChainKernel(int64_t in, int64_t columns, int64_t length, bool adds)
    : rows(RowsDesc(kPieceRows, length, in)),
      weights(RowsDesc(length, columns, columns)),
      out(RowsDesc(kPieceRows, columns, columns)) {
  dnnl::primitive_attr attributes = OwnScratchpad();
  if (adds) {
    dnnl::post_ops add;
    add.append_sum();
    attributes.set_post_ops(add);
  }
  const dnnl::matmul::primitive_desc product(
      dnnl::matmul::desc(rows, weights, out), attributes, Engine());
  scratch = product.scratchpad_desc();
  multiply = dnnl::matmul(product);
}

// The oneDNN primitives for one panel of weights: its transposition and the
// chains. Shared by all threads: the scratchpad is the caller's, oneDNN's own
// would be shared silently.
struct PanelKernels {
  PanelKernels(int64_t in, int64_t columns);
  const ChainKernel& Chain(int64_t begin) const {
    if (begin == 0) return first;
    return in - begin < kChain ? last : middle;
  }
  size_t ScratchBytes() const;

  int64_t in, columns;
  memory::desc weight, packed, pack_scratch;
  dnnl::reorder pack;
  ChainKernel first, middle, last;
  const PanelKernels* next = nullptr;
};

PanelKernels::PanelKernels(int64_t in, int64_t columns)
    : in(in),
      columns(columns),
      weight({in, columns}, memory::data_type::f32, memory::dims{1, in}),
      packed(RowsDesc(in, columns, columns)),
      first(in, columns, std::min(in, kChain), /*adds=*/false),
      middle(in, columns, std::min(in, kChain), /*adds=*/true),
      last(in, columns, in % kChain == 0 ? std::min(in, kChain) : in % kChain,
           /*adds=*/true) {
  const dnnl::reorder::primitive_desc reorder(Engine(), weight, Engine(),
                                              packed, OwnScratchpad());
  pack_scratch = reorder.scratchpad_desc();
  pack = dnnl::reorder(reorder);
}

size_t PanelKernels::ScratchBytes() const {
  return std::max({pack_scratch.get_size(), first.scratch.get_size(),
                   middle.scratch.get_size(), last.scratch.get_size()});
}

// Kernels live for the rest of the process in a list that only grows at its
// head: no lock that a fork could leave locked in the child.
std::atomic<const PanelKernels*> kernels_head{nullptr};

const PanelKernels& KernelsFor(int64_t in, int64_t columns) {
  const PanelKernels* head = kernels_head.load(std::memory_order_acquire);
  for (const PanelKernels* at = head; at != nullptr; at = at->next) {
    if (at->in == in && at->columns == columns) return *at;
  }
  CapInstructionSet();
  const OneOpenMpThread one_thread;
  auto fresh = std::make_unique<PanelKernels>(in, columns);
  fresh->next = head;
  while (!kernels_head.compare_exchange_weak(fresh->next, fresh.get())) {
  }
  return *fresh.release();
}

// Memory of a thread that grows to the largest request and stays, so that a
// product allocates nothing after the first of its size.
class Scratch {
 public:
  float* Floats(size_t bytes) {
    constexpr size_t kAlignment = 64;
    if (bytes > size_) {
      const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
      data_.reset(static_cast<float*>(std::aligned_alloc(kAlignment, rounded)));
      size_ = data_ == nullptr ? 0 : rounded;
      if (data_ == nullptr) {
        throw Error(
            ErrorKind::kMemory, "Linear",
            "no memory for " + std::to_string(rounded) + " bytes of scratch");
      }
    }
    return data_.get();
  }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> data_;
  size_t size_ = 0;
};

size_t RoundedUp(size_t bytes) {
  constexpr size_t kLine = 64;
  return (bytes + kLine - 1) / kLine * kLine;
}

// One panel of weight columns times the rows of one task.
class PanelTask {
 public:
  PanelTask(const GemmProblem& problem, const PanelKernels& kernels);
  // Columns [first, first + kernels.columns), rows [begin, end).
  void Run(int64_t first_column, int64_t begin, int64_t end);

 private:
  // One chain with its operands; made once per task, since oneDNN's handles
  // cost as much as a small product.
  struct BoundChain {
    BoundChain(const ChainKernel& kernel, float* weights, float* out,
               float* scratch);
    void Run(const dnnl::stream& stream, const float* from);

    const ChainKernel* kernel;
    memory rows, weights, out, scratch;
  };

  void Pack(const float* weight);
  void Store(int64_t first_column, int64_t begin, int64_t end) const;

  const GemmProblem& problem_;
  const PanelKernels& kernels_;
  dnnl::stream stream_;
  float *packed_, *padded_, *out_, *scratch_;
  std::vector<BoundChain> chains_;
};

PanelTask::BoundChain::BoundChain(const ChainKernel& kernel, float* weights,
                                  float* out, float* scratch)
    : kernel(&kernel),
      rows(kernel.rows, Engine(), nullptr),
      weights(kernel.weights, Engine(), weights),
      out(kernel.out, Engine(), out),
      scratch(kernel.scratch, Engine(), scratch) {}

void PanelTask::BoundChain::Run(const dnnl::stream& stream, const float* from) {
  rows.set_data_handle(const_cast<float*>(from));
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, rows.get()},
                                       {DNNL_ARG_WEIGHTS, weights.get()},
                                       {DNNL_ARG_DST, out.get()},
                                       {DNNL_ARG_SCRATCHPAD, scratch.get()}};
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(kernel->multiply.get(), stream.get(),
                             std::size(arguments), arguments),
      "could not execute a product");
}

PanelTask::PanelTask(const GemmProblem& problem, const PanelKernels& kernels)
    : problem_(problem), kernels_(kernels), stream_(Engine()) {
  thread_local Scratch scratch;
  const size_t packed = RoundedUp(kernels.packed.get_size());
  const size_t padded =
      RoundedUp(static_cast<size_t>(kPieceRows * kernels.in) * sizeof(float));
  const size_t out = RoundedUp(kernels.first.out.get_size());
  packed_ =
      scratch.Floats(packed + padded + out + RoundedUp(kernels.ScratchBytes()));
  padded_ = packed_ + packed / sizeof(float);
  out_ = padded_ + padded / sizeof(float);
  scratch_ = out_ + out / sizeof(float);
  for (int64_t begin = 0; begin < kernels.in; begin += kChain) {
    chains_.emplace_back(kernels.Chain(begin),
                         packed_ + begin * kernels.columns, out_, scratch_);
  }
}

void PanelTask::Pack(const float* weight) {
  const memory from(kernels_.weight, Engine(), const_cast<float*>(weight));
  const memory to(kernels_.packed, Engine(), packed_);
  const memory rest(kernels_.pack_scratch, Engine(), scratch_);
  kernels_.pack.execute(
      stream_,
      {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, rest}});
}

void PanelTask::Store(int64_t first_column, int64_t begin, int64_t end) const {
  const int64_t columns = kernels_.columns;
  const float* const bias =
      problem_.bias == nullptr ? nullptr : problem_.bias + first_column;
  for (int64_t row = begin; row < end; ++row) {
    const float* const from = out_ + (row - begin) * columns;
    float* const to = problem_.out + row * problem_.out_features + first_column;
    if (bias == nullptr) {
      std::copy(from, from + columns, to);
    } else {
      for (int64_t j = 0; j < columns; ++j) to[j] = from[j] + bias[j];
    }
  }
}

void PanelTask::Run(int64_t first_column, int64_t begin, int64_t end) {
  const int64_t in = problem_.in;
  Pack(problem_.weight + first_column * in);
  for (int64_t row = begin; row < end; row += kPieceRows) {
    const int64_t piece_end = std::min(end, row + kPieceRows);
    const float* rows = problem_.x + row * in;
    if (piece_end - row < kPieceRows) {
      const int64_t used = (piece_end - row) * in;
      std::copy(rows, rows + used, padded_);
      std::fill(padded_ + used, padded_ + kPieceRows * in, 0.0f);
      rows = padded_;
    }
    for (size_t i = 0; i < chains_.size(); ++i) {
      chains_[i].Run(stream_, rows + static_cast<int64_t>(i) * kChain);
    }
    Store(first_column, row, piece_end);
  }
}

// Without inputs a row is the bias, or 0.
void FillWithBias(const GemmProblem& problem) {
  for (int64_t row = 0; row < problem.rows; ++row) {
    float* const to = problem.out + row * problem.out_features;
    if (problem.bias == nullptr) {
      std::fill(to, to + problem.out_features, 0.0f);
    } else {
      std::copy(problem.bias, problem.bias + problem.out_features, to);
    }
  }
}

// How the product is shared out: panels of columns times chunks of rows. Where
// it is cut has no influence on the bits.
void MultiplyPanels(const GemmProblem& problem, int threads) {
  const int64_t panels = CeilDiv(problem.out_features, kPanelColumns);
  const int64_t pieces = CeilDiv(problem.rows, kPieceRows);
  const int64_t wanted = kTasksPerThread * ResolveThreads(threads);
  const int64_t chunks = std::clamp<int64_t>(wanted / panels, 1, pieces);
  const int64_t chunk_rows = CeilDiv(pieces, chunks) * kPieceRows;
  const int64_t last_columns =
      problem.out_features - (panels - 1) * kPanelColumns;
  const PanelKernels& last = KernelsFor(problem.in, last_columns);
  const PanelKernels& whole =
      panels > 1 ? KernelsFor(problem.in, kPanelColumns) : last;
  const int64_t row_chunks = CeilDiv(problem.rows, chunk_rows);
  ParallelFor(panels * row_chunks, threads, [&](int64_t task, int) {
    const ScopedFloatState float_state;
    const OneOpenMpThread one_thread;
    const int64_t panel = task / row_chunks, chunk = task % row_chunks;
    PanelTask(problem, panel + 1 == panels ? last : whole)
        .Run(panel * kPanelColumns, chunk * chunk_rows,
             std::min(problem.rows, (chunk + 1) * chunk_rows));
  });
}

}  // namespace

void MultiplyByTransposed(const GemmProblem& problem, int threads) {
  if (problem.rows == 0 || problem.out_features == 0) return;
  if (problem.in == 0) return FillWithBias(problem);
  try {
    MultiplyPanels(problem, threads);
  } catch (const dnnl::error& error) {
    const bool memory = error.status == dnnl_out_of_memory;
    throw Error(memory ? ErrorKind::kMemory : ErrorKind::kUnsupported, "Linear",
                std::string("oneDNN: ") + error.what());
  }
}

}  // namespace regard::inline v0
