// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The `waiter` program, or another, as a child whose output is read while it
// runs:
//
//   WaiterProcess waiter({"tcp://127.0.0.1:1", "--timeout=1s"});
//   EXPECT_EQ(waiter.Wait(), 124);
//   EXPECT_THAT(waiter.err(), HasSubstr("refused"));

#ifndef WAITER_TESTS_CLI_WAITER_PROCESS_H_
#define WAITER_TESTS_CLI_WAITER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace waiter::cli {

// Thread-compatible. Fails the test if the program takes half a minute.
class WaiterProcess {
 public:
  struct Options {
    std::string program = {};  // Empty: `waiter` itself.
    std::string input = {};    // Its standard input.
    // `NAME=value`, besides PATH; nothing else of ours.
    std::vector<std::string> environment = {};
    std::vector<int> ignored_signals = {};
  };

  explicit WaiterProcess(std::vector<std::string> arguments);
  WaiterProcess(std::vector<std::string> arguments, const Options& options);

  // Kills it, if it has not ended.
  ~WaiterProcess();

  WaiterProcess(const WaiterProcess&) = delete;
  WaiterProcess& operator=(const WaiterProcess&) = delete;

  // Reads on until `out()` or `err()` has `text`; returns whether that was
  // before its end.
  bool ReadUntil(std::string_view text);

  // Reads to its end; returns its exit code, or 1000 and the signal that killed
  // it.
  int Wait();

  void Signal(int signal) const;

  pid_t pid() const { return pid_; }
  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }

 private:
  // Returns whether there may be more.
  bool ReadSome();

  pid_t pid_ = -1;
  int out_fd_ = -1;
  int err_fd_ = -1;
  int code_ = -1;
  std::string out_;
  std::string err_;
};

// A port of 127.0.0.1, or of ::1, on which nothing listens.
int FreePort(int family);

}  // namespace waiter::cli

#endif  // WAITER_TESTS_CLI_WAITER_PROCESS_H_
