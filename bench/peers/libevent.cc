// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the workload on libevent, with a timer event for each wait, on a base
// without locks.

// clang-format off
#include "bench/peers/system_libraries.h"
// clang-format on

#include <event2/event.h>
#include <event2/event_struct.h>

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
  Wait(event_base* base, StatusFunction status) : wait_(status) {
    evtimer_assign(
        &event_, base,
        [](evutil_socket_t, short, void* self) {  // NOLINT: its own type.
          auto& wait = *static_cast<Wait*>(self);
          wait.Continue(workload->PollOnTimer(wait.wait_));
        },
        this);
  }

  void Start() { Continue(workload->Poll(wait_, Now())); }
  void Cancel() {
    evtimer_del(&event_);
    workload->AddCancelled();
    delete this;
  }

 private:
  void Continue(std::optional<int64_t> delay) {
    if (!delay.has_value()) {
      delete this;
      return;
    }
    // Rounds up, because libevent takes a delay from a time that it has cached.
    const int64_t microseconds = (*delay + 999) / 1000;
    const timeval timeout = {.tv_sec = microseconds / 1'000'000,
                             .tv_usec = microseconds % 1'000'000};
    evtimer_add(&event_, &timeout);
  }

  event event_;
  PeerWait wait_;
};

int Run() {
  event_config* const config = event_config_new();
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
  event_base* const base = event_base_new_with_config(config);
  std::vector<Wait*> waits(workload->waits());
  workload->Begin();
  for (size_t i = 0; i < waits.size(); ++i) {
    waits[i] = new Wait(base, workload->StatusOf(i));
    waits[i]->Start();
  }
  workload->Started();
  for (const uint32_t i : workload->cancel_order()) waits[i]->Cancel();
  event_base_dispatch(base);
  const int exit_code = workload->Finish();
  event_base_free(base);
  event_config_free(config);
  return exit_code;
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
