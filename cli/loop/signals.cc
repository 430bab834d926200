// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/loop/signals.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <functional>
#include <utility>

#include "cli/loop/event_loop.h"
#include "cli/loop/wake_pipe.h"

namespace waiter::cli {
namespace {

// Write ends of the pipes, plus one, by signal; 0 for a signal without a watch.
constinit std::array<std::atomic<int>, NSIG> pipes = {};

extern "C" void WritePipe(int signal) {
  const int before = errno;
  // A full pipe also wakes the loop.
  [[maybe_unused]] const ssize_t written =
      write(pipes[static_cast<size_t>(signal)] - 1, "", 1);
  errno = before;
}

}  // namespace

SignalWatch::SignalWatch(EventLoop& loop, int signal,
                         std::function<void()> call)
    : signal_(signal) {
  const std::array<int, 2> ends = MakeWakePipe();
  reading_ = ends[0];
  pipes[static_cast<size_t>(signal)] = ends[1] + 1;
  watch_ = loop.WhenReady(
      reading_, POLLIN, [fd = reading_, call = std::move(call)](short) {
        std::array<char, 64> drained;
        while (read(fd, drained.data(), drained.size()) > 0) {
        }
        call();
      });
  sigaction(signal, nullptr, &before_);
  if (before_.sa_handler == SIG_IGN && signal != SIGCHLD) return;
  struct sigaction action = {};
  action.sa_handler = WritePipe;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

SignalWatch::~SignalWatch() {
  sigaction(signal_, &before_, nullptr);
  close(pipes[static_cast<size_t>(signal_)].exchange(0) - 1);
  close(reading_);
}

}  // namespace waiter::cli
