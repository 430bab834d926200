// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Parses the flags of one subcommand strictly: an unknown flag and a value out
// of range are errors that name the argument.
//
//   absl::Duration timeout = absl::Minutes(5);
//   waiter::cli::Flags flags("waiter plan", "[FLAG...]",
//                            "Shows when a policy polls.");
//   flags.Add("timeout", "5m", "when to give up", timeout);
//   absl::StatusOr<std::vector<std::string>> files =
//       flags.Parse(args, waiter::cli::ProcessEnvironment());
//
// The forms are as in Abseil: `--timeout=5m`, `--timeout 5m`, `-timeout=5m`,
// `--any`, `--noany`; `--` ends the flags. A flag may have a short form, `-t
// 5m` or `-t5m`, and short forms may be joined, `-qt5m`. Each flag is also an
// environment variable, such as WAITER_TIMEOUT=5m (cli/flags/variables.h). The
// command line wins: a variable is not even read if its flag, or a flag that
// contradicts it, is given there.

#ifndef WAITER_CLI_FLAGS_FLAGS_H_
#define WAITER_CLI_FLAGS_FLAGS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace waiter::cli {

// Thread-compatible. The values that flags are read into must outlive it.
class Flags {
 public:
  // Reads one value. Returns OK, or an error that describes the problem.
  using Reader = std::function<absl::Status(std::string_view)>;

  // Returns a reader that stores what `parse` returns, a `StatusOr`, in `value`
  // unless it is an error. `value` must outlive the reader.
  template <typename Parse, typename T>
  static Reader Into(Parse parse, T& value) {
    return [parse = std::move(parse), &value](std::string_view text) {
      auto parsed = parse(text);
      if (!parsed.ok()) return parsed.status();
      value = *std::move(parsed);
      return absl::OkStatus();
    };
  }

  // The arguments are for the help: the subcommand as the user calls it, such
  // as "waiter plan", its arguments, and a summary.
  Flags(std::string command, std::string arguments, std::string summary);

  // Adds `--name=example`. Giving a flag twice is an error.
  void Add(std::string name, std::string example, std::string help,
           Reader reader);
  void Add(std::string name, std::string example, std::string help,
           std::string& value);
  void Add(std::string name, std::string example, std::string help,
           absl::Duration& value);
  void Add(std::string name, std::string example, std::string help,
           uint64_t& value);

  // Adds a flag for a whole number from `least` to `most`.
  void Add(std::string name, std::string example, std::string help, int& value,
           int least, int most);

  // Adds a flag that may be given any number of times; `reader` gets each
  // value. Its variable holds one value.
  void AddRepeated(std::string name, std::string example, std::string help,
                   Reader reader);

  // Accepts a flag, which was added before, also for one target, as
  // `--name@LABEL=value` or, if it is a switch, `--name@LABEL`, any number of
  // times and with other labels. `reader` gets the label and the value, which
  // is empty for a switch. There is no variable for that.
  using LabelReader =
      std::function<absl::Status(std::string_view, std::string_view)>;
  void AllowLabels(std::string_view name, LabelReader reader);

  // Adds a switch, `--name` or `--noname`. Its variable is true, false, 1, 0,
  // yes or no.
  void AddSwitch(std::string name, std::string help, bool& value);

  // Accepts a flag, which was added before, also as `-letter`. A value that
  // follows the letter immediately must begin with a digit, so that a long name
  // that is misspelled does not pass for a value.
  void AddShortForm(char letter, std::string_view name);

  // Declares that the variable of a flag, which was added before, means
  // something else: `Parse` does not read it.
  void HasNoVariable(std::string_view name);

  // Makes it an error to give two of these flags. A switch that is off does not
  // count. The error ends with `why`.
  void AddAlternatives(std::vector<std::string> names, std::string why = "");

  // Keeps the values of a flag, which was added before, out of error messages.
  void HideValues(std::string_view name);

  // Begins a topic. `--help=NAME` shows what `notes` returns, which are whole
  // lines, and the flags that are added from here on; `--help` has one line for
  // each topic.
  void BeginTopic(std::string name, std::string summary,
                  std::string (*notes)() = nullptr);

  // Sets whole lines that the help shows after the summary.
  void SetNotes(std::string notes) { notes_ = std::move(notes); }

  // Reads all flags, and then the variables of flags that were not given.
  // Returns the other arguments, or kInvalidArgument with one line that names
  // the argument or variable. The value of an unknown flag, which may be a
  // secret, is not shown. Must be called at most once.
  absl::StatusOr<std::vector<std::string>> Parse(
      absl::Span<const std::string> args,
      absl::Span<const std::string> environment = {});

  // The same for a subcommand that takes no other arguments: one is an error.
  absl::Status ParseFlagsOnly(absl::Span<const std::string> args,
                              absl::Span<const std::string> environment);

  // Returns whether the flag was given, as an argument or as a variable.
  bool Given(std::string_view name) const;

  // Returns whether the flag was given as a variable.
  bool FromVariable(std::string_view name) const;

  // A flag that was given for a target.
  struct Labelled {
    std::string name;
    std::string label;
  };
  const std::vector<Labelled>& labelled() const { return labelled_; }

  // Returns whether `--help`, `--help=TOPIC` or `-h` was given.
  bool HelpWanted() const { return help_wanted_; }

  // Returns the name by which the user gave the flag: the variable if it was
  // given as one, otherwise `--name`.
  std::string Label(std::string_view name) const;

  // Returns the command as the user gave it, for a shell, with variables before
  // it and `...` for values that `HideValues` hides. Other arguments, which may
  // be targets with a password, are shown.
  std::string CommandLine() const;

  // Returns the names of all flags, without dashes.
  std::vector<std::string> Names() const;

  // Writes the help if it was asked for, and returns whether it was. The help
  // is usage, summary, notes and a line for each flag, or the flags of a topic.
  bool ShowHelp(std::ostream& out) const;

 private:
  enum class Source { kNone, kArgument, kVariable };

  struct Flag {
    std::string name;
    std::string example;
    std::string help;
    Reader reader;      // Null for a switch.
    bool* value;        // Null unless it is a switch.
    std::string topic;  // Empty if `--help` shows it.
    bool is_repeatable = false;
    bool has_secrets = false;
    bool has_variable = true;
    LabelReader label_reader = nullptr;  // Null if it takes no labels.
    Source source = Source::kNone;
  };

  struct Topic {
    std::string name;
    std::string summary;
    std::string (*notes)();  // Null without notes.
  };

  struct Alternatives {
    std::vector<std::string> names;
    std::string why;
  };

  void Add(Flag flag);
  std::string Help() const;
  absl::Status ReadHelp(const std::string& argument, std::string_view topic);
  Flag* Find(std::string_view name);
  const Flag* Find(std::string_view name) const;

  // Returns the switch that `--noname` turns off, or null.
  Flag* FindNegated(std::string_view name);

  // Returns the long forms of short forms, or `argument` itself if it has none.
  std::vector<std::string> LongForms(const std::string& argument) const;

  // Reads all flags of `argument`, which may join short forms. The value of the
  // last may be in `next`; sets `used_next` if so.
  absl::Status ReadForms(const std::string& argument, const std::string* next,
                         bool& used_next);
  absl::Status ReadFlag(const std::string& argument, const std::string* next,
                        bool& used_next);
  absl::Status ReadLabelled(const std::string& argument,
                            const std::string* next, bool& used_next);
  absl::Status ReadVariable(Flag& flag, std::string_view text);

  // Adds a flag that was given to `line_`.
  void AddToLine(const Flag& flag, std::string_view name,
                 std::optional<std::string_view> value);
  static std::string Shown(const Flag& flag, std::string_view value);

  // Returns whether the command line has the flag, or one that contradicts it.
  bool Settled(const Flag& flag) const;

  // Returns the error for an unknown flag, without its value.
  absl::Status UnknownFlag(std::string_view name) const;

  // Returns which of the flags were given, without switches that are off.
  std::vector<const Flag*> Chosen(const Alternatives& alternatives) const;

  std::string command_;
  std::string arguments_;
  std::string summary_;
  std::vector<Flag> flags_;
  std::map<char, std::string> short_forms_;  // Names by letter.
  std::vector<Alternatives> alternatives_;
  std::vector<Labelled> labelled_;
  std::vector<std::string> line_;  // Words, quoted, of the command line.
  std::string notes_;
  std::vector<Topic> topics_;
  bool help_wanted_ = false;
  std::string help_topic_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_FLAGS_FLAGS_H_
