// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/loop/blocking_calls.h"

#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "cli/loop/event_loop.h"

namespace waiter::cli {

// Shared with the threads. `mutex` guards the other members.
struct BlockingCalls::State {
  std::mutex mutex;
  std::condition_variable changed;
  EventLoop* loop;  // Null once `BlockingCalls` is destroyed.
  std::deque<std::function<std::function<void()>()>> calls;
  size_t threads = 0;
  size_t idle = 0;
};

namespace {

// Starts a detached thread that blocks all signals, which are for the thread of
// the loop. Returns false if the system refuses a thread.
bool StartThread(std::function<void()> run) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    std::thread(std::move(run)).detach();
  } catch (const std::system_error&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace

BlockingCalls::BlockingCalls(EventLoop& loop, size_t max_threads)
    : max_threads_(max_threads), state_(std::make_shared<State>()) {
  state_->loop = &loop;
}

BlockingCalls::~BlockingCalls() {
  const std::lock_guard lock(state_->mutex);
  state_->loop = nullptr;
  state_->calls.clear();
  state_->changed.notify_all();
}

void BlockingCalls::Start(std::function<std::function<void()>()> call) {
  const std::lock_guard lock(state_->mutex);
  state_->calls.push_back(std::move(call));
  if (state_->idle >= state_->calls.size()) {
    state_->changed.notify_one();
  } else if (state_->threads < max_threads_ &&
             StartThread([state = state_] { RunCalls(state); })) {
    // If the system refuses a thread, the call waits for another one.
    ++state_->threads;
  }
}

void BlockingCalls::RunCalls(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    ++state->idle;
    state->changed.wait(
        lock, [&] { return !state->calls.empty() || state->loop == nullptr; });
    --state->idle;
    if (state->loop == nullptr) return;
    const auto call = std::move(state->calls.front());
    state->calls.pop_front();
    lock.unlock();
    std::function<void()> answer = call();
    lock.lock();
    if (state->loop == nullptr) return;
    state->loop->Post([state, answer = std::move(answer)] {
      {
        const std::lock_guard posted(state->mutex);
        if (state->loop == nullptr) return;
      }
      answer();
    });
  }
}

}  // namespace waiter::cli
