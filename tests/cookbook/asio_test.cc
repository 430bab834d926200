// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits in coroutines of Boost.Asio.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_BOOST

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <chrono>
#include <csignal>
#include <exception>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/interop/asio.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace asio_test {
namespace {

namespace asio = boost::asio;

struct Instance {
  std::string state;
};

class Client {
 public:
  explicit Client(int polls_until_running) : left_(polls_until_running) {}

  absl::StatusOr<Instance> GetInstance() {
    return Instance{--left_ <= 0 ? "RUNNING" : "STARTING"};
  }

 private:
  int left_;
};

// `engine` and `client` must outlive the coroutine.
asio::awaitable<absl::StatusOr<Instance>> WaitUntilRunning(
    waiter::WaitEngine& engine, Client& client, waiter::WaitOptions options) {
  waiter::Waiter wait(
      [&client]() -> waiter::Poll<Instance> {
        absl::StatusOr<Instance> got = client.GetInstance();
        if (!got.ok()) return waiter::FromStatus(got.status());
        if (got->state != "RUNNING") return waiter::NotReady(got->state);
        return waiter::Success(*std::move(got));
      },
      std::move(options));
  waiter::WaitResult<Instance> result =
      co_await waiter::AsyncWait(engine, std::move(wait), asio::use_awaitable);
  co_return std::move(result);
}

// Returns when the instance runs, or on SIGINT or SIGTERM.
asio::awaitable<absl::StatusOr<Instance>> RunUntilStopped(
    waiter::WaitEngine& engine, Client& client, waiter::WaitOptions options) {
  using asio::experimental::awaitable_operators::operator||;
  asio::signal_set stop(co_await asio::this_coro::executor, SIGINT, SIGTERM);
  auto first = co_await (WaitUntilRunning(engine, client, std::move(options)) ||
                         stop.async_wait(asio::use_awaitable));
  if (first.index() == 1) co_return absl::CancelledError("stopped");
  co_return std::get<0>(std::move(first));
}

absl::StatusOr<Instance> Provision(Client& client,
                                   waiter::WaitOptions options) {
  asio::io_context io;
  waiter::AsioEngineDriver driver(io);
  absl::StatusOr<Instance> instance;
  asio::co_spawn(io,
                 RunUntilStopped(driver.engine(), client, std::move(options)),
                 [&](std::exception_ptr, absl::StatusOr<Instance> got) {
                   instance = std::move(got);
                 });
  io.run();
  return instance;
}

waiter::WaitOptions EveryMillisecond() {
  return {.timeout = absl::Hours(1),
          .backoff = {.initial_delay = absl::Milliseconds(1),
                      .max_delay = absl::Milliseconds(1)}};
}

TEST(AsioTest, CoroutineWaitsUntilTheInstanceRuns) {
  Client client(3);

  const absl::StatusOr<Instance> instance =
      Provision(client, EveryMillisecond());

  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_EQ(instance->state, "RUNNING");
}

TEST(AsioTest, SignalCancelsTheWait) {
  Client client(1'000'000'000);
  asio::io_context io;
  waiter::AsioEngineDriver driver(io);
  absl::Status status;
  asio::co_spawn(io,
                 RunUntilStopped(driver.engine(), client, EveryMillisecond()),
                 [&](std::exception_ptr, absl::StatusOr<Instance> got) {
                   status = got.status();
                 });
  asio::steady_timer timer(io, std::chrono::milliseconds(3));
  timer.async_wait(
      [](const boost::system::error_code&) { std::raise(SIGTERM); });

  io.run();

  EXPECT_TRUE(absl::IsCancelled(status)) << status;
}

}  // namespace
}  // namespace asio_test

#else

TEST(AsioTest, NeedsBoost) {
  GTEST_SKIP() << "this machine has no headers of Boost.Asio";
}

#endif  // WAITER_HAS_BOOST
