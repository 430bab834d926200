// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/internal/stream_events.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/time/time.h"
#include "waiter/internal/string_views.h"

namespace waiter::internal {
namespace {

// Appends as much of `part` as an event may have.
void AppendBounded(std::string& text, std::string_view part) {
  text.append(part.substr(0, StreamEvents::kMaxEvent - text.size()));
}

}  // namespace

StreamEvents::Format StreamEvents::FormatOf(std::string_view content_type) {
  return absl::StartsWithIgnoreCase(ToAbsl(content_type), "text/event-stream")
             ? Format::kServerSentEvents
             : Format::kLines;
}

void StreamEvents::Read(std::string_view bytes,
                        absl::FunctionRef<void(std::string_view)> on_event) {
  while (!bytes.empty()) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    AppendBounded(line_, bytes.substr(0, end));
    if (end == bytes.size()) return;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    EndLine(on_event);
  }
}

void StreamEvents::EndLine(absl::FunctionRef<void(std::string_view)> on_event) {
  std::string_view line = line_;
  if (std::exchange(is_first_line_, false) &&
      line.substr(0, 3) == "\xEF\xBB\xBF") {
    line.remove_prefix(3);
  }
  if (format_ == Format::kLines) {
    if (!line.empty()) on_event(line);
  } else if (!line.empty()) {
    ReadField(line);
  } else if (std::exchange(has_data_, false)) {
    on_event(data_);
    data_.clear();
  }
  line_.clear();
}

void StreamEvents::ReadField(std::string_view line) {
  const size_t colon = std::min(line.find(':'), line.size());
  const std::string_view name = line.substr(0, colon);
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.substr(0, 1) == " ") value.remove_prefix(1);
  uint32_t milliseconds = 0;
  if (name == "data") {
    if (has_data_) AppendBounded(data_, "\n");
    AppendBounded(data_, value);
    has_data_ = true;
  } else if (name == "retry" &&
             absl::SimpleAtoi(ToAbsl(value), &milliseconds)) {
    retry_ = absl::Milliseconds(milliseconds);
  }
}

}  // namespace waiter::internal
