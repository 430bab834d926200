// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The reply to INFO of a server.

#ifndef WAITER_REDIS_REDIS_INFO_H_
#define WAITER_REDIS_REDIS_INFO_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace waiter::internal {

// Returns the value of the line "NAME:value", or an empty text.
inline std::string InfoLine(std::string_view info, std::string_view name) {
  for (size_t at = info.find(name); at != std::string_view::npos;
       at = info.find(name, at + 1)) {
    if (at > 0 && info[at - 1] != '\n') continue;
    const std::string_view value = info.substr(at + name.size());
    if (value.empty() || value.front() != ':') continue;
    return std::string(value.substr(1, value.find_first_of("\r\n") - 1));
  }
  return {};
}

}  // namespace waiter::internal

#endif  // WAITER_REDIS_REDIS_INFO_H_
