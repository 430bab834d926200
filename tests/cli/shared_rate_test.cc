// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the `waiter` program with a limit that several processes share through a
// real Redis server.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/waiter_process.h"
#include "tests/support/redis_server.h"
#include "waiter/testing/gtest.h"

namespace waiter::cli {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class SharedRateTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) {
      GTEST_SKIP() << "redis-server is not installed";
    }
    server_ = std::make_unique<RedisServer>();
    if (WaiterProcess probe({"budgets", server_->Url()}); probe.Wait() != 0) {
      EXPECT_THAT(probe.err(), HasSubstr("built without hiredis"));
      GTEST_SKIP() << probe.err();
    }
  }

  std::string RateUrl(const std::string& secret = "") const {
    return absl::StrCat("--shared-rate=", server_->Url(secret), "/api?rate=20");
  }

  // A wait that is never ready and writes a byte to a file in each poll.
  std::unique_ptr<WaiterProcess> Start(const std::string& rate,
                                       const std::string& timeout) {
    return std::make_unique<WaiterProcess>(std::vector<std::string>{
        "exec", "--every=10ms", "--jitter=none",
        absl::StrCat("--timeout=", timeout), rate, "--", "sh", "-c",
        absl::StrCat("printf . >>", polls_, "; exit 1")});
  }

  int64_t Polls() const {
    std::error_code none;
    const auto size = std::filesystem::file_size(polls_, none);
    return none ? 0 : static_cast<int64_t>(size);
  }

  std::unique_ptr<RedisServer> server_;
  const std::string polls_ =
      testing::TempDir() + "/polls." +
      testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(SharedRateTest, ProcessesKeepOneRateTogether) {
  std::vector<std::unique_ptr<WaiterProcess>> waits;
  for (int i = 0; i < 3; ++i) waits.push_back(Start(RateUrl(), "5s"));
  const auto budgets = [&] {
    WaiterProcess process({"budgets", server_->Url()});
    EXPECT_EQ(process.Wait(), 0) << process.err();
    return process.out();
  };
  EXPECT_EVENTUALLY(budgets(), AllOf(HasSubstr("api        20"),
                                     MatchesRegex("rate .*busy\n"
                                                  "api .* 3 +3\n")));
  for (const auto& wait : waits) {
    EXPECT_EQ(wait->Wait(), 124);
    EXPECT_THAT(wait->err(), Not(HasSubstr("--shared-rate")));
  }
  EXPECT_LE(Polls(), 20 * (5 + 0.5) + 1 + 3);  // And one at each deadline.
  EXPECT_GE(Polls(), 50);

  // Waits that ended are no longer members.
  EXPECT_THAT(Call({"budgets", "--json", server_->Url()}),
              Ends(0, _, HasSubstr("\"members\":0")));
}

TEST_F(SharedRateTest, ServerThatIsGoneIsSaidAndTheRateKept) {
  server_->Kill();
  const auto wait = Start(RateUrl("user:secret@"), "5s");
  EXPECT_EQ(wait->Wait(), 124);
  EXPECT_THAT(wait->err(), HasSubstr("--shared-rate: Redis at 127.0.0.1:"));
  EXPECT_THAT(wait->err(), HasSubstr("this process used its own rate"));
  EXPECT_THAT(wait->err(), Not(HasSubstr("secret")));
  EXPECT_GE(Polls(), 1);
  EXPECT_LE(Polls(), 20 * 5 + 2);

  WaiterProcess budgets({"budgets", server_->Url("user:secret@")});
  EXPECT_EQ(budgets.Wait(), 125);
  EXPECT_THAT(budgets.err(), HasSubstr("Redis at 127.0.0.1:"));
  EXPECT_THAT(budgets.err(), Not(HasSubstr("secret")));
}

TEST_F(SharedRateTest, WrongPasswordIsSaid) {
  const auto wait = Start(RateUrl("nobody:secret@"), "4s");
  EXPECT_EQ(wait->Wait(), 124);
  EXPECT_THAT(wait->err(), HasSubstr("WRONGPASS"));
  EXPECT_THAT(wait->err(), Not(HasSubstr("secret")));

  EXPECT_THAT(Call({"budgets", server_->Url("nobody:secret@")}),
              Ends(125, HasSubstr("WRONGPASS")));
}

TEST_F(SharedRateTest, BudgetsNeedOneServer) {
  EXPECT_THAT(Call({"budgets"}), Ends(2, HasSubstr("give one URL")));
  EXPECT_THAT(Call({"budgets", server_->Url()}), Ends(0, _, "no budgets\n"));
  EXPECT_THAT(Call({"budgets", "http://127.0.0.1"}),
              Ends(2, HasSubstr("the form is redis://")));
}

}  // namespace
}  // namespace waiter::cli
