// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Finds the events in a response that the server keeps open. Needs no libcurl.

#ifndef WAITER_INTEROP_INTERNAL_STREAM_EVENTS_H_
#define WAITER_INTEROP_INTERNAL_STREAM_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

namespace waiter::internal {

// Thread-compatible.
class StreamEvents {
 public:
  enum class Format : uint8_t {
    kLines,             // Each line that is not blank is an event.
    kServerSentEvents,  // `text/event-stream` (HTML, 9.2.6).
  };

  // Maximum size of the data of an event, in bytes. Longer data is cut.
  static constexpr size_t kMaxEvent = size_t{1} << 20;

  // The format by the media type of a response.
  static Format FormatOf(std::string_view content_type);

  explicit StreamEvents(Format format) : format_(format) {}

  // Takes the next bytes of the stream, and calls `on_event` with the data of
  // each event that they complete. Comments of server-sent events, which keep
  // connections alive, are no events, nor is an event without data.
  void Read(std::string_view bytes,
            absl::FunctionRef<void(std::string_view)> on_event);

  // Returns the delay before the next connection that the server asked for.
  std::optional<absl::Duration> retry() const { return retry_; }

 private:
  void EndLine(absl::FunctionRef<void(std::string_view)> on_event);
  void ReadField(std::string_view line);

  const Format format_;
  std::string line_;
  bool after_cr_ = false;  // A line feed belongs to the line before.
  bool is_first_line_ = true;
  std::string data_;
  bool has_data_ = false;
  std::optional<absl::Duration> retry_;
};

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_INTERNAL_STREAM_EVENTS_H_
