// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Another process that answers with lines of figures:
//
//   Member worker({"./worker", "--port=6379"});
//   double polls = worker.Ask().at("polls");

#ifndef WAITER_BENCH_DISTRIBUTED_MEMBER_H_
#define WAITER_BENCH_DISTRIBUTED_MEMBER_H_

#include <sys/types.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace waiter::bench {

// Figures by name, from a line "name=value name=value".
using Figures = std::map<std::string, double>;

// Thread-compatible. Any failure ends the program.
class Member {
 public:
  // Starts the program, whose name is the first of `command`.
  explicit Member(const std::vector<std::string>& command);
  // Ends the program with SIGKILL.
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // Returns the figures of the next line of its output.
  Figures Read();
  // Does the same after sending an empty line to its input.
  Figures Ask();

  void Kill();

 private:
  pid_t pid_ = -1;
  std::FILE* in_ = nullptr;   // The program's output.
  std::FILE* out_ = nullptr;  // The program's input.
};

}  // namespace waiter::bench

#endif  // WAITER_BENCH_DISTRIBUTED_MEMBER_H_
