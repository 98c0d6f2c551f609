// Rules about packed sequences, lengths, pages and rings.
#ifndef REGARD_SRC_ATTENTION_SEQUENCE_CHECK_H_
#define REGARD_SRC_ATTENTION_SEQUENCE_CHECK_H_

#include "attention/array_check.h"
#include "attention/problem.h"

namespace regard::inline v0 {

// Cumulative lengths [sequences + 1], i32 or i64, of parts of an axis that is
// `total` long; returns the longest. `axis` names it for messages.
int64_t CheckStarts(const ArrayChecker& check, const TensorView& starts,
                    const char* name, int64_t sequences, int64_t total,
                    const char* axis);

// Of q, k and v of rank 4 and the lists beside them; fills the numbers and
// lengths of sequences.
void CheckSequences(const ArrayChecker& check, const AttentionProblem& inputs,
                    Problem& problem);

// No query may see a key that a ring has lost. Of a problem that is checked
// otherwise.
void CheckRing(const ArrayChecker& check, const Problem& problem);

}  // namespace regard::inline v0

#endif  // REGARD_SRC_ATTENTION_SEQUENCE_CHECK_H_
