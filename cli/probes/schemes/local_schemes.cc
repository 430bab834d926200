// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The schemes of this machine: file:, log:, systemd:, pid: and exec:.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "cli/probes/host_port.h"
#include "cli/probes/local/exec_probe.h"
#include "cli/probes/local/file_probe.h"
#include "cli/probes/local/log_probe.h"
#include "cli/probes/local/pid_probe.h"
#include "cli/probes/probe.h"
#include "cli/probes/scheme.h"
#include "cli/probes/schemes/families.h"
#include "cli/probes/schemes/probe_factory.h"
#include "cli/probes/socket/socket_probe.h"
#include "cli/probes/target.h"
#include "cli/probes/target_syntax.h"
#include "cli/probes/wire/systemd_conversation.h"
#include "cli/process/process.h"
#include "cli/text/duration_text.h"
#include "cli/text/percent.h"
#include "cli/text/text_regex.h"

namespace waiter::cli {
namespace {

absl::Status ParseFile(std::string_view rest, const Scheme& scheme,
                       Target& target) {
  FileTarget& file = target.what.emplace<FileTarget>();
  std::array<Parameter, 1> parameters = {{{.name = "stable"}}};
  absl::Status status =
      ReadParameters(rest, scheme, file.path, absl::MakeSpan(parameters));
  const std::string_view stable = parameters[0].value;
  file.path = PercentDecoded(file.path);
  if (status.ok() && !stable.empty()) {
    const absl::StatusOr<absl::Duration> duration = ParseDurationText(stable);
    if (!duration.ok()) {
      return Invalid(
          absl::StrCat("stable=", stable, ": ", duration.status().message()));
    }
    file.stable = *duration;
  }
  return status.ok() ? ReadPath(scheme, file.path) : status;
}

absl::StatusOr<std::unique_ptr<Probe>> MakeFile(const Target& target,
                                                ProbeFactory& factory) {
  return std::make_unique<FileProbe>(factory.loop(), factory.calls(),
                                     std::get<FileTarget>(target.what));
}

absl::Status ParseLog(std::string_view rest, const Scheme& scheme,
                      Target& target) {
  std::array<Parameter, 2> parameters = {
      {{.name = "match"}, {.name = "count"}}};
  NamedTarget& log = target.what.emplace<NamedTarget>();
  absl::Status status =
      ReadParameters(rest, scheme, log.name, absl::MakeSpan(parameters));
  if (!status.ok()) return status;
  log.name = PercentDecoded(log.name);
  const std::string match = PercentDecoded(parameters[0].value);
  const std::string_view count =
      parameters[1].value.empty() ? "1" : parameters[1].value;
  if (match.empty()) return InvalidForm("match is missing", scheme);
  if (status = CheckMatch(match); !status.ok()) return status;
  int32_t lines = 0;
  if (!IsDigits(count) || !absl::SimpleAtoi(count, &lines) || lines < 1) {
    return InvalidForm(
        absl::StrCat("count=", count, ": it must be from 1 to 2147483647"),
        scheme);
  }
  log.parameters = {{"match", match}, {"count", std::string(count)}};
  return ReadPath(scheme, log.name);
}

absl::StatusOr<std::unique_ptr<Probe>> MakeLog(const Target& target,
                                               ProbeFactory& factory) {
  const auto& log = std::get<NamedTarget>(target.what);
  LogOptions options = {.path = log.name};
  absl::StatusOr<TextRegex> regex = TextRegex::Parse(log.Parameter("match"));
  if (!regex.ok()) return regex.status();
  if (!absl::SimpleAtoi(log.Parameter("count"), &options.count)) {
    return absl::InvalidArgumentError("count is not a number");
  }
  options.matches = [regex = *std::move(regex)](std::string_view line) {
    return regex.Matches(line);
  };
  return std::make_unique<LogProbe>(factory.calls(), std::move(options));
}

// Reads the name of a unit: https://www.freedesktop.org/software/systemd/man/
// latest/systemd.unit.html. Like systemctl, takes a name without a type for
// a service.
absl::Status ParseSystemd(std::string_view rest, const Scheme& scheme,
                          Target& target) {
  constexpr size_t kLongest = 255;
  const bool is_valid = std::all_of(rest.begin(), rest.end(), [](char c) {
    return IsLabelCharacter(c) || absl::StrContains(":@\\", c);
  });
  if (rest.empty() || !is_valid) {
    return InvalidForm("not a unit's name", scheme);
  }
  constexpr std::array<std::string_view, 11> kTypes = {
      ".service", ".socket", ".device", ".mount", ".automount", ".swap",
      ".target",  ".path",   ".timer",  ".slice", ".scope"};
  const bool has_type = std::any_of(
      kTypes.begin(), kTypes.end(),
      [&](std::string_view type) { return absl::EndsWith(rest, type); });
  auto& unit = target.what.emplace<NamedTarget>();
  unit.name = absl::StrCat(rest, has_type ? "" : ".service");
  return unit.name.size() <= kLongest
             ? absl::OkStatus()
             : Invalid("the name is longer than 255 characters");
}

// Returns the path of the socket of the system bus.
std::string SystemBusPath() {
  std::string_view address = EnvironmentVariable("DBUS_SYSTEM_BUS_ADDRESS");
  if (!absl::ConsumePrefix(&address, "unix:path=")) {
    return "/run/dbus/system_bus_socket";
  }
  return std::string(address.substr(0, address.find_first_of(",;")));
}

absl::StatusOr<std::unique_ptr<Probe>> MakeSystemd(const Target& target,
                                                   ProbeFactory& factory) {
  return std::make_unique<SocketProbe>(
      factory.loop(), factory.resolver(),
      ServerTarget{.socket = SystemBusPath()},
      [unit = std::get<NamedTarget>(target.what).name] {
        return NewSystemdConversation(unit, geteuid());
      });
}

absl::Status ParsePid(std::string_view rest, const Scheme& scheme,
                      Target& target) {
  PidTarget& process = target.what.emplace<PidTarget>();
  return IsDigits(rest) && absl::SimpleAtoi(rest, &process.pid) &&
                 process.pid >= 1
             ? absl::OkStatus()
             : InvalidForm("the process ID must be from 1 to 2147483647",
                           scheme);
}

absl::StatusOr<std::unique_ptr<Probe>> MakePid(const Target& target,
                                               ProbeFactory& /*factory*/) {
  return std::make_unique<PidProbe>(std::get<PidTarget>(target.what));
}

absl::Status ParseExec(std::string_view rest, const Scheme& scheme,
                       Target& target) {
  target.what = NamedTarget{.name = std::string(rest)};
  return absl::StripAsciiWhitespace(rest).empty()
             ? InvalidForm("the shell command is missing", scheme)
             : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Probe>> MakeExec(const Target& target,
                                                ProbeFactory& factory) {
  const std::string& command = std::get<NamedTarget>(target.what).name;
  return std::make_unique<ExecProbe>(
      factory.reaper(), ExecProbeOptions{.command = ShellCommand(command),
                                         .check = ShellSyntaxCheck(command),
                                         .codes = factory.codes(),
                                         .target = target.text});
}

constexpr auto kLocalSchemes = std::to_array<Scheme>({
    {.name = "file",
     .form = "`file:PATH[?stable=2s]`",
     .ready_when = "the file exists and, with `stable`, has not changed for "
                   "that long; in PATH, write `?` as `%3F` and `%` as `%25`",
     .brief = "file:PATH",
     .example = "file:build/app.o?stable=2s",
     .parse = ParseFile,
     .make = MakeFile},
    {.name = "log",
     .form = "`log:FILE?match=REGEX[&count=2]`",
     .ready_when = "at least `count` lines match, by default 1; the file may "
                   "grow, rotate and be truncated; in REGEX, write `&` as "
                   "`%26` and `%` as `%25`",
     .brief = "log:FILE",
     .example = "log:app.log?match=ready&count=2",
     .parse = ParseLog,
     .make = MakeLog},
    {.name = "systemd",
     .form = "`systemd:UNIT`",
     .ready_when = "the unit is active or reloading; `systemd:nginx` is "
                   "`nginx.service`",
     .brief = "systemd:UNIT",
     .example = "systemd:nginx.service",
     .parse = ParseSystemd,
     .make = MakeSystemd},
    {.name = "pid",
     .form = "`pid:NUMBER`",
     .ready_when = "the process is running",
     .brief = "pid:N",
     .example = "pid:4711",
     .parse = ParsePid,
     .make = MakePid},
    {.name = "exec",
     .form = "`exec:'SHELL WORDS'`",
     .ready_when = "the shell command exits with 0",
     .brief = "exec:'COMMAND'",
     .example = "exec:'pg_isready -q'",
     .parse = ParseExec,
     .make = MakeExec},
});

}  // namespace

absl::Span<const Scheme> LocalSchemes() { return kLocalSchemes; }

}  // namespace waiter::cli
