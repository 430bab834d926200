// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The log of `waiter durable work`, for people:
//
//   jobs a: claimed
//   jobs a: poll 3: NOT_READY: refused; again in 5s
//   jobs a: success after 9 polls in 42s
//
// or, with --log-json, the same as lines of JSON:
//
//   {"v":1,"t":"2026-01-01T00:00:03.000Z","event":"poll","name":"jobs",
//    "key":"a","attempt":3,"class":"NOT_READY","detail":"refused",
//    "next_ms":5000}

#ifndef WAITER_CLI_COMMANDS_DURABLE_WORK_LOG_H_
#define WAITER_CLI_COMMANDS_DURABLE_WORK_LOG_H_

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "cli/flags/flags.h"
#include "waiter/observer.h"

namespace waiter::cli {

// Thread-safe once it is open.
class DurableWorkLog {
 public:
  // Takes a line for people, on any thread.
  using WriteLine = std::function<void(std::string line)>;

  // Adds --quiet, --verbose and --log-json.
  void AddTo(Flags& flags);

  // Opens the file of --log-json, to which lines are appended.
  absl::Status Open();

  bool quiet() const { return quiet_; }

  // Returns an observer of the waits of a name. It says when they end and,
  // with --verbose, when they are claimed and polled; with --quiet, nothing.
  // Must not outlive this.
  std::shared_ptr<WaitObserver> ObserverOf(const std::string& name,
                                           WriteLine write) const;

 private:
  class Observer;
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  bool quiet_ = false;
  bool verbose_ = false;
  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_DURABLE_WORK_LOG_H_
