// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/flags.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace waiter {
namespace {

absl::Status Invalid(std::string_view argument, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(argument, ": ", why));
}

}  // namespace

absl::StatusOr<absl::Duration> ParseFlagDuration(std::string_view text,
                                                 bool may_be_infinite) {
  absl::Duration value;
  if (!absl::ParseDuration(text, &value)) {
    double number = 0;
    return absl::InvalidArgumentError(
        absl::SimpleAtod(text, &number)
            ? absl::StrCat("a duration needs a unit, as ", text, "s or ", text,
                           "ms")
            : "no duration; write it as 300ms, 5s or 1m30s");
  }
  if (value < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("a duration is at least zero");
  }
  if (value == absl::InfiniteDuration() && !may_be_infinite) {
    return absl::InvalidArgumentError("it must be finite");
  }
  return value;
}

Flags::Flags(std::string command, std::string arguments, std::string summary)
    : command_(std::move(command)),
      arguments_(std::move(arguments)),
      summary_(std::move(summary)) {}

void Flags::Add(std::string name, std::string example, std::string help,
                Reader reader) {
  flags_.push_back({.name = std::move(name),
                    .example = std::move(example),
                    .help = std::move(help),
                    .reader = std::move(reader),
                    .value = nullptr});
}

void Flags::Add(std::string name, std::string example, std::string help,
                std::string& value) {
  Add(std::move(name), std::move(example), std::move(help),
      [&value](std::string_view text) {
        value = std::string(text);
        return text.empty() ? absl::InvalidArgumentError("it is empty")
                            : absl::OkStatus();
      });
}

void Flags::Add(std::string name, std::string example, std::string help,
                absl::Duration& value) {
  Add(std::move(name), std::move(example), std::move(help),
      [&value](std::string_view text) {
        const absl::StatusOr<absl::Duration> duration = ParseFlagDuration(text);
        if (duration.ok()) value = *duration;
        return duration.status();
      });
}

void Flags::Add(std::string name, std::string example, std::string help,
                uint64_t& value) {
  Add(std::move(name), std::move(example), std::move(help),
      [&value](std::string_view text) {
        return absl::SimpleAtoi(text, &value)
                   ? absl::OkStatus()
                   : absl::InvalidArgumentError(
                         "it must be a whole number, zero or more");
      });
}

void Flags::Add(std::string name, std::string example, std::string help,
                int& value, int least, int most) {
  Add(std::move(name), std::move(example), std::move(help),
      [&value, least, most](std::string_view text) {
        int number = 0;
        if (!absl::SimpleAtoi(text, &number) || number < least ||
            number > most) {
          return absl::InvalidArgumentError(absl::StrCat(
              "it must be a whole number from ", least, " to ", most));
        }
        value = number;
        return absl::OkStatus();
      });
}

void Flags::AddSwitch(std::string name, std::string help, bool& value) {
  flags_.push_back({.name = std::move(name),
                    .example = "",
                    .help = std::move(help),
                    .reader = nullptr,
                    .value = &value});
}

Flags::Flag* Flags::Find(std::string_view name) {
  const auto flag =
      std::find_if(flags_.begin(), flags_.end(),
                   [&](const Flag& known) { return known.name == name; });
  return flag == flags_.end() ? nullptr : &*flag;
}

bool Flags::Given(std::string_view name) const {
  return std::any_of(flags_.begin(), flags_.end(), [&](const Flag& flag) {
    return flag.name == name && flag.given;
  });
}

absl::Status Flags::ReadFlag(const std::string& argument,
                             const std::string* next, bool& used_next) {
  std::string_view name = argument;
  name.remove_prefix(name[1] == '-' ? 2 : 1);
  if (name == "help" || name == "h") {
    help_wanted_ = true;
    return absl::OkStatus();
  }
  const size_t equals = name.find('=');
  const bool has_value = equals != std::string_view::npos;
  const std::string_view value = has_value ? name.substr(equals + 1) : "";
  name = name.substr(0, equals);

  Flag* flag = Find(name);
  const bool negated = flag == nullptr && absl::StartsWith(name, "no");
  if (negated) {
    flag = Find(name.substr(2));
    if (flag != nullptr && flag->reader != nullptr) flag = nullptr;
  }
  if (flag == nullptr) {
    return Invalid(argument,
                   absl::StrCat("no such flag; see ", command_, " --help"));
  }
  if (flag->given) return Invalid(argument, "given twice");
  flag->given = true;
  if (flag->reader == nullptr) {
    *flag->value = !negated;
    return has_value ? Invalid(argument, "this flag takes no value")
                     : absl::OkStatus();
  }
  used_next = !has_value;
  if (used_next && next == nullptr) {
    return Invalid(argument, absl::StrCat("it needs a value, as --", name, "=",
                                          flag->example));
  }
  absl::Status status = flag->reader(used_next ? *next : value);
  if (status.ok()) return status;
  return Invalid(used_next ? absl::StrCat(argument, " ", *next) : argument,
                 status.message());
}

absl::StatusOr<std::vector<std::string>> Flags::Parse(
    absl::Span<const std::string> args) {
  std::vector<std::string> rest;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--") {
      const absl::Span<const std::string> after = args.subspan(i + 1);
      rest.insert(rest.end(), after.begin(), after.end());
      break;
    }
    if (args[i].size() < 2 || args[i][0] != '-') {
      rest.push_back(args[i]);
      continue;
    }
    bool used_next = false;
    absl::Status status = ReadFlag(
        args[i], i + 1 < args.size() ? &args[i + 1] : nullptr, used_next);
    if (!status.ok()) return status;
    if (used_next) ++i;
  }
  return rest;
}

std::string Flags::Help() const {
  std::string help = absl::StrCat("usage: ", command_, " ", arguments_, "\n",
                                  summary_, "\n\n");
  for (const Flag& flag : flags_) {
    const std::string form =
        flag.reader == nullptr
            ? absl::StrCat("--", flag.name)
            : absl::StrCat("--", flag.name, "=", flag.example);
    absl::StrAppendFormat(&help, "  %-26s %s\n", form, flag.help);
  }
  return help;
}

}  // namespace waiter
