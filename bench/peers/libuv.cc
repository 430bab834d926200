// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the workload on libuv, with a timer for each wait, rounded up to a whole
// millisecond.

// clang-format off
#include "bench/peers/system_libraries.h"
// clang-format on

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bench/peers/workload.h"

namespace waiter::bench {
namespace {

Workload* workload;

class Wait {
 public:
  Wait(uv_loop_t& loop, StatusFunction status) : wait_(status) {
    uv_timer_init(&loop, &timer_);
    timer_.data = this;
  }

  void Start() { Continue(workload->Poll(wait_, Now())); }
  void Cancel() {
    uv_timer_stop(&timer_);
    workload->AddCancelled();
    Close();
  }

 private:
  void Continue(std::optional<int64_t> delay) {
    if (!delay.has_value()) return Close();
    constexpr int64_t kMillisecond = 1'000'000;
    const auto cached_now = static_cast<int64_t>(uv_now(timer_.loop));
    const int64_t timeout = wait_.scheduled - cached_now * kMillisecond;
    uv_timer_start(
        &timer_,
        [](uv_timer_t* timer) {
          auto& wait = *static_cast<Wait*>(timer->data);
          wait.Continue(workload->PollOnTimer(wait.wait_));
        },
        static_cast<uint64_t>((timeout + kMillisecond - 1) / kMillisecond),
        /*repeat=*/0);
  }

  void Close() {
    // NOLINTNEXTLINE(*-reinterpret-cast): how libuv's handles are used.
    uv_close(reinterpret_cast<uv_handle_t*>(&timer_), [](uv_handle_t* timer) {
      delete static_cast<Wait*>(timer->data);
    });
  }

  uv_timer_t timer_;
  PeerWait wait_;
};

int Run() {
  uv_loop_t loop;
  uv_loop_init(&loop);
  std::vector<Wait*> waits(workload->waits());
  workload->Begin();
  for (size_t i = 0; i < waits.size(); ++i) {
    waits[i] = new Wait(loop, workload->StatusOf(i));
    waits[i]->Start();
  }
  workload->Started();
  for (const uint32_t i : workload->cancel_order()) waits[i]->Cancel();
  uv_run(&loop, UV_RUN_DEFAULT);
  return workload->Finish();
}

}  // namespace
}  // namespace waiter::bench

int main(int argc, char** argv) {
  using waiter::bench::Mode;
  waiter::bench::Workload workload(argc, argv);
  workload.Require({Mode::kRun, Mode::kLateness, Mode::kCancel});
  waiter::bench::workload = &workload;
  return waiter::bench::Run();
}
