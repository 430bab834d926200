// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/flags/output_flags.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/flags/flags.h"
#include "cli/output/failure_message.h"
#include "cli/output/json_progress.h"
#include "cli/output/plain_progress.h"
#include "cli/output/target_text.h"
#include "cli/output/terminal.h"
#include "cli/output/terminal_progress.h"
#include "cli/run/run_state.h"
#include "cli/text/printable.h"

namespace waiter::cli {
namespace {

// A value of a flag and its name.
template <typename Value>
using Choice = std::pair<std::string_view, Value>;

template <typename Value>
Flags::Reader ReadChoice(std::vector<Choice<Value>> choices, Value& value) {
  return [choices = std::move(choices), &value](std::string_view text) {
    for (const auto& [name, choice] : choices) {
      if (name != text) continue;
      value = choice;
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "it must be one of ",
        absl::StrJoin(choices, ", ",
                      [](std::string* out, const Choice<Value>& choice) {
                        absl::StrAppend(out, choice.first);
                      })));
  };
}

std::string SystemError() {
  return std::error_code(errno, std::generic_category()).message();
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Empties the file at `path`, and returns a function that appends lines to it.
absl::StatusOr<JsonProgress::Write> WriteToFile(const std::string& path) {
  // Without O_NONBLOCK, a pipe without a reader would stop everything.
  const int number =
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK,
           0666);
  std::unique_ptr<std::FILE, CloseFile> opened(
      number < 0 ? nullptr : fdopen(number, "w"));
  if (opened == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--log-json=", path, ": ", SystemError()));
  }
  // Shared, as `std::function` must be copyable.
  const std::shared_ptr<std::FILE> file = std::move(opened);
  return JsonProgress::Write([file, path](std::string_view line) {
    if (std::fwrite(line.data(), 1, line.size(), file.get()) == line.size() &&
        std::fflush(file.get()) == 0) {
      return absl::OkStatus();
    }
    return absl::UnavailableError(
        absl::StrCat("--log-json=", path, ": ", SystemError()));
  });
}

JsonProgress::Write WriteToStream(std::ostream& out) {
  return [&out](std::string_view line) {
    out << line << std::flush;
    return out ? absl::OkStatus()
               : absl::UnavailableError(
                     "--progress=json: cannot write to standard output");
  };
}

// Writes the output of each target's last poll.
class PrintLast : public RunListener {
 public:
  PrintLast(std::ostream& out, bool terminal)
      : out_(out), terminal_(terminal) {}

  void OnDone(const RunState& run, const RunEnd& /*end*/) override {
    for (const TargetState& target : run.targets) Print(target.last.output);
    out_ << std::flush;
  }

  absl::Status status() const override {
    return out_ ? absl::OkStatus()
                : absl::UnavailableError(
                      "--print-last: cannot write to standard output");
  }

 private:
  // Writes `output` unchanged, except on a terminal.
  void Print(std::string_view output) {
    if (!terminal_) {
      out_ << output;
      return;
    }
    if (output.empty()) return;
    if (output.back() == '\n') output.remove_suffix(1);
    for (const std::string_view line : absl::StrSplit(output, '\n')) {
      out_ << Printable(line) << '\n';
    }
  }

  std::ostream& out_;
  const bool terminal_;
};

// Writes the values that --print asks for, each in a line.
class PrintValues : public RunListener {
 public:
  PrintValues(std::ostream& out, bool terminal)
      : out_(out), terminal_(terminal) {}

  void OnDone(const RunState& run, const RunEnd& end) override {
    if (end.reason != "ready") return;
    for (const TargetState& target : run.targets) {
      const std::optional<std::string>& value = target.last.value;
      if (!value.has_value()) continue;
      out_ << (terminal_ ? Printable(*value) : *value) << '\n' << std::flush;
      works_ &= out_.good();
    }
  }

  absl::Status status() const override {
    return works_ ? absl::OkStatus()
                  : absl::UnavailableError(
                        "--print: cannot write to standard output");
  }

 private:
  std::ostream& out_;
  const bool terminal_;
  bool works_ = true;
};

bool HasPrint(const Flags& flags) {
  return flags.Given("print") ||
         std::any_of(flags.labelled().begin(), flags.labelled().end(),
                     [](const Flags::Labelled& given) {
                       return given.name == "print";
                     });
}

}  // namespace

void OutputFlags::AddTo(Flags& flags) {
  flags.Add("progress", "auto", "auto, tty, plain, json (to stdout) or none",
            ReadChoice<Progress>({{"auto", Progress::kAuto},
                                  {"tty", Progress::kTty},
                                  {"plain", Progress::kPlain},
                                  {"json", Progress::kJson},
                                  {"none", Progress::kNone}},
                                 progress_));
  flags.AddSwitch("quiet", "print nothing except one line if the wait fails",
                  quiet_);
  flags.AddSwitch("verbose", "print a line for each poll", verbose_);
  flags.Add("log-json", "FILE", "log the run to FILE, for waiter report", log_);
  flags.AddSwitch("print-last", "print the output of each target's last poll",
                  print_last_);
  flags.Add("color", "auto", "colors of --progress=tty: auto, always or never",
            ReadChoice<Color>({{"auto", Color::kAuto},
                               {"always", Color::kAlways},
                               {"never", Color::kNever}},
                              color_));
  flags.AddAlternatives({"progress", "quiet", "verbose"});
}

OutputFlags::Progress OutputFlags::Chosen(const Terminal& terminal) const {
  if (quiet_) return Progress::kNone;
  if (verbose_) return Progress::kPlain;
  if (progress_ != Progress::kAuto) return progress_;
  return terminal.err && !terminal.dumb ? Progress::kTty : Progress::kPlain;
}

absl::StatusOr<RunListeners> OutputFlags::Listeners(const Flags& flags,
                                                    const Terminal& terminal,
                                                    std::ostream& out,
                                                    std::ostream& err) const {
  const Progress progress = Chosen(terminal);
  if ((print_last_ || HasPrint(flags)) && progress == Progress::kJson) {
    return absl::InvalidArgumentError(absl::StrCat(
        flags.Label(print_last_ ? "print-last" : "print"), " and ",
        flags.Label("progress"),
        "=json both write to standard output; --log-json=FILE writes "
        "to a file"));
  }
  RunListeners listeners;
  if (!log_.empty()) {
    absl::StatusOr<JsonProgress::Write> write = WriteToFile(log_);
    if (!write.ok()) return write.status();
    listeners.push_back(std::make_unique<JsonProgress>(*std::move(write)));
  }
  switch (progress) {
    case Progress::kTty:
      listeners.push_back(std::make_unique<TerminalProgress>(
          err, TerminalProgressOptions{
                   .size = terminal.size,
                   .color = color_ == Color::kAlways ||
                            (color_ == Color::kAuto && terminal.colors),
                   .unicode = terminal.unicode}));
      break;
    case Progress::kAuto:
    case Progress::kPlain:
      listeners.push_back(std::make_unique<PlainProgress>(
          err, verbose_ ? PlainProgress::Lines::kPolls
                        : PlainProgress::Lines::kChanges));
      break;
    case Progress::kJson:
      listeners.push_back(std::make_unique<JsonProgress>(WriteToStream(out)));
      break;
    case Progress::kNone:
      listeners.push_back(std::make_unique<Snapshots>(err));
      break;
  }
  listeners.push_back(std::make_unique<FailureMessage>(
      err, progress == Progress::kNone ? FailureMessage::Extent::kLine
                                       : FailureMessage::Extent::kAll));
  if (print_last_) {
    listeners.push_back(std::make_unique<PrintLast>(out, terminal.out));
  }
  listeners.push_back(std::make_unique<PrintValues>(out, terminal.out));
  return listeners;
}

}  // namespace waiter::cli
