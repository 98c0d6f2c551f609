#include "cli/map/arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "io/file.h"
#include "io/temp_dir.h"
#include "regard/io.h"

namespace regard::inline v0 {
namespace {

// "[CLS] a,"b" and a newline, in two heads of one layer.
struct Example {
  Example() {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<Tensor> weights;
    weights.push_back(Tensor::FromVector(
        {0.5f, 0.5f, 0.1f, 0.9f, 1, 0, nan, 1e-7f}, {1 * 2, 2, 2}));
    maps = AttentionMaps(std::move(weights));
    Token special, word;
    special.id = 101;
    special.piece = "[CLS]";
    special.special = true;
    word.id = 7;
    word.piece = "a,\"b\n";
    word.begin = 0;
    word.end = 5;
    request.encoding.tokens = {special, word};
    request.encoding.texts = {"a,\"b\n"};
    data = BuildMaps(maps, GroupHeads(maps.AllHeads(), Averaging::kNone),
                     {0, 1}, false);
    meta.Set("model", "none");
  }
  AttentionMaps maps;
  MapRequest request;
  MapData data;
  Json meta;
};

TEST(MapJsonTest, MembersInOrderNaNIsNullAndCounted) {
  const Example e;
  EXPECT_EQ(MapJson(e.request, e.data, e.meta),
            "{\"attention\":[[[[0.5,0.5],[0.1,0.9]],[[1,0],[null,1e-07]]]],"
            "\"layers\":[0],\"heads\":[0,1],"
            "\"tokens\":[\"[CLS]\",\"a,\\\"b\\n\"],\"ids\":[101,7],"
            "\"index\":[[0,0],[1,1]],\"offsets\":[[0,0],[0,5]],"
            "\"segments\":[0,0],\"special\":[true,false],"
            "\"meta\":{\"model\":\"none\"},\"nonfinite\":1}\n");
}

TEST(MapJsonTest, ReadsBackAndNestsByLayer) {
  Example e;
  e.data =
      BuildMaps(e.maps, GroupHeads({{0, 0}}, Averaging::kNone), {1}, false);
  const Json json = Json::Parse(MapJson(e.request, e.data, e.meta), "map");
  EXPECT_EQ(json.Find("attention")->Dump(), "[[[[0.9]]]]");
  EXPECT_EQ(json.Find("index")->Dump(), "[[1,1]]");
  EXPECT_EQ(json.Find("ids")->Dump(), "[7]");
}

TEST(MapCsvTest, OneRowPerCellQuoted) {
  const Example e;
  const TempDir dir;
  const std::string path = dir / "x.csv";
  WriteMapCsv(path, e.request, e.data, Console());
  const std::string text = ReadText(path);
  EXPECT_TRUE(
      text.starts_with("layer,head,query,query_token,key,key_token,weight\n"
                       "0,0,0,[CLS],0,[CLS],0.5\n"
                       "0,0,0,[CLS],1,\"a,\"\"b\n\",0.5\n"))
      << text;
  EXPECT_TRUE(
      text.ends_with("0,1,1,\"a,\"\"b\n\",0,[CLS],nan\n"
                     "0,1,1,\"a,\"\"b\n\",1,\"a,\"\"b\n\",1e-07\n"))
      << text;
}

TEST(MapNpzTest, MembersAndShapes) {
  const Example e;
  const TempDir dir;
  const std::string path = dir / "x.npz";
  WriteMapNpz(path, e.request, e.data, e.meta);
  EXPECT_THAT(ListArrays(path),
              testing::UnorderedElementsAre("attention", "layers", "heads",
                                            "tokens", "ids", "index", "offsets",
                                            "segments", "special", "meta"));
  const Tensor attention = ReadArray(path + ":attention");
  EXPECT_EQ(attention.shape(), (Dims{1, 2, 2, 2}));
  EXPECT_EQ(attention.As<float>()[3], 0.9f);
  EXPECT_EQ(attention.As<float>()[7], 1e-7f);
  EXPECT_EQ(ReadArray(path + ":special").As<bool>()[0], true);
  EXPECT_EQ(ReadArray(path + ":offsets").As<int64_t>()[3], 5);
}

}  // namespace
}  // namespace regard::inline v0
