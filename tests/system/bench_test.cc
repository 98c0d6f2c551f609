// regard bench: what it prints and writes, never how fast something is.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <set>
#include <thread>

#include "io/file.h"
#include "io/temp_dir.h"
#include "run_regard.h"

namespace regard::inline v0 {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// At lengths that take no time.
Finished Quick(std::vector<std::string> arguments,
               const RunSettings& settings = {}) {
  arguments.insert(arguments.begin(), {"bench", "--quick"});
  return RunRegard(arguments, settings);
}

Json::Array Rows(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  return JsonOf(Quick(std::move(arguments))).Find("rows")->AsArray("rows");
}

std::set<std::string> Values(const Json::Array& rows, const char* member) {
  std::set<std::string> values;
  for (const Json& row : rows) values.insert(row.Find(member)->Dump());
  return values;
}

void ExpectRow(const Json& row) {
  for (const char* name : {"D", "L", "Lq", "Hq", "Hkv", "threads", "runs"}) {
    EXPECT_GE(row.Find(name)->AsInt(name), 1) << row.Dump();
  }
  for (const char* name :
       {"share", "wall_share", "cpu_share", "milliseconds", "peak"}) {
    EXPECT_GE(row.Find(name)->AsNumber(name), 0) << row.Dump();
  }
  const bool one = row.Find("threads")->AsInt("") == 1;
  EXPECT_EQ(row.Find("share")->Dump(),
            row.Find(one ? "cpu_share" : "wall_share")->Dump());
  EXPECT_EQ(row.Find("clock")->AsString(""), one ? "processor" : "wall");
  EXPECT_FALSE(row.Find("isa")->AsString("").empty());
  EXPECT_FALSE(row.Find("kernel")->AsString("").empty());
  const std::string of = row.Find("of")->AsString("");
  EXPECT_TRUE(of == "read" || of == "fma");
  const std::string work = row.Find("work")->AsString("");
  EXPECT_NE(of, work == "decode" ? "fma" : work == "forward" ? "read" : "");
  EXPECT_EQ(row.Find("ratio_to")->IsNull(), row.Find("ratio_of")->IsNull());
}

TEST(BenchTest, Json) {
  const Json json = JsonOf(Quick({"--json"}));
  const Json& machine = *json.Find("machine");
  for (const char* name : {"processor", "compiler", "version"}) {
    EXPECT_TRUE(machine.Find(name)->IsString()) << name;
  }
  EXPECT_GE(machine.Find("cores")->AsInt(""), 1);
  EXPECT_FALSE(machine.Find("instruction_sets")->AsArray("").empty());
  const Json::Array& rows = json.Find("rows")->AsArray("");
  for (const Json& row : rows) ExpectRow(row);
  const std::set<std::string> works = Values(rows, "work");
  for (const char* work :
       {"forward", "causal", "window", "mask", "bias", "decode", "memory"}) {
    EXPECT_EQ(works.count(std::string("\"") + work + "\""), 1u) << work;
  }
  // The widest, and for bf16 perhaps a level of its own.
  EXPECT_LE(Values(rows, "isa").size(), 2u);
}

// A share of the peak can't be much above 1. Long enough that the clock can be
// trusted; one thread goes by processor time, which other programs don't
// change.
TEST(BenchTest, ShareIsOfThePeak) {
  const Json json =
      JsonOf(RunRegard({"bench", "--work", "forward", "--length", "512",
                        "--threads", "1", "--runs", "5", "--json"}));
  const double share =
      json.Find("rows")->AsArray("")[0].Find("share")->AsNumber("");
  EXPECT_GT(share, 0.001);
  EXPECT_LT(share, 1.5);
}

TEST(BenchTest, AllHasEveryWorkAndInstructionSet) {
  const Json::Array rows = Rows({"--all"});
  EXPECT_GT(rows.size(), 80u);
  for (const Json& row : rows) ExpectRow(row);
  EXPECT_EQ(Values(rows, "work").count("\"alibi\""), 1u);
  const Json info = JsonOf(RunRegard({"info", "--json"}));
  for (const Json& set :
       info.Find("instruction_sets_usable")->AsArray("sets")) {
    // A level for bf16 serves long queries alone.
    if (set.AsString("").ends_with("_BF16")) continue;
    EXPECT_EQ(Values(rows, "isa").count(set.Dump()), 1u) << set.Dump();
  }
}

TEST(BenchTest, Choices) {
  EXPECT_THAT(Values(Rows({"--work", "causal", "--work", "decode"}), "work"),
              ElementsAre("\"causal\"", "\"decode\""));
  EXPECT_THAT(Values(Rows({"--dtype", "f64"}), "dtype"),
              ElementsAre("\"f64\""));
  EXPECT_THAT(Values(Rows({"--head-size", "128"}), "D"), ElementsAre("128"));
  EXPECT_THAT(Values(Rows({"--length", "16384"}), "L"), ElementsAre("128"));
  EXPECT_THAT(Values(Rows({"--threads", "3"}), "threads"), ElementsAre("3"));
  EXPECT_THAT(Values(Rows({"--work", "alibi", "--runs", "2"}), "runs"),
              ElementsAre("2"));
  const std::string narrowest = JsonOf(RunRegard({"info", "--json"}))
                                    .Find("instruction_sets_usable")
                                    ->AsArray("")
                                    .back()
                                    .Dump();
  EXPECT_THAT(Values(Rows({"--isa", narrowest.substr(1, narrowest.size() - 2),
                           "--work", "forward"}),
                     "isa"),
              ElementsAre(narrowest));
}

TEST(BenchTest, InstructionSetsCanBeCapped) {
  const Finished finished =
      Quick({"--work", "alibi", "--json"},
            {.environment = {{"REGARD_MAX_ISA", "SCALAR"}}});
  const std::string isa =
      JsonOf(finished).Find("rows")->AsArray("")[0].Find("isa")->AsString("");
  EXPECT_TRUE(isa == "SCALAR" || isa == "EMU128") << isa;
}

TEST(BenchTest, Table) {
  const Finished finished = Quick({});
  EXPECT_EQ(finished.status, 0);
  EXPECT_EQ(finished.err, "");
  EXPECT_THAT(finished.out, AllOf(HasSubstr("\nwork    type"),
                                  HasSubstr("\nwindow  f32   64     128"),
                                  HasSubstr("time, forward\n")));
  for (size_t begin = 0, end = 0;
       (end = finished.out.find('\n', begin)) != finished.out.npos;
       begin = end + 1) {
    EXPECT_LE(end - begin, 80u) << finished.out.substr(begin, end - begin);
  }
}

TEST(BenchTest, Files) {
  const TempDir folder;
  const RunSettings settings = {.directory = folder.path()};
  const auto write = [&](const char* name, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--work", "alibi", "-o", name});
    return Quick(more, settings);
  };
  const Finished receipt = write("x.json", {"--json"});
  EXPECT_THAT(receipt.out, HasSubstr(R"({"wrote":"x.json","format":"json")"));
  const Json json = Json::Parse(ReadText(folder / "x.json"), "x.json");
  EXPECT_FALSE(json.Find("rows")->AsArray("").empty());

  const Finished table = write("x.csv");
  EXPECT_EQ(table.status, 0);
  EXPECT_THAT(table.out, HasSubstr("\nalibi "));
  EXPECT_THAT(table.err, HasSubstr("wrote x.csv"));
  EXPECT_TRUE(ReadText(folder / "x.csv").starts_with("work,dtype,D,L,Lq,"));

  EXPECT_EQ(write("x.svg").status, 0);
  const std::string svg = ReadText(folder / "x.svg");
  EXPECT_THAT(svg, AllOf(HasSubstr("<svg"), HasSubstr(">alibi</text>"),
                         HasSubstr("regard 0.1.0")));
  EXPECT_EQ(svg.find(folder.path()), svg.npos);
  EXPECT_EQ(write("x.png").status, 0);
  EXPECT_TRUE(ReadText(folder / "x.png").starts_with("\x89PNG"));

  EXPECT_EQ(write("-", {"--format", "csv"}).out.find("work,dtype"), 0u);
  ExpectError(write("x.pdf"), 2, HasSubstr("x.pdf: unknown format .pdf"));
  ExpectError(write("none/x.csv"), 1, HasSubstr("none/x.csv"));
  EXPECT_THAT(folder.Names(), ElementsAre("x.csv", "x.json", "x.png", "x.svg"));
}

TEST(BenchTest, Errors) {
  ExpectError(Quick({"--work", "forwrad"}), 2,
              HasSubstr("--work: unknown work 'forwrad': did you mean "
                        "forward?"));
  ExpectError(Quick({"--work", ""}), 2, HasSubstr("use one of forward"));
  ExpectError(Quick({"--isa", "AVX9"}), 2, HasSubstr("'AVX9' is no"));
  ExpectError(
      Quick({"--isa", "AVX2"}, {.environment = {{"REGARD_MAX_ISA", "SSE4"}}}),
      2, HasSubstr("'AVX2' is not usable here: use one of SSE4"));
  ExpectError(Quick({"--dtype", "f23"}), 2, HasSubstr("f32"));
  ExpectError(Quick({"--runs", "0"}), 2, HasSubstr("at least 1"));
  ExpectError(Quick({"--work", "alibi", "--dtype", "f64"}), 2,
              HasSubstr("no row is like that"));
}

TEST(BenchTest, InterruptLeavesNothing) {
  const TempDir folder;
  const pid_t child = StartRegard(
      {"bench", "--work", "forward", "--length", "16384", "-o", "x.json"},
      {.directory = folder.path()});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(child, SIGINT);
  EXPECT_EQ(WaitFor(child), 130);
  EXPECT_THAT(folder.Names(), IsEmpty());
}

}  // namespace
}  // namespace regard::inline v0
