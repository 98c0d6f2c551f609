#include "regard/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace regard::inline v0 {
namespace {}  // namespace
}  // namespace regard::inline v0
