// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The flags of one subcommand, read strictly: what is not known, or has no
// unit, or is out of range, is an error that names the argument.
//
//   absl::Duration timeout = absl::Minutes(5);
//   waiter::cli::Flags flags("waiter plan", "[FLAG...]", "Shows what it
//   does."); flags.Add("timeout", "5m", "when to give up", timeout);
//   absl::StatusOr<std::vector<std::string>> files =
//       flags.Parse(args, waiter::cli::ProcessEnvironment());
//
// Forms are those of Abseil: `--timeout=5m`, `--timeout 5m`, `-timeout=5m`,
// `--color`, `--nocolor`; `--` ends the flags. Each flag is also a variable,
// as WAITER_TIMEOUT=5m (cli/variables.h), which the command line goes before:
// a variable is not even read if its flag, or one that contradicts it, was
// given there.

#ifndef WAITER_CLI_FLAGS_FLAGS_H_
#define WAITER_CLI_FLAGS_FLAGS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace waiter::cli {

// Thread-compatible. What a flag is read into must outlive it.
class Flags {
 public:
  // Reads one value, and says what is wrong with it, or OK.
  using Reader = std::function<absl::Status(std::string_view)>;

  // For the help: the command, its arguments, and what it does.
  Flags(std::string command, std::string arguments, std::string summary);

  // Adds `--name=example`. A flag given twice is an error.
  void Add(std::string name, std::string example, std::string help,
           Reader reader);
  void Add(std::string name, std::string example, std::string help,
           std::string& value);
  void Add(std::string name, std::string example, std::string help,
           absl::Duration& value);
  void Add(std::string name, std::string example, std::string help,
           uint64_t& value);

  // A whole number of at least `least` and at most `most`.
  void Add(std::string name, std::string example, std::string help, int& value,
           int least, int most);

  // Adds a flag that may be given any number of times: `reader` gets each
  // value. Its variable has one.
  void AddRepeated(std::string name, std::string example, std::string help,
                   Reader reader);

  // `--name` and `--noname`. The variable is true, false, 1, 0, yes or no.
  void AddSwitch(std::string name, std::string help, bool& value);

  // Says that these flags contradict each other, so that giving two is an
  // error; a switch that is off is none. `why` is appended to that error.
  void AddAlternatives(std::vector<std::string> names, std::string why = "");

  // Flags that are added from here on are shown by `--help=NAME` instead of
  // `--help`, which has a line for each topic.
  void BeginTopic(std::string name, std::string summary);

  // Whole lines for the help, after the summary.
  void SetNotes(std::string notes) { notes_ = std::move(notes); }

  // Reads all flags, then the variables of those that were not given, and
  // returns the other arguments; or kInvalidArgument with one line that names
  // the argument or variable. To be called once.
  absl::StatusOr<std::vector<std::string>> Parse(
      absl::Span<const std::string> args,
      absl::Span<const std::string> environment = {});

  // Returns whether `Parse` has met the flag, or a variable for it; whether it
  // was the variable; and whether it has met `--help` or `-h`.
  bool Given(std::string_view name) const;
  bool FromVariable(std::string_view name) const;
  bool HelpWanted() const { return help_wanted_; }

  // Returns what the user knows the flag as: `--name`, or the variable if that
  // is where it was read from.
  std::string Label(std::string_view name) const;
  std::vector<std::string> Names() const;

  // Returns the command, what it does, and a line for each flag; or those of
  // the topic that was asked for.
  std::string Help() const;

 private:
  enum class Source { kNone, kArgument, kVariable };

  struct Flag {
    std::string name;
    std::string example;
    std::string help;
    Reader reader;      // Null for a switch.
    bool* value;        // Of a switch.
    std::string topic;  // Empty for `--help`.
    bool is_repeatable = false;
    Source source = Source::kNone;
  };

  struct Alternatives {
    std::vector<std::string> names;
    std::string why;
  };

  void Add(Flag flag);
  absl::Status ReadHelp(const std::string& argument, std::string_view topic);
  Flag* Find(std::string_view name);
  const Flag* Find(std::string_view name) const;

  // Reads `argument`, whose value may be in `next`; sets `used_next` if so.
  absl::Status ReadFlag(const std::string& argument, const std::string* next,
                        bool& used_next);
  absl::Status ReadVariable(Flag& flag, std::string_view text);

  // Returns whether the command line has the flag or a contradiction to it.
  bool Settled(const Flag& flag) const;

  // Returns which of `names` were given, but for switches that are off.
  std::vector<const Flag*> Chosen(const Alternatives& alternatives) const;

  std::string command_;
  std::string arguments_;
  std::string summary_;
  std::vector<Flag> flags_;
  std::vector<Alternatives> alternatives_;
  std::string notes_;
  std::vector<std::pair<std::string, std::string>> topics_;  // And summaries.
  bool help_wanted_ = false;
  std::string help_topic_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_FLAGS_FLAGS_H_
