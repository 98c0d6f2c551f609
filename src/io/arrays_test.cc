#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "io/file.h"
#include "io/npy_format.h"
#include "io/npz_reader.h"
#include "io/temp_dir.h"
#include "io/zip_writer.h"
#include "regard/error.h"
#include "regard/io.h"

namespace regard {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kGolden =
    std::string(REGARD_SOURCE_DIR) + "/tests/golden/io/";

std::span<const uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

template <typename Function>
std::string ErrorOf(Function function, ErrorKind kind = ErrorKind::kFormat) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

std::vector<double> Values(const TensorView& view) {
  const Tensor values = Converted(view, DType::kF64);
  const double* begin = values.As<double>();
  return {begin, begin + values.NumElements()};
}

std::vector<double> Counted(int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i));
  return values;
}

// The bytes of a member of an archive.
std::string MemberBytes(const std::string& archive, const std::string& name) {
  const std::string bytes = ReadText(archive);
  const ZipReader reader(Bytes(bytes), archive);
  for (const ZipReader::Member& member : reader.members()) {
    if (member.name != name) continue;
    const auto source = reader.Open(member);
    std::string out(source->remaining(), '\0');
    source->Read({reinterpret_cast<uint8_t*>(out.data()), out.size()});
    return out;
  }
  ADD_FAILURE() << "no member " << name;
  return "";
}

Tensor ParseNpy(const std::string& bytes) {
  MemorySource source(Bytes(bytes));
  return ReadNpy(source, "x.npy");
}

// An array of version 1 with this dictionary.
std::string Npy(const std::string& dictionary, const std::string& data) {
  std::string bytes = "\x93NUMPY\1";
  bytes += '\0';
  bytes += static_cast<char>(dictionary.size() & 0xFF);
  bytes += static_cast<char>(dictionary.size() >> 8);
  return bytes + dictionary + data;
}

std::string Dictionary(const std::string& descr, const std::string& order,
                       const std::string& shape) {
  return "{'descr': " + descr + ", 'fortran_order': " + order +
         ", 'shape': " + shape + ", }\n";
}

class NumpyArchive : public testing::TestWithParam<const char*> {};

TEST_P(NumpyArchive, EveryTypeOrderAndLayoutIsRead) {
  const std::string path = kGolden + GetParam();
  const std::map<std::string, DType> types = {
      {"b1", DType::kBool}, {"u1", DType::kU8},  {"i1", DType::kI8},
      {"u2", DType::kU16},  {"i2", DType::kI16}, {"f2", DType::kF16},
      {"u4", DType::kU32},  {"i4", DType::kI32}, {"f4", DType::kF32},
      {"u8", DType::kU64},  {"i8", DType::kI64}, {"f8", DType::kF64}};
  for (const auto& [type, dtype] : types) {
    for (const char* order :
         {"_little_c", "_big_c", "_little_fortran", "_big_fortran"}) {
      const Tensor array = ReadArray(path + ":" + type + order);
      EXPECT_EQ(array.dtype(), dtype);
      EXPECT_EQ(array.shape(), (Dims{2, 3}));
      if (dtype == DType::kBool) {
        EXPECT_THAT(Values(array), ElementsAre(0, 1, 1, 1, 1, 1)) << order;
      } else {
        EXPECT_EQ(Values(array), Counted(6)) << type << order;
      }
    }
  }
}

TEST_P(NumpyArchive, EveryRankAndVersionIsRead) {
  const std::string path = kGolden + GetParam();
  const std::map<std::string, Dims> shapes = {
      {"rank0", {}},           {"rank1", {3}},
      {"rank4", {1, 2, 3, 4}}, {"rank4_fortran", {1, 2, 3, 4}},
      {"empty", {2, 0}},       {"version2", {3}},
      {"version3", {3}}};
  for (const auto& [name, shape] : shapes) {
    const Tensor array = ReadArray(path + ":" + name);
    EXPECT_EQ(array.shape(), shape) << name;
    EXPECT_EQ(Values(array), Counted(NumElements(shape))) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, NumpyArchive,
                         testing::Values("stored.npz", "deflated.npz"));

TEST(Npy, TypesWithoutACounterpartAreNamed) {
  const std::string path = kGolden + "bad_types.npz";
  const std::map<std::string, std::string> reasons = {
      {"object", "Python objects"},
      {"complex", "complex numbers"},
      {"record", "records"},
      {"raw", "raw records"},
      {"bytes", "text"},
      {"unicode", "text"},
      {"date", "dates"},
      {"long_double", "a type that is not"}};
  EXPECT_EQ(ListArrays(path).size(), reasons.size());
  for (const auto& [name, reason] : reasons) {
    EXPECT_THAT(
        ErrorOf([&, &name = name] { ReadArray(path + ":" + name); },
                ErrorKind::kUnsupported),
        HasSubstr("bad_types.npz: " + name + ": an array of " + reason));
  }
}

TEST(Npy, SameBytesAsNumpy) {
  const TempDir dir;
  const Tensor values = Tensor::FromVector({0, 1, 2, 3, 4, 5}, {2, 3});
  WriteNpy(dir / "x.npy", values);
  EXPECT_EQ(ReadText(dir / "x.npy"),
            MemberBytes(kGolden + "stored.npz", "f4_little_c.npy"));
  WriteNpy(dir / "x.npy", Converted(values, DType::kF64));
  EXPECT_EQ(ReadText(dir / "x.npy"),
            MemberBytes(kGolden + "stored.npz", "f8_little_c.npy"));
  const float zero = 0;
  WriteNpy(dir / "x.npy", TensorView(&zero, {}));
  EXPECT_EQ(ReadText(dir / "x.npy"),
            MemberBytes(kGolden + "stored.npz", "rank0.npy"));
  WriteNpy(dir / "x.npy", values.view().Reshaped({6}).Slice(0, 0, 3));
  EXPECT_EQ(ReadText(dir / "x.npy"),
            MemberBytes(kGolden + "stored.npz", "rank1.npy"));
  EXPECT_EQ(NpyHeader("<f4", {2, 0}),
            MemberBytes(kGolden + "stored.npz", "empty.npy"));
  EXPECT_EQ(NpyHeader("<f4", {1234567890, 0, 1234567890}),
            MemberBytes(kGolden + "stored.npz", "wide.npy"));
}

TEST(Npy, EveryTypeComesBack) {
  const TempDir dir;
  const Tensor values = Tensor::FromVector({-1.5f, 2, 3}, {3});
  WriteNpy(dir / "x.npy", Converted(values, DType::kBF16));
  const Tensor read = ReadArray(dir / "x.npy");
  EXPECT_EQ(read.dtype(), DType::kF32);
  EXPECT_THAT(Values(read), ElementsAre(-1.5, 2, 3));
  for (const DType dtype :
       {DType::kBool, DType::kU8, DType::kI8, DType::kU16, DType::kI16,
        DType::kF16, DType::kU32, DType::kI32, DType::kF32, DType::kU64,
        DType::kI64, DType::kF64}) {
    Tensor array(dtype, {2, 2});
    static_cast<uint8_t*>(array.mutable_view().mutable_data())[0] = 1;
    WriteNpy(dir / "x.npy", array);
    const Tensor back = ReadArray(dir / "x.npy");
    EXPECT_EQ(back.dtype(), dtype);
    EXPECT_EQ(Values(back), Values(array)) << Name(dtype);
  }
}

TEST(Npy, AnyLayoutIsWrittenRowMajor) {
  const TempDir dir;
  const Tensor values = Tensor::FromVector({1, 2, 3, 4, 5, 6}, {2, 3});
  WriteNpy(dir / "x.npy", values.view().Transposed(0, 1));
  const Tensor read = ReadArray(dir / "x.npy");
  EXPECT_EQ(read.shape(), (Dims{3, 2}));
  EXPECT_THAT(Values(read), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(Npy, BoolsAreZeroOrOne) {
  const Tensor read =
      ParseNpy(Npy(Dictionary("'|b1'", "False", "(2,)"), "\2z"));
  const auto* bytes = static_cast<const uint8_t*>(read.view().data);
  EXPECT_EQ(bytes[0], 1);
  EXPECT_EQ(bytes[1], 1);
}

TEST(Npy, OtherSpellingsOfTheHeader) {
  const std::string data("\0\0\x80?", 4);
  for (const char* dictionary :
       {"{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(1,)}",
        " { 'shape' : ( 1L , ) , 'fortran_order' : True , 'descr' : 'f4' } ",
        "{'descr': '=f4', 'fortran_order': False, 'shape': (1), }"}) {
    EXPECT_THAT(Values(ParseNpy(Npy(dictionary, data))), ElementsAre(1))
        << dictionary;
  }
}

TEST(Npy, ABrokenHeaderIsRefused) {
  const std::string good = Dictionary("'<f4'", "False", "(1,)");
  EXPECT_EQ(ErrorOf([&] { ParseNpy(Npy(good, "1234")); }), "no error");
  for (const std::string& dictionary :
       {std::string(), std::string("{"), std::string("{}"), good + "x",
        "[" + good, Dictionary("'<f4'", "0", "(1,)"),
        Dictionary("'<f4'", "False", "[1]"),
        Dictionary("'<f4'", "False", "(,)"),
        Dictionary("'<f4'", "False", "(-1,)"),
        Dictionary("'<f4'", "False", "(1.5,)"),
        Dictionary("'<f4'", "False", "(1 2)"),
        Dictionary("'<f4'", "False", "(99999999999999999999,)"),
        std::string("{'descr': '<f4"), Dictionary("", "False", "(1,)"),
        std::string("{'descr': '<f4', 'shape': (1,)}"),
        std::string("{'descr': '<f4', 'descr': '<f4', 'shape': (1,), "
                    "'fortran_order': False}"),
        std::string("{'other': 1, 'descr': '<f4', 'shape': (1,), "
                    "'fortran_order': False}")}) {
    EXPECT_THAT(ErrorOf([&] { ParseNpy(Npy(dictionary, "1234")); }),
                HasSubstr("x.npy: the header of the array is not valid"))
        << dictionary;
  }
  EXPECT_THAT(
      ErrorOf(
          [&] {
            ParseNpy(Npy(Dictionary("'<f4'", "False", "(1,1,1,1,1,1,1,1,1)"),
                         "1234"));
          },
          ErrorKind::kUnsupported),
      HasSubstr("rank above 8"));
}

TEST(Npy, EveryTruncationIsFound) {
  const std::string whole =
      Npy(Dictionary("'<f4'", "False", "(2,)"), "12345678");
  EXPECT_EQ(ErrorOf([&] { ParseNpy(whole); }), "no error");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(ErrorOf([&] { ParseNpy(whole.substr(0, size)); }), "no error");
  }
  EXPECT_THAT(ErrorOf([&] { ParseNpy(whole.substr(0, whole.size() - 1)); }),
              HasSubstr("an array of f32 [2] needs 8 bytes but 7 are there: "
                        "the file is damaged"));
  EXPECT_THAT(ErrorOf([&] { ParseNpy(whole + "x"); }),
              HasSubstr("needs 8 bytes but 9 are there"));
}

TEST(Npy, HugeSizesAreRefusedBeforeUse) {
  EXPECT_THAT(
      ErrorOf([] {
        ParseNpy(Npy(Dictionary("'<f4'", "False", "(4294967296, 4294967296)"),
                     "1234"));
      }),
      HasSubstr("needs more than 2^63 bytes but 4 are there"));
  std::string header = "\x93NUMPY\2";
  header += std::string("\0\xFF\xFF\xFF\xFF", 5);
  EXPECT_THAT(ErrorOf([&] { ParseNpy(header + std::string(100, ' ')); }),
              HasSubstr("claims 4294967295 bytes, the limit is 10000"));
  header[6] = 4;
  EXPECT_THAT(ErrorOf([&] { ParseNpy(header); }, ErrorKind::kUnsupported),
              HasSubstr("version 4.0 of the .npy format"));
  EXPECT_THAT(ErrorOf([] { ParseNpy("PK\3\4 something else"); }),
              HasSubstr("no .npy array"));
}

TEST(NpzWriter, ReadsBackAndIsTheSameEachTime) {
  const TempDir dir;
  const Tensor values = Tensor::FromVector({1, 2, 3, 4}, {2, 2});
  for (const char* name : {"a.npz", "b.npz"}) {
    NpzWriter writer(dir / name);
    writer.Add("values", values);
    writer.Add("turned", values.view().Transposed(0, 1));
    writer.AddStrings("text", {"a", "zwei\u00e9", "\U0001F600"});
    writer.AddString("text0", "");
    writer.Add("nothing", Tensor(DType::kI64, {0}));
    EXPECT_EQ(dir.Names().size(), name[0] == 'a' ? 1u : 2u);
    writer.Commit();
  }
  EXPECT_EQ(ReadText(dir / "a.npz"), ReadText(dir / "b.npz"));
  EXPECT_THAT(ListArrays(dir / "a.npz"),
              ElementsAre("values", "turned", "text", "text0", "nothing"));
  EXPECT_THAT(Values(ReadArray(dir / "a.npz:values")), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Values(ReadArray(dir / "a.npz:turned")), ElementsAre(1, 3, 2, 4));
  EXPECT_EQ(ReadArray(dir / "a.npz:nothing").shape(), (Dims{0}));
  for (const char* text : {"text.npy", "text0.npy"}) {
    EXPECT_EQ(MemberBytes(dir / "a.npz", text),
              MemberBytes(kGolden + "stored.npz", text));
  }
}

TEST(ReadArray, OtherMembersOfAnArchiveAreLeftOut) {
  const TempDir dir;
  ZipWriter zip(dir / "x.npz");
  zip.Add("read.me", {"text"});
  zip.Add("a.npy", {NpyHeader("<f4", {0})});
  zip.Commit();
  EXPECT_THAT(ListArrays(dir / "x.npz"), ElementsAre("a"));
  EXPECT_EQ(ReadArray(dir / "x.npz").shape(), (Dims{0}));
}

TEST(NpzWriter, NothingStaysWithoutCommit) {
  const TempDir dir;
  {
    NpzWriter writer(dir / "a.npz");
    writer.AddStrings("empty", {});
    writer.AddString("broken", "a\xff");
  }
  EXPECT_TRUE(dir.Names().empty());
}

TEST(ReadArray, TheNameMayBeLeftOutWhenThereIsOneArray) {
  const TempDir dir;
  const Tensor one = Tensor::FromVector({7}, {1});
  NpzWriter writer(dir / "x.npz");
  writer.Add("m", one);
  writer.Commit();
  WriteSafeTensors(dir / "x.safetensors", {{"m", one}});
  WriteNpy(dir / "x.npy", one);
  for (const char* spec : {"x.npz", "x.npz:m", "x.npz:", "x.safetensors",
                           "x.safetensors:m", "x.npy"}) {
    EXPECT_THAT(Values(ReadArray(dir / spec)), ElementsAre(7)) << spec;
  }
  EXPECT_THAT(ListArrays(dir / "x.npy"), ElementsAre(""));
  EXPECT_THAT(ListArrays(dir / "x.safetensors"), ElementsAre("m"));
}

TEST(ReadArray, NamesAndPathsMayHoldColons) {
  const TempDir dir;
  const Tensor one = Tensor::FromVector({7}, {1});
  WriteSafeTensors(dir / "a.npz:b.safetensors", {{"c.npy:d", one}});
  EXPECT_THAT(Values(ReadArray(dir / "a.npz:b.safetensors:c.npy:d")),
              ElementsAre(7));
}

TEST(ReadArray, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  const TempDir dir;
  const Tensor one = Tensor::FromVector({7}, {1});
  NpzWriter writer(dir / "x.npz");
  for (const char* name :
       {"query", "key", "a3", "a4", "a5", "a6", "a7", "a8", "a9"}) {
    writer.Add(name, one);
  }
  writer.Commit();
  WriteNpy(dir / "x.npy", one);
  WriteSafeTensors(dir / "none.safetensors", {});
  const auto error = [&](const std::string& spec) {
    return ErrorOf([&] { ReadArray(dir / spec); }, ErrorKind::kUsage);
  };
  EXPECT_THAT(error("x.npz"),
              AllOf(HasSubstr("which array is meant? it holds 9: query, key, "
                              "a3, a4, a5, a6, a7, a8, ...: name one: "),
                    HasSubstr("x.npz:query")));
  EXPECT_THAT(error("x.npz:querry"),
              HasSubstr("there is no array querry in it: did you mean query?"));
  EXPECT_THAT(error("x.npz:zzzzzz"), HasSubstr("it holds 9: query, key"));
  EXPECT_THAT(error("x.npy:a"), HasSubstr("holds one array without a name"));
  EXPECT_THAT(error("none.safetensors"), HasSubstr("holds no array"));
  EXPECT_THAT(error("x.txt"), HasSubstr("no array file by its extension"));
  EXPECT_THAT(ErrorOf([&] { ReadArray(dir / "no.npz:a"); }, ErrorKind::kFile),
              HasSubstr("no.npz: can't be read: no such file"));
}

}  // namespace
}  // namespace regard
