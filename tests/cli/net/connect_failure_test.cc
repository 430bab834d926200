// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/net/connect_failure.h"

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "cli/net/socket_address.h"
#include "cli/probes/probe.h"
#include "gtest/gtest.h"
#include "waiter/poll.h"

namespace waiter::cli::connect_failure_test {
namespace {

TEST(ConnectFailureTest, ATargetIsAbsentIfEveryUsableAddressRefuses) {
  struct Case {
    std::vector<std::pair<std::string, int>> failures;
    std::string_view detail;
    PollStatus status = PollStatus::kNotReady;
    bool absent = false;
  };
  const std::vector<Case> cases = {
      {{{"1.1.1.1", ECONNREFUSED}},
       "refused by 1.1.1.1:5",
       PollStatus::kNotReady,
       true},
      {{{"1.1.1.1", ECONNREFUSED},
        {"::1", ECONNREFUSED},
        {"::2", ECONNREFUSED}},
       "refused by 1.1.1.1:5, [::1]:5 and [::2]:5",
       PollStatus::kNotReady,
       true},
      {{{"1.1.1.1", ECONNREFUSED}, {"::1", 0}},
       "refused by 1.1.1.1:5; no answer from [::1]:5 within 2s"},
      {{{"1.1.1.1", ECONNREFUSED}, {"::1", ETIMEDOUT}},
       "refused by 1.1.1.1:5; [::1]:5: Connection timed out"},
      {{{"1.1.1.1", ECONNREFUSED}, {"::1", EHOSTUNREACH}},
       "refused by 1.1.1.1:5; [::1]:5: No route to host"},
      // A machine without IPv6.
      {{{"1.1.1.1", ECONNREFUSED}, {"::1", EADDRNOTAVAIL}},
       "refused by 1.1.1.1:5; [::1]:5: Cannot assign requested address",
       PollStatus::kNotReady,
       true},
      {{{"1.1.1.1", ECONNREFUSED}, {"::1", ENETUNREACH}},
       "refused by 1.1.1.1:5; [::1]:5: Network is unreachable",
       PollStatus::kNotReady,
       true},
      // A machine without a network.
      {{{"1.1.1.1", ENETUNREACH}}, "1.1.1.1:5: Network is unreachable"},
      {{{"1.1.1.1", EMFILE}},
       "1.1.1.1:5: Too many open files",
       PollStatus::kServerError},
      {{{"1.1.1.1", ECONNREFUSED},
        {"1.1.1.2", ECONNREFUSED},
        {"1.1.1.3", ECONNREFUSED},
        {"1.1.1.4", ECONNREFUSED},
        {"1.1.1.5", ECONNREFUSED},
        {"1.1.1.6", ECONNREFUSED}},
       "refused by 1.1.1.1:5, 1.1.1.2:5, 1.1.1.3:5, 1.1.1.4:5 and 2 more",
       PollStatus::kNotReady,
       true},
  };
  for (const Case& c : cases) {
    std::vector<ConnectFailure> failures;
    for (const auto& [host, error] : c.failures) {
      failures.push_back({FixedAddresses(host, 5).front(), error});
    }
    const Finding finding = DescribeFailures(failures, absl::Seconds(2));
    EXPECT_EQ(finding.detail, c.detail);
    EXPECT_EQ(finding.status, c.status) << c.detail;
    EXPECT_EQ(finding.absent, c.absent) << c.detail;
  }
}

TEST(ConnectFailureTest, AForbiddenSocketIsAFailure) {
  const Finding finding = DescribeFailures({{UnixAddress("/a"), EACCES}}, {});
  EXPECT_EQ(finding.status, PollStatus::kFailed);
  EXPECT_EQ(finding.detail, "/a: Permission denied");
  EXPECT_EQ(finding.hint, "this user has no permission to connect");
  EXPECT_FALSE(finding.absent);
}

}  // namespace
}  // namespace waiter::cli::connect_failure_test
