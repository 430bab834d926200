// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Detection of blocking waits on a thread that runs the waits of an engine,
// where a sleep holds up all of them.

#ifndef WAITER_INTERNAL_BLOCKED_ENGINE_H_
#define WAITER_INTERNAL_BLOCKED_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <string_view>

namespace waiter::internal {

// Counter of sleeps of blocking waits, of the engine whose waits this thread is
// running; null if none.
extern thread_local std::atomic<int64_t>* blocked_engine;

// Counts a sleep of the blocking wait `name`, if this thread runs an engine's
// waits. Ends the program in a debug build, and otherwise prints a line the
// first time.
void CountBlockingSleep(std::string_view name);

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_BLOCKED_ENGINE_H_
