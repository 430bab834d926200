// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the workload on Boost.Asio, with a C++20 coroutine for each wait.

// clang-format off
#include "bench/peers/system_libraries.h"
// clang-format on

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/peers/workload.h"

namespace waiter::bench {
namespace {

namespace asio = boost::asio;

Workload* workload;
std::vector<asio::steady_timer*>* timers;
size_t polled_once = 0;

asio::awaitable<void> WaitUntilDone(size_t i) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  (*timers)[i] = &timer;
  PeerWait wait(workload->StatusOf(i));
  bool sleeps = workload->Poll(wait, Now()).has_value();
  ++polled_once;
  while (sleeps) {
    timer.expires_at(std::chrono::steady_clock::time_point(
        std::chrono::nanoseconds(wait.scheduled)));
    boost::system::error_code error;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
    if (error) {
      workload->AddCancelled();
      co_return;
    }
    sleeps = workload->PollOnTimer(wait).has_value();
  }
}

int Run() {
  asio::io_context context(1);
  workload->Begin();
  for (size_t i = 0; i < workload->waits(); ++i) {
    asio::co_spawn(context, WaitUntilDone(i), asio::detached);
  }
  // co_spawn only posts the coroutines.
  while (polled_once < workload->waits()) context.run_one();
  workload->Started();
  for (const uint32_t i : workload->cancel_order()) (*timers)[i]->cancel();
  context.run();
  return workload->Finish();
}

}  // namespace
}  // namespace waiter::bench

// NOLINTNEXTLINE(bugprone-exception-escape): it would end the program.
int main(int argc, char** argv) {
  using waiter::bench::Mode;
  waiter::bench::Workload workload(argc, argv);
  workload.Require({Mode::kRun, Mode::kLateness, Mode::kCancel});
  std::vector<boost::asio::steady_timer*> timers(workload.waits());
  waiter::bench::workload = &workload;
  waiter::bench::timers = &timers;
  return waiter::bench::Run();
}
