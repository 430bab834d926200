// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/output/terminal_progress.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "cli/output/target_text.h"
#include "cli/output/terminal.h"
#include "cli/run/run_state.h"
#include "cli/text/fitted_text.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::cli {
namespace {

constexpr absl::Duration kRedraw = absl::Milliseconds(100);
constexpr size_t kMostFinalRows = 40;
constexpr size_t kNarrowColumns = 60;
constexpr TerminalSize kUsualSize = {.columns = 80, .rows = 24};

// Without these, a terminal would wrap a line whose width it computes to be
// larger than `Columns` does.
constexpr std::string_view kNoWrap = "\x1b[?7l";
constexpr std::string_view kWrap = "\x1b[?7h";

// Lines are cleared one by one. If the whole screen is cleared in one step, a
// terminal may add it to its history, here ten times a second.
constexpr std::string_view kClearLine = "\x1b[2K";
constexpr std::string_view kClearBelow = "\x1b[J";

constexpr std::array<std::string_view, 8> kSpinner = {"⠋", "⠙", "⠹", "⠸",
                                                      "⠼", "⠴", "⠦", "⠇"};
constexpr std::array<std::string_view, 4> kAsciiSpinner = {"|", "/", "-", "\\"};

// Returns `time` such as 0:42, 12:05 or 1:00:00.
std::string ClockText(absl::Duration time) {
  const int64_t seconds = absl::ToInt64Seconds(time);
  const int64_t minutes = seconds / 60;
  if (minutes < 60) return absl::StrFormat("%d:%02d", minutes, seconds % 60);
  return absl::StrFormat("%d:%02d:%02d", minutes / 60, minutes % 60,
                         seconds % 60);
}

// Returns the time of a target beside the limit, such as "0:42/5:00", as wide
// as that of each other target.
std::string TimeOfLimit(const RunState& run, const TargetState& target) {
  const bool has_limit = run.timeout < absl::InfiniteDuration();
  const std::string longest =
      ClockText(has_limit ? std::max(run.timeout, run.elapsed) : run.elapsed);
  const std::string time = ClockText(
      target.phase == TargetState::Phase::kEnded ? target.ended : run.elapsed);
  return absl::StrCat(
      std::string(longest.size() - std::min(longest.size(), time.size()), ' '),
      time, has_limit ? absl::StrCat("/", ClockText(run.timeout)) : "");
}

// Returns the escape sequence for the color of the state; empty for the
// default.
std::string_view ColorOf(const TargetState& target) {
  if (IsReady(target)) return "\x1b[32m";
  if (target.attempts == 0) return "";
  switch (target.last.status) {
    case PollStatus::kFailed:
      return "\x1b[31m";
    case PollStatus::kThrottled:
    case PollStatus::kServerError:
      return "\x1b[33m";
    case PollStatus::kSuccess:
    case PollStatus::kNotReady:
      break;
  }
  return "";
}

std::string_view MarkOf(const TargetState& target, bool unicode, size_t frame) {
  if (IsReady(target)) return unicode ? "✓" : "+";
  if (target.phase == TargetState::Phase::kEnded) {
    if (target.reason == StopReason::kCancelled) return "-";
    return unicode ? "✗" : "x";
  }
  return unicode ? kSpinner[frame % kSpinner.size()]
                 : kAsciiSpinner[frame % kAsciiSpinner.size()];
}

// One line, filled from the left.
class LineOfCells {
 public:
  explicit LineOfCells(size_t columns) : left_(columns) {}

  void AddMark(std::string_view mark) {
    if (left_ == 0) return;
    line_ += mark;
    --left_;
  }

  void Add(const std::string& cell, std::string_view color = "") {
    const std::string fitted = Fitted(cell, left_);
    left_ -= Columns(fitted);
    if (color.empty() || fitted.empty()) {
      line_ += fitted;
    } else {
      absl::StrAppend(&line_, color, fitted, "\x1b[m");
    }
  }

  const std::string& text() const { return line_; }

 private:
  size_t left_;
  std::string line_;
};

}  // namespace

TerminalSize TerminalProgress::Size() const {
  TerminalSize size = options_.size == nullptr ? kUsualSize : options_.size();
  if (size.columns <= 0) size.columns = kUsualSize.columns;
  if (size.rows <= 0) size.rows = kUsualSize.rows;
  return size;
}

std::string TerminalProgress::ToTop() const {
  return drawn_ == 0 ? "\r" : absl::StrCat("\r\x1b[", drawn_, "A");
}

std::vector<std::string> TerminalProgress::Lines(const RunState& run,
                                                 size_t rows) const {
  const auto columns = static_cast<size_t>(Size().columns);
  const std::vector<size_t> shown = TargetsToShow(run, rows);
  // Names that are long URLs must leave room for the findings.
  const size_t name_columns =
      std::clamp(columns / 4, size_t{8}, kMostNameColumns);
  std::vector<std::string> lines;
  for (const TargetRow& row : TargetRows(run, shown, name_columns, columns)) {
    LineOfCells line(columns);
    line.AddMark(MarkOf(*row.target, options_.unicode, frame_));
    line.Add(absl::StrCat(" ", row.name, "  "));
    line.Add(row.state, options_.color ? ColorOf(*row.target) : "");
    // On a narrow terminal, the reason needs the place of the times.
    if (columns < kNarrowColumns) {
      line.Add(absl::StrCat("  ", row.found));
    } else {
      line.Add(absl::StrCat("  ", TimeOfLimit(run, *row.target), "  ",
                            row.activity, "  ", row.found));
    }
    lines.push_back(line.text());
  }
  const std::string more = MoreTargets(run, shown);
  if (!more.empty()) lines.push_back(Fitted(more, columns));
  return lines;
}

void TerminalProgress::Draw(const RunState& run, size_t rows) {
  const std::vector<std::string> lines = Lines(run, rows);
  std::string text = absl::StrCat(kNoWrap, ToTop());
  for (const std::string& line : lines) {
    absl::StrAppend(&text, kClearLine, line, "\n");
  }
  if (lines.size() < drawn_) text += kClearBelow;
  drawn_ = lines.size();
  // One write, so that no incomplete screen is visible.
  err_ << absl::StrCat(text, kWrap) << std::flush;
}

void TerminalProgress::OnTick(const RunState& run) {
  // The cursor needs its own line.
  const int rows = Size().rows - 1;
  if (run.elapsed < next_draw_ || rows == 0) return;
  next_draw_ = run.elapsed + kRedraw;
  ++frame_;
  Draw(run, static_cast<size_t>(rows));
}

void TerminalProgress::OnSnapshot(const RunState& run) {
  std::string text = ToTop();
  for (size_t i = 0; i < drawn_; ++i) absl::StrAppend(&text, kClearLine, "\n");
  absl::StrAppend(&text, ToTop(), SnapshotText(run));
  drawn_ = 0;
  err_ << text << std::flush;
}

void TerminalProgress::OnDone(const RunState& run, const RunEnd& /*end*/) {
  Draw(run, kMostFinalRows);
}

}  // namespace waiter::cli
