#include "cli/select_heads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "regard/error.h"

namespace regard::inline v0 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Names(const HeadOptions& options) {
  std::vector<std::string> names;
  for (const HeadId head : SelectHeads(options, 6, 12)) {
    names.push_back(ToString(head));
  }
  return names;
}

std::string Complaint(const HeadOptions& options) {
  try {
    SelectHeads(options, 6, 12);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(SelectHeadsTest, NamesAreSortedAndTakenOnce) {
  EXPECT_THAT(Names({.heads = {"L5H11,L3H1", "L3H1"}}),
              ElementsAre("L3H1", "L5H11"));
  EXPECT_THAT(Names({.heads = {"l0h2"}}), ElementsAre("L0H2"));
}

TEST(SelectHeadsTest, NumbersCrossLayersWithHeads) {
  EXPECT_THAT(Names({.layers = {"0-1,-1"}, .heads = {"3,-1"}}),
              ElementsAre("L0H3", "L0H11", "L1H3", "L1H11", "L5H3", "L5H11"));
  EXPECT_THAT(Names({.layers = {"-2--1"}, .heads = {"0"}}),
              ElementsAre("L4H0", "L5H0"));
}

TEST(SelectHeadsTest, WhatIsNotSaidMeansAll) {
  EXPECT_EQ(Names({}).size(), 72u);
  EXPECT_EQ(Names({.layers = {"2"}}).size(), 12u);
  EXPECT_EQ(Names({.heads = {"2"}}).size(), 6u);
  EXPECT_FALSE(HeadOptions{}.given());
}

TEST(SelectHeadsTest, SaysWhatDoesNotExist) {
  EXPECT_EQ(Complaint({.layers = {"6"}}),
            "--layer: there is no layer 6: the model has layers 0 to 5");
  EXPECT_EQ(Complaint({.heads = {"-13"}}),
            "--head: there is no head -13: the model has heads 0 to 11");
  EXPECT_EQ(Complaint({.heads = {"L6H0"}}),
            "--head: there is no L6H0: the model has L0H0 to L5H11");
  EXPECT_THAT(Complaint({.heads = {"L3H-1"}}), HasSubstr("no L3H-1"));
}

TEST(SelectHeadsTest, SaysWhatCannotBeRead) {
  for (const char* text :
       {"", "x", "1-", "-", "1,,2", "0x1", "1 ", "99999999999999999999"}) {
    EXPECT_THAT(Complaint({.layers = {text}}), HasSubstr("can't be read"))
        << text;
  }
  for (const char* text : {"L3", "LH1", "L3H", "L3Hx", "L3H1,2"}) {
    EXPECT_THAT(Complaint({.heads = {text}}), HasSubstr("can't be read"))
        << text;
  }
  EXPECT_THAT(Complaint({.layers = {"3-1"}}), HasSubstr("runs backwards"));
  EXPECT_THAT(Complaint({.layers = {"1"}, .heads = {"L3H1"}}),
              HasSubstr("already says the layer"));
}

}  // namespace
}  // namespace regard::inline v0
