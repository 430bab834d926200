// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the workload on Boost.Asio, with a timer and a callback for each wait.

// clang-format off
#include "bench/peers/system_libraries.h"
// clang-format on

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <semaphore>
#include <thread>
#include <vector>

#include "bench/peers/workload.h"

namespace waiter::bench {
namespace {

namespace asio = boost::asio;

Workload* workload;

class Wait {
 public:
  Wait(asio::io_context& context, StatusFunction status)
      : timer_(context), wait_(status) {}

  void Start() { Continue(workload->Poll(wait_, Now())); }
  void Cancel() { timer_.cancel(); }

 private:
  void Continue(std::optional<int64_t> delay) {
    if (!delay.has_value()) {
      delete this;
      return;
    }
    timer_.expires_at(std::chrono::steady_clock::time_point(
        std::chrono::nanoseconds(wait_.scheduled)));
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) return Continue(workload->PollOnTimer(wait_));
      workload->AddCancelled();
      delete this;
    });
  }

  asio::steady_timer timer_;
  PeerWait wait_;
};

int MeasureSubmit(asio::io_context& context) {
  std::vector<Wait*> waits(workload->waits());
  std::binary_semaphore polled(0);
  std::binary_semaphore cleared(0);
  std::thread thread([&] {
    const auto guard = asio::make_work_guard(context);
    context.run();
  });
  size_t started = 0;
  const int exit_code = workload->MeasureSubmit(
      [&] {
        for (size_t i = 0; i < waits.size(); ++i) {
          asio::post(context, [&, i] {
            waits[i] = new Wait(context, workload->StatusOf(i));
            waits[i]->Start();
            if (++started % waits.size() == 0) polled.release();
          });
        }
      },
      [&] { polled.acquire(); },
      [&] {
        asio::post(context, [&] {
          for (const uint32_t i : workload->cancel_order()) waits[i]->Cancel();
          // Runs after the callbacks of all waits.
          asio::post(context, [&] { cleared.release(); });
        });
        cleared.acquire();
      });
  context.stop();
  thread.join();
  return exit_code;
}

int Run() {
  asio::io_context context(1);
  if (workload->mode() == Mode::kSubmit) return MeasureSubmit(context);

  std::vector<Wait*> waits(workload->waits());
  workload->Begin();
  for (size_t i = 0; i < waits.size(); ++i) {
    waits[i] = new Wait(context, workload->StatusOf(i));
    waits[i]->Start();
  }
  workload->Started();
  for (const uint32_t i : workload->cancel_order()) waits[i]->Cancel();
  context.run();
  return workload->Finish();
}

}  // namespace
}  // namespace waiter::bench

// NOLINTNEXTLINE(bugprone-exception-escape): it would end the program.
int main(int argc, char** argv) {
  waiter::bench::Workload workload(argc, argv);
  waiter::bench::workload = &workload;
  return waiter::bench::Run();
}
