// What every module asks of its input, and the names it gives to the axes.
#ifndef REGARD_SRC_NN_INPUT_H_
#define REGARD_SRC_NN_INPUT_H_

#include <cstdint>
#include <string>

#include "regard/nn.h"
#include "regard/tensor.h"

namespace regard::inline v0 {

// A contiguous f32 array, seen as rows over its last axis; copied only when the
// caller's was strided.
class Rows {
 public:
  // Error (kArgument) naming `module` unless x is f32 of rank >= 1 whose last
  // axis has `width` elements; `width_name` is what the module calls that size.
  Rows(const char* module, const TensorView& x, int64_t width,
       const char* width_name);

  const TensorView& view() const { return view_; }
  const float* data() const { return view_.As<float>(); }
  int64_t count() const { return count_; }
  int64_t width() const { return view_.shape.Back(0); }
  // The shape with another last axis.
  Dims ShapeWith(int64_t new_width) const;

 private:
  Tensor copy_;
  TensorView view_;
  int64_t count_ = 0;
};

// Rank 2 ([L, width]) or 3 ([B, L, width]) as B sequences of length L.
struct Sequences {
  int64_t batch = 1, length = 0;
  bool batched = false;
};
// Error (kArgument) for other ranks.
Sequences SequencesOf(const char* module, const char* argument,
                      const TensorView& x);

// Error (kArgument) when a parameter of the module was never given values.
void RequireValues(const char* module, const Parameter& parameter,
                   const char* name);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_NN_INPUT_H_
