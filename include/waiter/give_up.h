// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A function that a wait calls when it ends without success, to cancel the
// operation that it waited for:
//
//   waiter::Waiter wait_until_running(
//       [&] { return GetStatus(client, id); },
//       {.timeout = absl::Minutes(5),
//        .on_give_up = [&](const waiter::GiveUp& end) {
//          client.Cancel(id, end.deadline);
//        }});
//
// Without it, an operation whose wait has timed out goes on at the server, and
// may cost money.

#ifndef WAITER_GIVE_UP_H_
#define WAITER_GIVE_UP_H_

#include <functional>
#include <string_view>

#include "absl/time/time.h"
#include "waiter/wait_report.h"

namespace waiter {

// The end of a wait without success. Views and references are valid until the
// function returns.
struct GiveUp {
  std::string_view name;  // From the options or from `Start`.

  // `report.reason` says why the wait ended, `report.status` with which error.
  const WaitReport& report;

  // `WaitOptions::give_up_timeout`, and the time at which it ends. Pass them on
  // to the call that cancels; they are not enforced.
  absl::Duration timeout;
  absl::Time deadline;
};

// Called exactly once for every wait that ends without success, whatever ended
// it: failure, a limit, a stop, the end of the engine, invalid options, an
// exception of the status function. Only a wait whose handle is destroyed does
// not call it, because the objects to which functions refer may be destroyed
// next.
//
// `Wait` calls it on its own thread and returns afterwards. An engine calls it
// on its thread before the callback. An engine with an executor hands it to the
// executor, and the callback may run first. An exception that leaves it
// terminates the program.
//
// The wait has ended: the time that the function takes is not part of the
// report, and a stop that it requests comes too late. It may start waits and
// destroy the handle of its wait, which then has no callback. While it blocks,
// `Wait` does not return, and without an executor the other waits of its thread
// are held up.
using GiveUpFunction = std::function<void(const GiveUp&)>;

}  // namespace waiter

#endif  // WAITER_GIVE_UP_H_
