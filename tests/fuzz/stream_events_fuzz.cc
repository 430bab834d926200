// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks that the events of a stream do not depend on how it is cut into parts.
// The first byte of the input chooses the format and the size of the parts.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "waiter/interop/http.h"

namespace {

using waiter::internal::StreamEvents;

struct Found {
  std::vector<std::string> events;
  bool has_retry = false;

  friend bool operator==(const Found&, const Found&) = default;
};

Found Read(StreamEvents::Format format, std::string_view stream, size_t size) {
  StreamEvents events(format);
  Found found;
  while (!stream.empty()) {
    events.Read(stream.substr(0, size), [&](std::string_view event) {
      found.events.emplace_back(event);
    });
    stream.remove_prefix(std::min(size, stream.size()));
  }
  found.has_retry = events.retry().has_value();
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto format = data[0] % 2 == 0
                          ? StreamEvents::Format::kLines
                          : StreamEvents::Format::kServerSentEvents;
  const std::string_view stream(reinterpret_cast<const char*>(data + 1),
                                size - 1);
  const size_t part = data[0] / 2 + 1;
  if (Read(format, stream, part) != Read(format, stream, size)) std::abort();
  return 0;
}
