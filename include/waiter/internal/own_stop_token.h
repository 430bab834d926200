// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Stop tokens for standard libraries that have none. Names, interface and
// guarantees come from the standard's section [thread.stoptoken]. stop_token.h
// says when these are used.

#ifndef WAITER_INTERNAL_OWN_STOP_TOKEN_H_
#define WAITER_INTERNAL_OWN_STOP_TOKEN_H_

#include <concepts>
#include <type_traits>
#include <utility>

#include "waiter/internal/stop_state.h"

namespace waiter::internal {

// NOLINTBEGIN(readability-identifier-naming): these are the standard's names.

// Tells whether a stop was requested. Copies are equal. Reading one object from
// several threads is safe, as for a `std::shared_ptr`.
class stop_token {
 public:
  stop_token() = default;

  void swap(stop_token& other) noexcept { state_.swap(other.state_); }

  [[nodiscard]] bool stop_requested() const noexcept {
    return state_ && state_->stop_requested();
  }
  // Returns false if no stop was requested and none will be.
  [[nodiscard]] bool stop_possible() const noexcept {
    return state_ && state_->stop_possible();
  }

  [[nodiscard]] friend bool operator==(const stop_token& a,
                                       const stop_token& b) noexcept {
    return a.state_ == b.state_;
  }
  friend void swap(stop_token& a, stop_token& b) noexcept { a.swap(b); }

 private:
  friend class stop_source;
  template <typename Callback>
  friend class stop_callback;

  explicit stop_token(StopStateRef state) noexcept : state_(std::move(state)) {}

  StopStateRef state_;
};

// Makes a stop source without a state.
struct nostopstate_t {
  explicit nostopstate_t() = default;
};
inline constexpr nostopstate_t nostopstate{};

// Requests a stop. Copies are equal. Reading one object from several threads is
// safe, and so are calls of `request_stop`.
class stop_source {
 public:
  stop_source() : state_(new StopState) { state_->AddSource(); }
  explicit stop_source(nostopstate_t) noexcept {}

  stop_source(const stop_source& other) noexcept : state_(other.state_) {
    if (state_) state_->AddSource();
  }
  stop_source(stop_source&&) noexcept = default;
  stop_source& operator=(const stop_source& other) noexcept {
    stop_source(other).swap(*this);
    return *this;
  }
  stop_source& operator=(stop_source&& other) noexcept {
    stop_source(std::move(other)).swap(*this);
    return *this;
  }
  ~stop_source() {
    if (state_) state_->RemoveSource();
  }

  void swap(stop_source& other) noexcept { state_.swap(other.state_); }

  [[nodiscard]] stop_token get_token() const noexcept {
    return stop_token(state_);
  }
  [[nodiscard]] bool stop_possible() const noexcept {
    return static_cast<bool>(state_);
  }
  [[nodiscard]] bool stop_requested() const noexcept {
    return state_ && state_->stop_requested();
  }

  // Returns true if this is the first request; then all callbacks have run.
  bool request_stop() noexcept {
    const StopStateRef state = state_;  // A callback may destroy this object.
    return state && state->RequestStop();
  }

  [[nodiscard]] friend bool operator==(const stop_source& a,
                                       const stop_source& b) noexcept {
    return a.state_ == b.state_;
  }
  friend void swap(stop_source& a, stop_source& b) noexcept { a.swap(b); }

 private:
  StopStateRef state_;
};

// Calls a function once a stop is requested: on the thread of the request, or
// in the constructor if that is later. The destructor blocks while the function
// runs on another thread. An exception of the function terminates the program.
template <typename Callback>
class [[nodiscard]] stop_callback : private StopState::Node {
  static_assert(std::invocable<Callback>);
  static_assert(std::destructible<Callback>);

 public:
  using callback_type = Callback;

  template <typename C>
  explicit stop_callback(const stop_token& token, C&& callback) noexcept(
      std::is_nothrow_constructible_v<Callback, C>) requires
      std::constructible_from<Callback, C>
      : Node(&Run), callback_(std::forward<C>(callback)), state_(token.state_) {
    Register();
  }

  template <typename C>
  explicit stop_callback(stop_token&& token, C&& callback) noexcept(
      std::is_nothrow_constructible_v<Callback, C>) requires
      std::constructible_from<Callback, C>
      : Node(&Run),
        callback_(std::forward<C>(callback)),
        state_(std::move(token.state_)) {
    Register();
  }

  stop_callback(const stop_callback&) = delete;
  stop_callback(stop_callback&&) = delete;
  stop_callback& operator=(const stop_callback&) = delete;
  stop_callback& operator=(stop_callback&&) = delete;

  ~stop_callback() {
    if (state_) state_->Remove(*this);
  }

 private:
  static void Run(Node& node) noexcept {
    std::forward<Callback>(static_cast<stop_callback&>(node).callback_)();
  }

  // A callback that is not in the list needs no state.
  void Register() noexcept {
    if (state_ && !state_->Add(*this)) state_ = StopStateRef();
  }

  Callback callback_;
  StopStateRef state_;
};

template <typename Callback>
stop_callback(stop_token, Callback) -> stop_callback<Callback>;

// NOLINTEND(readability-identifier-naming)

}  // namespace waiter::internal

#endif  // WAITER_INTERNAL_OWN_STOP_TOKEN_H_
