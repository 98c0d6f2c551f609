#include "model/checkpoint.h"

#include <gmock/gmock.h>

#include "io/file.h"
#include "io/temp_dir.h"
#include "regard/model.h"

namespace regard::inline v0 {
namespace {

using ::testing::HasSubstr;

std::string LoadError(const std::string& directory, ErrorKind kind) {
  try {
    Model::Load(directory);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "it loaded";
  return "";
}

TEST(CheckpointTest, MissingFilesAreNamed) {
  const TempDir temp;
  const std::string& directory = temp.path();
  EXPECT_THAT(LoadError(directory + "/nowhere", ErrorKind::kFile),
              HasSubstr("nowhere: no such directory"));
  EXPECT_THAT(LoadError(directory, ErrorKind::kFile),
              HasSubstr("holds no config.json"));
  WriteFile(directory + "/config.json", "{\"model_type\": \"bert\"}");
  EXPECT_THAT(LoadError(directory + "/config.json", ErrorKind::kFile),
              HasSubstr("is no directory"));
  EXPECT_THAT(
      LoadError(directory, ErrorKind::kFile),
      HasSubstr("neither model.safetensors nor model.safetensors.index.json"));
  WriteFile(directory + "/model.safetensors.index.json",
            "{\"weight_map\": {\"w\": \"a.safetensors\"}}");
  EXPECT_THAT(LoadError(directory, ErrorKind::kFile),
              HasSubstr("a.safetensors"));
}

TEST(CheckpointTest, UnknownFamiliesAreAnsweredWithTheKnown) {
  const TempDir temp;
  const std::string& directory = temp.path();
  WriteSafeTensors(directory + "/model.safetensors", {});
  for (const auto& [config, kind, message] :
       {std::tuple{"{\"model_type\": \"gpt5\"}", ErrorKind::kUnsupported,
                   "config.json: model_type: \"gpt5\" is not a family this "
                   "version knows: known families: bert"},
        {"{}", ErrorKind::kFormat, "model_type: missing: known families: bert"},
        {"[]", ErrorKind::kFormat, "config.json: is no JSON object"},
        {"{\"a\": 1, \"a\": 2}", ErrorKind::kFormat, "\"a\" stands twice"},
        {"{", ErrorKind::kFormat, "config.json"},
        {"{\"model_type\": 3}", ErrorKind::kFormat, "model_type"}}) {
    WriteFile(directory + "/config.json", config);
    EXPECT_THAT(LoadError(directory, kind), HasSubstr(message));
  }
}

}  // namespace
}  // namespace regard::inline v0
