// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/stop_relay.h"

#include "gtest/gtest.h"
#include "waiter/stop_token.h"

namespace waiter::internal::stop_relay_test {
namespace {

TEST(StopRelayTest, RequestStopsThePollUnderWayAndEveryLaterOne) {
  StopRelay relay;
  const waiter::stop_source under_way;
  const waiter::stop_source later;
  {
    const auto poll = relay.BeginPoll(under_way);
    EXPECT_FALSE(under_way.stop_requested());
    relay.RequestStop();
    EXPECT_TRUE(under_way.stop_requested());
  }
  EXPECT_FALSE(later.stop_requested());

  const auto poll = relay.BeginPoll(later);

  EXPECT_TRUE(later.stop_requested());
}

TEST(StopRelayTest, PollThatHasEndedIsNotStopped) {
  StopRelay relay;
  const waiter::stop_source ended;
  { const auto poll = relay.BeginPoll(ended); }

  relay.RequestStop();

  EXPECT_FALSE(ended.stop_requested());
}

}  // namespace
}  // namespace waiter::internal::stop_relay_test
