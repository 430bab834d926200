// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/flags/flags.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/flags/variables.h"
#include "cli/text/closest_name.h"
#include "cli/text/duration_text.h"

namespace waiter::cli {
namespace {

absl::Status Invalid(std::string_view argument, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(argument, ": ", why));
}

// Returns `word` as a shell reads it.
std::string Quoted(std::string_view word) {
  const bool is_plain =
      !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
               absl::StrContains("%+,-./:=@_", c);
      });
  if (is_plain) return std::string(word);
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

}  // namespace

Flags::Flags(std::string command, std::string arguments, std::string summary)
    : command_(std::move(command)),
      arguments_(std::move(arguments)),
      summary_(std::move(summary)) {}

void Flags::Add(std::string name, std::string example, std::string help,
                Reader reader) {
  Add({.name = std::move(name),
       .example = std::move(example),
       .help = std::move(help),
       .reader = std::move(reader),
       .value = nullptr,
       .topic = ""});
}

void Flags::AddRepeated(std::string name, std::string example, std::string help,
                        Reader reader) {
  Add({.name = std::move(name),
       .example = std::move(example),
       .help = std::move(help),
       .reader = std::move(reader),
       .value = nullptr,
       .topic = "",
       .is_repeatable = true});
}

void Flags::Add(Flag flag) {
  if (!topics_.empty()) flag.topic = topics_.back().name;
  flags_.push_back(std::move(flag));
}

void Flags::Add(std::string name, std::string example, std::string help,
                std::string& value) {
  Add(std::move(name), std::move(example), std::move(help),
      [&value](std::string_view text) {
        value = std::string(text);
        return text.empty() ? absl::InvalidArgumentError("it must not be empty")
                            : absl::OkStatus();
      });
}

void Flags::Add(std::string name, std::string example, std::string help,
                absl::Duration& value) {
  Add(std::move(name), std::move(example), std::move(help),
      Into([](std::string_view text) { return ParseDurationText(text); },
           value));
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
  Add({.name = std::move(name),
       .example = "",
       .help = std::move(help),
       .reader = nullptr,
       .value = &value,
       .topic = ""});
}

void Flags::AllowLabels(std::string_view name, LabelReader reader) {
  Find(name)->label_reader = std::move(reader);
}

void Flags::HideValues(std::string_view name) {
  Find(name)->has_secrets = true;
}

void Flags::AddShortForm(char letter, std::string_view name) {
  short_forms_[letter] = std::string(name);
}

void Flags::HasNoVariable(std::string_view name) {
  Find(name)->has_variable = false;
}

std::vector<std::string> Flags::LongForms(const std::string& argument) const {
  const std::string_view all = argument;
  if (absl::StartsWith(all, "--") ||
      Find(all.substr(1, all.find('=') - 1)) != nullptr) {
    return {argument};
  }
  std::vector<std::string> forms;
  for (size_t i = 1; i < all.size(); ++i) {
    const auto known = short_forms_.find(all[i]);
    if (known == short_forms_.end()) return {argument};
    std::string& form = forms.emplace_back(absl::StrCat("--", known->second));
    const std::string_view value = all.substr(i + 1);
    if (Find(known->second)->reader == nullptr || value.empty()) continue;
    const bool has_equals = value[0] == '=';
    if (!has_equals &&
        !absl::ascii_isdigit(static_cast<unsigned char>(value[0]))) {
      return {argument};
    }
    absl::StrAppend(&form, has_equals ? "" : "=", value);
    break;
  }
  return forms;
}

void Flags::BeginTopic(std::string name, std::string summary,
                       std::string (*notes)()) {
  topics_.push_back({std::move(name), std::move(summary), notes});
}

absl::Status Flags::ReadHelp(const std::string& argument,
                             std::string_view topic) {
  for (const auto& [known, summary, notes] : topics_) {
    if (known != topic) continue;
    help_wanted_ = true;
    help_topic_ = known;
    return absl::OkStatus();
  }
  return Invalid(argument,
                 absl::StrCat("no such topic; see ", command_, " --help"));
}

void Flags::AddAlternatives(std::vector<std::string> names, std::string why) {
  alternatives_.push_back({.names = std::move(names), .why = std::move(why)});
}

const Flags::Flag* Flags::Find(std::string_view name) const {
  const auto flag =
      std::find_if(flags_.begin(), flags_.end(),
                   [&](const Flag& known) { return known.name == name; });
  return flag == flags_.end() ? nullptr : &*flag;
}

Flags::Flag* Flags::Find(std::string_view name) {
  return const_cast<Flag*>(std::as_const(*this).Find(name));
}

bool Flags::Given(std::string_view name) const {
  const Flag* const flag = Find(name);
  return flag != nullptr && flag->source != Source::kNone;
}

bool Flags::FromVariable(std::string_view name) const {
  const Flag* const flag = Find(name);
  return flag != nullptr && flag->source == Source::kVariable;
}

std::string Flags::Label(std::string_view name) const {
  return FromVariable(name) ? VariableOf(name) : absl::StrCat("--", name);
}

std::vector<std::string> Flags::Names() const {
  std::vector<std::string> names;
  names.reserve(flags_.size());
  for (const Flag& flag : flags_) names.push_back(flag.name);
  return names;
}

Flags::Flag* Flags::FindNegated(std::string_view name) {
  if (!absl::ConsumePrefix(&name, "no")) return nullptr;
  Flag* const flag = Find(name);
  return flag != nullptr && flag->reader == nullptr ? flag : nullptr;
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
  if (has_value && name == "help") return ReadHelp(argument, value);
  if (absl::StrContains(name, '@')) {
    return ReadLabelled(argument, next, used_next);
  }

  Flag* flag = Find(name);
  const bool negated = flag == nullptr;
  if (negated) flag = FindNegated(name);
  if (flag == nullptr) return UnknownFlag(name);
  if (flag->source != Source::kNone && !flag->is_repeatable) {
    return Invalid(flag->has_secrets ? absl::StrCat("--", name) : argument,
                   "given twice");
  }
  flag->source = Source::kArgument;
  if (flag->reader == nullptr) {
    *flag->value = !negated;
    AddToLine(*flag, name, std::nullopt);
    return has_value ? Invalid(argument, "this flag takes no value")
                     : absl::OkStatus();
  }
  used_next = !has_value;
  if (used_next && next == nullptr) {
    return Invalid(argument, absl::StrCat("it needs a value, such as --", name,
                                          "=", flag->example));
  }
  const std::string_view given = used_next ? *next : value;
  AddToLine(*flag, name, given);
  absl::Status status = flag->reader(given);
  if (status.ok()) return status;
  return Invalid(flag->has_secrets ? absl::StrCat("--", name, "=...")
                 : used_next       ? absl::StrCat(argument, " ", *next)
                                   : argument,
                 std::string(status.message()));
}

absl::Status Flags::ReadForms(const std::string& argument,
                              const std::string* next, bool& used_next) {
  for (const std::string& form : LongForms(argument)) {
    absl::Status status = ReadFlag(form, next, used_next);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Flags::ReadLabelled(const std::string& argument,
                                 const std::string* next, bool& used_next) {
  const std::string_view text = argument;
  const std::pair<std::string_view, std::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  const bool has_value = parts.first.size() < argument.size();
  const std::pair<std::string_view, std::string_view> names = absl::StrSplit(
      absl::StripPrefix(absl::StripPrefix(parts.first, "-"), "-"),
      absl::MaxSplits('@', 1));
  const auto& [name, label] = names;
  Flag* const flag = Find(name);
  if (flag == nullptr) return UnknownFlag(name);
  if (flag->label_reader == nullptr || label.empty()) {
    return Invalid(parts.first,
                   absl::StrCat("--", name, " cannot be given for one target"));
  }
  const bool is_switch = flag->reader == nullptr;
  if (is_switch && has_value) {
    return Invalid(parts.first, "this flag takes no value");
  }
  used_next = !is_switch && !has_value;
  if (used_next && next == nullptr) {
    return Invalid(argument, absl::StrCat("it needs a value, such as ",
                                          argument, "=", flag->example));
  }
  labelled_.push_back({.name = std::string(name), .label = std::string(label)});
  const std::string_view value = used_next ? *next : parts.second;
  AddToLine(*flag, absl::StrCat(name, "@", label),
            is_switch ? std::nullopt : std::optional(value));
  absl::Status status = flag->label_reader(label, value);
  if (status.ok()) return status;
  return Invalid(
      absl::StrCat(parts.first, "=", flag->has_secrets ? "..." : value),
      std::string(status.message()));
}

absl::Status Flags::UnknownFlag(std::string_view name) const {
  const std::string closest = ClosestName(name, Names());
  return Invalid(
      absl::StrCat(name.size() == 1 ? "-" : "--", name),
      closest.empty()
          ? absl::StrCat("no such flag; see ", command_, " --help")
          : absl::StrCat("no such flag; did you mean --", closest, "?"));
}

absl::Status Flags::ReadVariable(Flag& flag, std::string_view text) {
  flag.source = Source::kVariable;
  // Lines in files of variables from Windows end with it.
  absl::ConsumeSuffix(&text, "\r");
  line_.insert(line_.begin(),
               absl::StrCat(VariableOf(flag.name), "=", Shown(flag, text)));
  absl::Status status = flag.reader != nullptr ? flag.reader(text)
                        : absl::SimpleAtob(text, flag.value)
                            ? absl::OkStatus()
                            : absl::InvalidArgumentError(
                                  "it must be true, false, 1, 0, yes or no");
  if (status.ok()) return status;
  return Invalid(
      absl::StrCat(VariableOf(flag.name), "=", flag.has_secrets ? "..." : text),
      std::string(status.message()));
}

std::vector<const Flags::Flag*> Flags::Chosen(
    const Alternatives& alternatives) const {
  std::vector<const Flag*> chosen;
  for (const std::string& name : alternatives.names) {
    const Flag* const flag = Find(name);
    if (flag == nullptr || flag->source == Source::kNone) continue;
    if (flag->reader != nullptr || *flag->value) chosen.push_back(flag);
  }
  return chosen;
}

bool Flags::Settled(const Flag& flag) const {
  if (flag.source == Source::kArgument) return true;
  for (const Alternatives& alternatives : alternatives_) {
    const std::vector<std::string>& names = alternatives.names;
    if (std::find(names.begin(), names.end(), flag.name) == names.end()) {
      continue;
    }
    for (const Flag* const other : Chosen(alternatives)) {
      if (other->source == Source::kArgument) return true;
    }
  }
  return false;
}

absl::Status Flags::ParseFlagsOnly(absl::Span<const std::string> args,
                                   absl::Span<const std::string> environment) {
  const absl::StatusOr<std::vector<std::string>> rest =
      Parse(args, environment);
  if (!rest.ok() || rest->empty()) return rest.status();
  return absl::InvalidArgumentError(absl::StrCat(
      rest->front(), ": unexpected argument; only flags are allowed"));
}

absl::StatusOr<std::vector<std::string>> Flags::Parse(
    absl::Span<const std::string> args,
    absl::Span<const std::string> environment) {
  std::vector<std::string> rest;
  line_ = {command_};
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--") {
      const absl::Span<const std::string> after = args.subspan(i + 1);
      rest.insert(rest.end(), after.begin(), after.end());
      break;
    }
    if (args[i].size() < 2 || args[i][0] != '-') {
      rest.push_back(args[i]);
      line_.push_back(Quoted(args[i]));
      continue;
    }
    bool used_next = false;
    absl::Status status = ReadForms(
        args[i], i + 1 < args.size() ? &args[i + 1] : nullptr, used_next);
    if (!status.ok()) return status;
    if (used_next) ++i;
  }
  for (Flag& flag : flags_) {
    if (!flag.has_variable) continue;
    const std::string_view text =
        FindVariable(environment, VariableOf(flag.name));
    if (text.empty() || Settled(flag)) continue;
    absl::Status status = ReadVariable(flag, text);
    if (!status.ok()) return status;
  }
  for (const Alternatives& alternatives : alternatives_) {
    const std::vector<const Flag*> chosen = Chosen(alternatives);
    if (chosen.size() < 2) continue;
    return Invalid(
        Label(chosen[1]->name),
        absl::StrCat("contradicts ", Label(chosen[0]->name), alternatives.why));
  }
  return rest;
}

void Flags::AddToLine(const Flag& flag, std::string_view name,
                      std::optional<std::string_view> value) {
  std::string& word = line_.emplace_back(absl::StrCat("--", name));
  if (value.has_value()) absl::StrAppend(&word, "=", Shown(flag, *value));
}

std::string Flags::CommandLine() const { return absl::StrJoin(line_, " "); }

std::string Flags::Shown(const Flag& flag, std::string_view value) {
  return flag.has_secrets ? "..." : Quoted(value);
}

std::string Flags::Help() const {
  std::string help;
  if (help_topic_.empty()) {
    help = absl::StrCat("usage: ", command_, " ", arguments_, "\n", summary_,
                        "\n\n", notes_);
  } else {
    const auto topic = std::find_if(
        topics_.begin(), topics_.end(),
        [&](const Topic& known) { return known.name == help_topic_; });
    help = absl::StrCat(command_, ": ", topic->summary, "\n\n");
    if (topic->notes != nullptr) help += topic->notes();
  }
  for (const Flag& flag : flags_) {
    if (flag.topic != help_topic_) continue;
    const std::string form =
        flag.reader == nullptr
            ? absl::StrCat("--", flag.name)
            : absl::StrCat("--", flag.name, "=", flag.example);
    absl::StrAppendFormat(&help, "  %-26s %s\n", form, flag.help);
  }
  if (!help_topic_.empty()) return help;
  for (const auto& [topic, summary, notes] : topics_) {
    absl::StrAppendFormat(&help, "  %-26s %s\n", absl::StrCat("--help=", topic),
                          summary);
  }
  return help;
}

bool Flags::ShowHelp(std::ostream& out) const {
  if (help_wanted_) out << Help();
  return help_wanted_;
}

}  // namespace waiter::cli
