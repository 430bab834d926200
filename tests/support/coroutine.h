// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A coroutine that starts immediately, and is destroyed with its owner:
//
//   const auto wait = [&]() -> Coroutine {
//     result = co_await Await(engine, std::move(waiter));
//   };
//   const Coroutine task = wait();

#ifndef WAITER_TESTS_SUPPORT_COROUTINE_H_
#define WAITER_TESTS_SUPPORT_COROUTINE_H_

#include <coroutine>
#include <exception>
#include <utility>

namespace waiter {

class Coroutine {
 public:
  // NOLINTBEGIN(readability-identifier-naming): these are the standard's names.
  // NOLINTBEGIN(readability-convert-member-functions-to-static): and forms.
  struct promise_type {
    Coroutine get_return_object() {
      return Coroutine(
          std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { exception = std::current_exception(); }

    std::exception_ptr exception;
  };
  // NOLINTEND(readability-convert-member-functions-to-static)
  // NOLINTEND(readability-identifier-naming)

  Coroutine() = default;
  Coroutine(Coroutine&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)) {}
  Coroutine& operator=(Coroutine&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Coroutine() { Destroy(); }

  bool done() const { return handle_.done(); }
  // Takes the exception that left the coroutine, if any, and throws it. The
  // destructor ends the program if the exception is still there.
  void Rethrow() const {
    const std::exception_ptr thrown =
        std::exchange(handle_.promise().exception, nullptr);
    if (thrown != nullptr) std::rethrow_exception(thrown);
  }
  void Destroy() {
    if (handle_ == nullptr) return;
    if (handle_.promise().exception != nullptr) std::terminate();
    std::exchange(handle_, nullptr).destroy();
  }

 private:
  explicit Coroutine(std::coroutine_handle<promise_type> handle)
      : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_COROUTINE_H_
