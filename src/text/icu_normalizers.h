// ICU's normalizers, for the sources of this folder only.
#ifndef REGARD_SRC_TEXT_ICU_NORMALIZERS_H_
#define REGARD_SRC_TEXT_ICU_NORMALIZERS_H_

#include <unicode/normalizer2.h>

namespace regard::inline v0 {

// Error (kUnsupported) when ICU has lost its data.
const icu::Normalizer2& NfcNormalizer();
const icu::Normalizer2& NfdNormalizer();

}  // namespace regard::inline v0

#endif  // REGARD_SRC_TEXT_ICU_NORMALIZERS_H_
