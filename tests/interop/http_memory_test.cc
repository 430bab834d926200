// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/interop/http.h"

namespace waiter::http_memory_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

HttpResponse Response(int status, HttpFields headers, std::string body = "") {
  return {.status = status,
          .reason = "Reason",
          .headers = std::move(headers),
          .body = std::move(body)};
}

TEST(HttpMemoryTest, AnswerThatHoldsIsJudgedAgain) {
  HttpMemory memory;
  HttpResponse first = Response(200,
                                {{"ETag", "\"1\""},
                                 {"X-State", "warm"},
                                 {"Retry-After", "9"},
                                 {"X-RateLimit-Remaining", "0"},
                                 {"Date", "then"}},
                                "body");
  memory.Apply(first);
  EXPECT_FALSE(first.not_modified);
  EXPECT_THAT(memory.Conditions(), ElementsAre(Pair("If-None-Match", "\"1\"")));

  HttpResponse second =
      Response(304, {{"x-state", "hot"}, {"X-Poll-Interval", "60"}});
  memory.Apply(second);

  EXPECT_TRUE(second.not_modified);
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(second.body, "body");
  EXPECT_THAT(second.headers,
              ElementsAre(Pair("x-state", "hot"), Pair("X-Poll-Interval", "60"),
                          Pair("ETag", "\"1\"")));
  EXPECT_THAT(memory.Conditions(), ElementsAre(Pair("If-None-Match", "\"1\"")));
}

TEST(HttpMemoryTest, ValidatorIsTheTagOrTheTime) {
  const auto sent = [](HttpFields headers, std::string body = "") {
    HttpMemory memory;
    HttpResponse response = Response(200, std::move(headers), std::move(body));
    memory.Apply(response);
    return memory.Conditions();
  };
  const std::string time = "Fri, 02 Jan 2026 03:04:05 GMT";

  EXPECT_THAT(sent({{"Last-Modified", time}}),
              ElementsAre(Pair("If-Modified-Since", time)));
  EXPECT_THAT(sent({{"Last-Modified", time}, {"ETag", "W/\"1\""}}),
              ElementsAre(Pair("If-None-Match", "W/\"1\"")));
  EXPECT_THAT(sent({{"Last-Modified", time}, {"ETag", std::string(1025, 'x')}}),
              ElementsAre(Pair("If-Modified-Since", time)));
  EXPECT_THAT(sent({{"ETag", "a\x01"}}), IsEmpty());
  EXPECT_THAT(sent({{"ETag", ""}}), IsEmpty());
  EXPECT_THAT(sent({}), IsEmpty());
  EXPECT_THAT(sent({{"ETag", "x"}}, std::string(HttpMemory::kMaxBody, 'x')),
              ElementsAre(Pair("If-None-Match", "x")));
  EXPECT_THAT(sent({{"ETag", "x"}}, std::string(HttpMemory::kMaxBody + 1, 'x')),
              IsEmpty());
}

TEST(HttpMemoryTest, OnlyAnotherSuccessIsForgotten) {
  HttpMemory memory;
  HttpResponse early = Response(304, {});
  memory.Apply(early);
  EXPECT_EQ(early.status, 304);
  EXPECT_FALSE(early.not_modified);

  HttpResponse first = Response(200, {{"ETag", "1"}}, "one");
  memory.Apply(first);
  HttpResponse error = Response(500, {{"ETag", "2"}}, "error");
  memory.Apply(error);
  EXPECT_EQ(error.body, "error");
  EXPECT_THAT(memory.Conditions(), ElementsAre(Pair("If-None-Match", "1")));

  HttpResponse changed = Response(200, {{"ETag", "2"}}, "two");
  memory.Apply(changed);
  EXPECT_THAT(memory.Conditions(), ElementsAre(Pair("If-None-Match", "2")));

  HttpResponse cut = Response(200, {{"ETag", "3"}}, "thr");
  cut.body_is_cut = true;
  memory.Apply(cut);
  EXPECT_THAT(memory.Conditions(), IsEmpty());
}

TEST(HttpMemoryTest, OnlyPlainRequestsAreRemembered) {
  EXPECT_TRUE(HttpMemory::Suits("", false, {{"Accept", "a"}}));
  EXPECT_TRUE(HttpMemory::Suits("GET", false, {}));
  EXPECT_FALSE(HttpMemory::Suits("", true, {}));
  EXPECT_FALSE(HttpMemory::Suits("HEAD", false, {}));
  EXPECT_FALSE(HttpMemory::Suits("POST", false, {}));
  for (const char* name : {"if-none-match", "If-Modified-Since", "If-Match",
                           "Range", "Cache-Control"}) {
    EXPECT_FALSE(HttpMemory::Suits("", false, {{name, "x"}})) << name;
  }
}

}  // namespace
}  // namespace waiter::http_memory_test
