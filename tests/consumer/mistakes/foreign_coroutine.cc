// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// says: await_transform

#include <coroutine>
#include <utility>

#include "absl/time/time.h"
#include "waiter/engine/coroutine.h"
#include "waiter/engine/engine.h"

// A coroutine type that awaits only what its own library makes.
struct Awaitable;
struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    std::suspend_always await_transform(const Awaitable& awaitable);
    void return_void() {}
    void unhandled_exception() {}
  };
};

bool IsUp();

Task WaitUntilUp(waiter::WaitEngine& engine) {
  waiter::Waiter wait([] { return IsUp(); }, {.timeout = absl::Minutes(5)});
  (void)co_await waiter::Await(engine, std::move(wait));
}
