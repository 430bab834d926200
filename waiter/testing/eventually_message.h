// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The history of an assertion's polls, and the message of its failure.

#ifndef WAITER_TESTING_EVENTUALLY_MESSAGE_H_
#define WAITER_TESTING_EVENTUALLY_MESSAGE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/result.h"
#include "waiter/testing/eventually.h"
#include "waiter/testing/eventually_plan.h"
#include "waiter/testing/internal/eventually_subject.h"

namespace waiter::internal::eventually {

// A history of polls that merges equal values in a row. It keeps the first and
// the last of many values.
class PollHistory {
 public:
  // Poll number `attempt`, which began `at` after the start of the wait.
  struct Entry {
    Look look;
    int64_t attempt = 0;
    absl::Duration at;
  };

  explicit PollHistory(int lines)
      : first_lines_(lines - lines / 2), last_lines_(lines / 2) {}

  void Add(Entry entry);

  // Return the last poll, and the last one without an error or exception.
  const Entry& last() const { return last_; }
  const std::optional<Entry>& last_good() const { return last_good_; }

  // Returns one line for each value, such as `12x from 30ms: "CREATING"`.
  std::vector<std::string> Lines() const;

 private:
  struct Run {
    std::string text;
    int64_t polls;
    absl::Duration since;
  };

  Run* Current();

  int first_lines_;
  int last_lines_;
  std::vector<Run> first_runs_;
  std::deque<Run> last_runs_;
  int64_t dropped_runs_ = 0;
  int64_t dropped_polls_ = 0;
  Entry last_;
  std::optional<Entry> last_good_;
};

// Returns "expression" or "name: expression", for a line that has the place of
// the assertion.
std::string ShortNameOf(const Site& site, const EventuallyOptions& options);

// The same for the start of a message. The message of `waiter::Eventually` has
// its place.
std::string NameOf(const Site& site, const EventuallyOptions& options);

// Returns the message of a wait that failed.
std::string FailureText(const Site& site, const EventuallyOptions& options,
                        const Plan& plan, const Subject& subject,
                        const WaitReport& report, const PollHistory& history);

// Returns a line that says that a wait continues, when its next poll begins
// `elapsed` after its start.
std::string ProgressText(const Site& site, const EventuallyOptions& options,
                         const Plan& plan, absl::Duration elapsed,
                         const PollHistory& history);

// Returns the message of a wait that did not begin because its options are
// invalid.
std::string MisuseText(const Site& site, const EventuallyOptions& options,
                       const absl::Status& status);

}  // namespace waiter::internal::eventually

#endif  // WAITER_TESTING_EVENTUALLY_MESSAGE_H_
