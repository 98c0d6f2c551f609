// BertProcessing: [CLS] A [SEP], and [CLS] A [SEP] B [SEP].
#include "io/json.h"
#include "regard/error.h"
#include "text/template.h"

namespace regard::inline v0 {

namespace {

// A member of the form ["[SEP]", 102].
TemplateItem Inserted(const PartSource& source, const char* key, int segment) {
  const std::string where = source.where + "." + key;
  const Json::Array& pair = Member(source, key).AsArray(where);
  if (pair.size() != 2) {
    throw Error(ErrorKind::kFormat, where, "must be a piece and its id");
  }
  return {TemplateItem::kInserted,
          segment,
          {{pair[0].AsString(where + "[0]"), pair[1].AsInt(where + "[1]")}}};
}

}  // namespace

std::unique_ptr<PostProcessor> MakeBertProcessing(const PartSource& source) {
  const TemplateItem cls = Inserted(source, "cls", 0);
  const TemplateItem sep = Inserted(source, "sep", 0);
  const TemplateItem last_sep = Inserted(source, "sep", 1);
  const TemplateItem first{0, 0, {}}, second{1, 1, {}};
  return std::make_unique<Template>(
      TemplateItems{cls, first, sep},
      TemplateItems{cls, first, sep, second, last_sep});
}

}  // namespace regard::inline v0
