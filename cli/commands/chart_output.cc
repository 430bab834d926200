// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/chart_output.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "cli/charts/chart.h"
#include "cli/flags/flags.h"
#include "cli/text/files.h"
#include "cli/text/json.h"
#include "nlohmann/json.hpp"

namespace waiter::cli {
namespace {

constexpr std::string_view kPageProgram = "waiter-page";

std::string ErrorText(int error) {
  return std::generic_category().message(error);
}

absl::Status Unavailable(std::string_view flag, std::string_view file,
                         std::string_view why) {
  return absl::UnavailableError(absl::StrCat(flag, "=", file, ": ", why));
}

absl::Status WriteFile(std::string_view flag, const std::string& file,
                       std::string_view text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (out.good()) return absl::OkStatus();
  return Unavailable(flag, file,
                     absl::StrCat("cannot be written: ", ErrorText(errno)));
}

// Returns the page program in the folder of this program. If it is not
// there, returns a name that is looked for in PATH.
std::string PageProgram() {
  std::error_code error;
  const std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const std::filesystem::path beside = self.parent_path() / kPageProgram;
    if (access(beside.c_str(), X_OK) == 0) return beside.string();
  }
  return std::string(kPageProgram);
}

// Returns an error if the page program is neither next to this one nor in PATH.
absl::Status CheckPageProgram() {
  const std::string program = PageProgram();
  if (program != kPageProgram) return absl::OkStatus();
  const char* const path =
      std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  for (const auto folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    if (access(absl::StrCat(folder, "/", program).c_str(), X_OK) == 0) {
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(
      "the program waiter-page, which makes pages, is neither next to waiter "
      "nor in PATH; build it with tools/page of Waiter's source");
}

// Runs the page program with `input` on its standard input and `file` as its
// standard output. Returns its exit code, or -1 with errno.
int RunPageProgram(std::string_view input, int file) {
  std::array<int, 2> pipe_ends;
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return -1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const absl::Cleanup destroy = [&] {
    posix_spawn_file_actions_destroy(&actions);
  };
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, file, STDOUT_FILENO);
  std::string program = PageProgram();
  std::array<char*, 2> arguments = {program.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), &actions, nullptr,
                                 arguments.data(), environ);
  close(pipe_ends[0]);
  if (error != 0) {
    close(pipe_ends[1]);
    errno = error;
    return -1;
  }
  // A program that ends before it has read all must not end this one.
  struct sigaction ignore = {};
  struct sigaction before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &before);
  const bool written = WriteAll(pipe_ends[1], input);
  sigaction(SIGPIPE, &before, nullptr);
  close(pipe_ends[1]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const bool exited = WIFEXITED(status);
  return written && exited ? WEXITSTATUS(status) : 1;
}

absl::Status WritePage(std::string_view flag, const std::string& file,
                       absl::Span<const charts::Chart> charts,
                       const std::string& command, std::string_view scenario) {
  nlohmann::ordered_json all = {{"command", command}, {"scenario", scenario}};
  for (const charts::Chart& chart : charts) {
    all["charts"].push_back(
        {{"chart", chart.name()}, {"data", ChartData(chart)}});
  }
  // JSON has it in strings alone, and the page has JSON in a script.
  const std::string input =
      absl::StrReplaceAll(JsonText(all), {{"<", "\\u003c"}});
  const int out =
      open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (out < 0) {
    return Unavailable(flag, file,
                       absl::StrCat("cannot be written: ", ErrorText(errno)));
  }
  const int code = RunPageProgram(input, out);
  const std::string reason = code < 0 ? ErrorText(errno) : std::string();
  close(out);
  if (code == 0) return absl::OkStatus();
  unlink(file.c_str());
  if (code > 0) {
    return Unavailable(flag, file,
                       absl::StrCat(kPageProgram, " failed with ", code));
  }
  return Unavailable(
      flag, file,
      absl::StrCat("the program ", kPageProgram,
                   " is neither next to waiter nor in PATH (", reason, ")"));
}

}  // namespace

void ChartOutput::AddTo(Flags& flags, std::vector<std::string> charts) {
  flags.Add("vega", "FILE", "write a chart as a Vega-Lite specification",
            vega_);
  flags.Add("html", "FILE", "write all charts as one page",
            [this](std::string_view file) {
              html_ = std::string(file);
              return CheckPageProgram();
            });
  if (charts.size() < 2) return;
  std::string help = absl::StrJoin(charts, ", ");
  flags.Add(
      "chart", "NAME", std::move(help),
      [this, charts = std::move(charts)](std::string_view name) {
        if (std::find(charts.begin(), charts.end(), name) == charts.end()) {
          return absl::InvalidArgumentError(
              absl::StrCat("there is no such chart; choose one of ",
                           absl::StrJoin(charts, ", ")));
        }
        chart_ = std::string(name);
        return absl::OkStatus();
      });
}

absl::Status ChartOutput::Write(absl::Span<const charts::Chart> charts,
                                const Flags& flags,
                                std::string_view scenario) const {
  if (!vega_.empty()) {
    const charts::Chart* const chosen = std::find_if(
        charts.begin(), charts.end(), [&](const charts::Chart& chart) {
          return chart_.empty() || chart.name() == chart_;
        });
    if (chosen == charts.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          flags.Label("chart"), "=", chart_, ": it needs --expect or --ready"));
    }
    const absl::StatusOr<std::string> spec = charts::FillChart(*chosen);
    if (!spec.ok()) return spec.status();
    if (absl::Status status = WriteFile(flags.Label("vega"), vega_, *spec);
        !status.ok()) {
      return status;
    }
  }
  return html_.empty() ? absl::OkStatus()
                       : WritePage(flags.Label("html"), html_, charts,
                                   flags.CommandLine(), scenario);
}

}  // namespace waiter::cli
