// Rules about one array, whatever call it belongs to.
#ifndef REGARD_SRC_ATTENTION_ARRAY_CHECK_H_
#define REGARD_SRC_ATTENTION_ARRAY_CHECK_H_

#include <cstdint>
#include <string>

#include "regard/error.h"
#include "regard/tensor.h"

namespace regard::inline v0 {

// "q", or "parts[3].out". Text is made of it only for a message: checks
// allocate nothing on good input.
struct ArgumentName {
  ArgumentName(const char* n) : name(n) {}  // NOLINT: meant to convert
  ArgumentName(const char* n, size_t i, const char* m)
      : name(n), index(i), member(m) {}
  std::string Text() const;

  const char* name;
  size_t index = 0;
  const char* member = nullptr;  // null: no list
};

// Throws an Error with subject "function: argument" where a rule is broken.
class ArrayChecker {
 public:
  explicit ArrayChecker(const std::string& function) : function_(function) {}

  [[noreturn]] void Fail(const ArgumentName& argument,
                         const std::string& reason,
                         const std::string& hint = "",
                         ErrorKind kind = ErrorKind::kArgument) const;

  // Every size is >= 0; memory is there and its addresses fit 64 bits.
  void Memory(const TensorView& view, const ArgumentName& name) const;
  // f32 or f64.
  void Floating(const TensorView& view, const ArgumentName& name) const;
  void Shape(const TensorView& view, const ArgumentName& name,
             const Dims& wanted, const char* letters) const;

 private:
  const std::string& function_;
};

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_ARRAY_CHECK_H_
