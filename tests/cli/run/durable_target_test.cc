// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/durable_target.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/probes/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/durable/client.h"
#include "waiter/result.h"

namespace waiter::cli::durable_target_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(DurableTargetTest, KeyIsGivenOrTheLabelOrTheUrl) {
  struct Case {
    std::string argument;
    std::string key;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {"tcp://a:1", "", "tcp://a:1"},
      {"a:1", "", "a:1"},
      {"db=tcp://a:1", "", "db"},
      {"db=tcp://a:1", "k", "k"},
      {"web=http://a/?token=x", "", "web"},
      {"http://a/?token=x", "k", "k"},
      {"file:/a", "", "file:/a"},
      {"exec:test -e /a?", "", "exec:test -e /a?"},
  };
  for (const auto& [argument, key, expected] : cases) {
    const absl::StatusOr<DurableRequest> request =
        ToDurableRequest(argument, key);
    ASSERT_TRUE(request.ok()) << argument << ": " << request.status();
    EXPECT_EQ(request->key, expected) << argument;
    EXPECT_EQ(request->args, argument);
    const absl::StatusOr<Target> target =
        DurableTarget(request->key, request->args, /*allow_exec=*/true);
    EXPECT_TRUE(target.ok()) << target.status();
  }
}

TEST(DurableTargetTest, WhatCannotBeStoredIsRefusedWithoutSecrets) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"http://user:secret@a/", "http://a/: the store would keep"},
      {"db=postgres://u:secret@a/app", "db=postgres://a/app: the store would"},
      {"redis://secret@a", "the store would keep its user and password"},
      {"http://u:secret@a/?b=secret", "the store would keep"},
      {"http://a/?token=secret", "http://a/?...: keys omit what follows"},
      {"file:/a?stable=1s", "durable waits do not support stable="},
      {"http://a/" + std::string(128, 'x'), "keys have at most 128 bytes"},
      {"nothing", "nothing: no scheme"},
  };
  for (const auto& [argument, message] : cases) {
    const absl::Status status = ToDurableRequest(argument).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << argument;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret")));
  }
}

TEST(DurableTargetTest, CommandsOfTheStoreMustBeAllowed) {
  EXPECT_THAT(
      std::string(DurableTarget("a", "exec:true", false).status().message()),
      HasSubstr("--allow-exec"));
  EXPECT_TRUE(DurableTarget("a", "exec:true", true).ok());
  EXPECT_TRUE(DurableTarget("a", "pid:1", false).ok());
}

TEST(DurableTargetTest, KeyIsTheTargetOfAWaitWithoutArgs) {
  const absl::StatusOr<Target> target = DurableTarget("pid:7", "", false);
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(std::get<PidTarget>(target->what).pid, 7);
  EXPECT_FALSE(DurableTarget("i-0abc", "", false).ok());
}

TEST(DurableTargetTest, VariablesTellOfAResult) {
  DurableResult result;
  result.name = "jobs";
  result.key = "a";
  result.value = std::string("12\0bytes\n", 9);
  result.reason = StopReason::kSuccess;
  result.idempotency_key = "s/jobs/a/5";
  EXPECT_THAT(ResultVariables(result),
              ElementsAre(Pair("WAITER_DETAIL", "12\\x00bytes\\x0a"),
                          Pair("WAITER_IDEMPOTENCY_KEY", "s/jobs/a/5"),
                          Pair("WAITER_KEY", "a"), Pair("WAITER_NAME", "jobs"),
                          Pair("WAITER_RESULT", "success")));
  result.value = absl::DeadlineExceededError("too late");
  result.reason = StopReason::kDeadline;
  const auto variables = ResultVariables(result);
  EXPECT_EQ(variables.at("WAITER_RESULT"), "deadline");
  EXPECT_EQ(variables.at("WAITER_DETAIL"), "too late");
}

TEST(DurableTargetTest, DetailIsTheMessageWithoutTheKey) {
  DurableResult result;
  result.key = "a(b)";
  const auto detail = [&](const absl::Status& status) {
    result.value = status;
    return ResultDetail(result);
  };
  EXPECT_EQ(detail(absl::DeadlineExceededError(
                "a(b): timeout of 5m reached after 3 attempts in 5m")),
            "timeout of 5m reached after 3 attempts in 5m");
  EXPECT_EQ(detail(absl::UnknownError(
                "vm (a(b), c) FAILED (a(b), after 3 attempts in 12s)")),
            "vm (a(b), c) FAILED");
  EXPECT_EQ(detail(absl::UnknownError("(a(b), after 1 attempt in 0)")), "");
  EXPECT_EQ(detail(absl::UnknownError("vm FAILED (other, after 3 attempts)")),
            "vm FAILED (other, after 3 attempts)");
}

}  // namespace
}  // namespace waiter::cli::durable_target_test
