// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the `waiter` program, or another, as a child, and reads its output while
// it runs:
//
//   WaiterProcess waiter({"tcp://127.0.0.1:1", "--timeout=1s"});
//   EXPECT_EQ(waiter.Wait(), 124);
//   EXPECT_THAT(waiter.err(), HasSubstr("refused"));

#ifndef WAITER_TESTS_CLI_WAITER_PROCESS_H_
#define WAITER_TESTS_CLI_WAITER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"

namespace waiter::cli {

// Thread-compatible. Fails the test if the program prints nothing for 30 s.
class WaiterProcess {
 public:
  struct Options {
    std::string program = {};  // Empty for `waiter`.
    std::string input = {};    // Text on standard input.
    // Variables as `NAME=value`. The program gets only these and PATH.
    std::vector<std::string> environment = {};
    std::vector<int> ignored_signals = {};
  };

  explicit WaiterProcess(std::vector<std::string> arguments);
  WaiterProcess(std::vector<std::string> arguments, const Options& options);

  // Kills the program if it has not ended.
  ~WaiterProcess();

  WaiterProcess(const WaiterProcess&) = delete;
  WaiterProcess& operator=(const WaiterProcess&) = delete;

  // Reads until `out()` or `err()` contains `text`. Returns false if the
  // program ends first.
  bool ReadUntil(std::string_view text);
  // Reads until `holds` returns true, which is called after each output.
  bool ReadUntil(const std::function<bool()>& holds);

  // Reads to the end. Returns the exit code, or 1000 plus the number of the
  // signal that killed the program.
  int Wait();

  void Signal(int signal) const;

  pid_t pid() const { return pid_; }
  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }

 private:
  // Returns true if more output may follow.
  bool ReadSome();

  pid_t pid_ = -1;
  int out_fd_ = -1;
  int err_fd_ = -1;
  int code_ = -1;
  std::string out_;
  std::string err_;
};

// How a program ended, and what it wrote.
struct Ended {
  int code;
  std::string out;
  std::string err;
};
// Runs the program to its end.
Ended Call(std::vector<std::string> arguments,
           const WaiterProcess::Options& options = {});

// Matches the end of a program. `err` and `out` match what it wrote.
inline testing::Matcher<const Ended&> Ends(
    int code, const testing::Matcher<std::string>& err = testing::_,
    const testing::Matcher<std::string>& out = testing::_) {
  return testing::AllOf(testing::Field("code", &Ended::code, code),
                        testing::Field("err", &Ended::err, err),
                        testing::Field("out", &Ended::out, out));
}
inline void PrintTo(const Ended& ended, std::ostream* to) {
  *to << ended.code << "\n" << ended.out << ended.err;
}

// Returns the path of the `waiter` program.
std::string WaiterPath();

// Returns whether `waiter` finds libcurl on this machine.
bool HasHttp();

// Returns a port of 127.0.0.1, or of ::1, on which nothing listens.
int FreePort(int family);

}  // namespace waiter::cli

#endif  // WAITER_TESTS_CLI_WAITER_PROCESS_H_
