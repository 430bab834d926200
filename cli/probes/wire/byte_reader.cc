// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/wire/byte_reader.h"

#include <cstddef>
#include <string_view>

namespace waiter::cli {

std::string_view ByteReader::Take(size_t size) {
  if (size > left_.size()) {
    ok_ = false;
    left_ = {};
    return {};
  }
  const std::string_view taken = left_.substr(0, size);
  left_.remove_prefix(size);
  return taken;
}

std::string_view ByteReader::TakeUntilZero() {
  const std::string_view taken = Take(left_.find('\0'));
  if (ok_) left_.remove_prefix(1);
  return taken;
}

std::string_view ByteReader::TakeOrZeros(size_t size) {
  constexpr std::string_view kZeros("\0\0\0\0\0\0\0\0", 8);
  const std::string_view taken = Take(size);
  return ok_ ? taken : kZeros.substr(0, size);
}

}  // namespace waiter::cli
