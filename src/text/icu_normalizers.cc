#include "text/icu_normalizers.h"

#include "regard/error.h"

namespace regard::inline v0 {

namespace {

using Getter = const icu::Normalizer2* (*)(UErrorCode&);

const icu::Normalizer2& Get(Getter getter) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = getter(status);
  if (U_FAILURE(status)) {
    throw Error(ErrorKind::kUnsupported, "ICU",
                "its normalization data are missing",
                "install the package libicu72 again");
  }
  return *normalizer;
}

}  // namespace

const icu::Normalizer2& NfcNormalizer() {
  static const icu::Normalizer2& nfc = Get(icu::Normalizer2::getNFCInstance);
  return nfc;
}

const icu::Normalizer2& NfdNormalizer() {
  static const icu::Normalizer2& nfd = Get(icu::Normalizer2::getNFDInstance);
  return nfd;
}

}  // namespace regard::inline v0
