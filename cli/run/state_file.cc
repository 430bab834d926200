// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/state_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/loop/unique_fd.h"
#include "cli/text/files.h"
#include "cli/text/json.h"
#include "nlohmann/json.hpp"
#include "waiter/token.h"

namespace waiter::cli {
namespace {

constexpr int kVersion = 1;
// No run has so many targets that its state comes near this.
constexpr size_t kMostBytes = 64U << 20U;

absl::Status Invalid(const absl::AlphaNum& what) {
  return absl::InvalidArgumentError(what.Piece());
}

std::string ErrorText(int error) {
  return std::generic_category().message(error);
}

absl::StatusOr<SavedTarget> ParseTarget(const nlohmann::json& json) {
  if (!json.is_object()) return Invalid("a target is not an object");
  SavedTarget target;
  for (const auto& [name, value] : json.items()) {
    const auto* const text = value.get_ptr<const std::string*>();
    if (name == "target" && text != nullptr) {
      target.text = *text;
    } else if (name == "ready" && value.is_boolean()) {
      target.ready = value == true;
    } else if (name == "polls" && value.is_number_unsigned()) {
      target.polls = value.get<int64_t>();
    } else if (name == "wait" && text != nullptr) {
      absl::StatusOr<WaitToken> wait =
          WaitToken::Parse(absl::HexStringToBytes(*text));
      if (!wait.ok()) return wait.status();
      target.wait = *std::move(wait);
    } else {
      return Invalid(
          absl::StrCat("a target has the unknown member \"", name, "\""));
    }
  }
  return target;
}

}  // namespace

std::string FormatSavedRun(const SavedRun& run) {
  nlohmann::ordered_json targets = nlohmann::ordered_json::array();
  for (const SavedTarget& target : run.targets) {
    nlohmann::ordered_json json = {{"target", target.text}};
    if (target.ready) {
      json["ready"] = true;
      json["polls"] = target.polls;
    } else if (!target.wait.empty()) {
      json["wait"] = absl::BytesToHexString(target.wait.bytes());
    }
    targets.push_back(std::move(json));
  }
  nlohmann::ordered_json json = {
      {"version", kVersion},
      {"started",
       absl::FormatTime(absl::RFC3339_full, run.started, absl::UTCTimeZone())}};
  if (run.limit.has_value()) json["limit"] = absl::FormatDuration(*run.limit);
  json["targets"] = std::move(targets);
  return absl::StrCat(JsonText(json), "\n");
}

absl::StatusOr<SavedRun> ParseSavedRun(std::string_view contents) {
  const absl::StatusOr<nlohmann::json> json = ParseJson(contents);
  if (!json.ok()) {
    return Invalid(absl::StrCat("it is truncated or not a state file: ",
                                json.status().message()));
  }
  const nlohmann::json* const version = FindMember(*json, "version");
  const nlohmann::json* const targets = FindMember(*json, "targets");
  const std::string* const started = FindString(*json, "started");
  if (version == nullptr || !version->is_number_integer()) {
    return Invalid("it is not a state file");
  }
  if (*version != kVersion) {
    return Invalid(absl::StrCat("it has version ", JsonText(*version),
                                "; this program reads version ", kVersion));
  }
  SavedRun run;
  std::string error;
  if (started == nullptr ||
      !absl::ParseTime(absl::RFC3339_full, *started, &run.started, &error) ||
      targets == nullptr || !targets->is_array()) {
    return Invalid("it lacks the start or the targets of the run");
  }
  if (const nlohmann::json* const limit = FindMember(*json, "limit");
      limit != nullptr) {
    const auto* const text = limit->get_ptr<const std::string*>();
    absl::Duration parsed;
    if (text == nullptr || !absl::ParseDuration(*text, &parsed) ||
        parsed < absl::ZeroDuration()) {
      return Invalid("its limit is not a duration");
    }
    run.limit = parsed;
  }
  for (const nlohmann::json& each : *targets) {
    absl::StatusOr<SavedTarget> target = ParseTarget(each);
    if (!target.ok()) {
      return Invalid(absl::StrCat("target ", run.targets.size() + 1, ": ",
                                  target.status().message()));
    }
    run.targets.push_back(*std::move(target));
  }
  return run;
}

absl::StatusOr<SavedRun> StateFile::Read(
    const std::vector<std::string>& targets) const {
  const absl::StatusOr<std::string> contents = ReadFile(path_, kMostBytes);
  if (absl::IsNotFound(contents.status())) {
    SavedRun run;
    for (const std::string& text : targets) {
      run.targets.push_back({.text = text});
    }
    return run;
  }
  if (!contents.ok()) return Error(std::string(contents.status().message()));
  absl::StatusOr<SavedRun> run = ParseSavedRun(*contents);
  if (!run.ok()) return Error(std::string(run.status().message()));
  const absl::string_view advice =
      "; remove the file to start again, or name another one";
  if (run->targets.size() != targets.size()) {
    return Error(absl::StrCat("it has ", run->targets.size(),
                              " targets, but the command has ", targets.size(),
                              advice));
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    if (run->targets[i].text == targets[i]) continue;
    return Error(absl::StrCat("its target ", i + 1, " is ",
                              run->targets[i].text, ", but the command's is ",
                              targets[i], advice));
  }
  return run;
}

absl::Status StateFile::Write(const SavedRun& run) const {
  const std::string part = absl::StrCat(path_, ".part");
  const UniqueFd fd(
      open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (fd.get() < 0 || !WriteAll(fd.get(), FormatSavedRun(run)) ||
      std::rename(part.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    unlink(part.c_str());
    return Error(ErrorText(error));
  }
  return absl::OkStatus();
}

absl::Status StateFile::Remove() const {
  if (unlink(path_.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return Error(ErrorText(errno));
}

absl::Status StateFile::Error(std::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat("--state=", path_, ": ", what));
}

}  // namespace waiter::cli
