// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/ascii_host.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"

namespace waiter::cli {

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isascii(static_cast<unsigned char>(c));
  });
}

absl::StatusOr<std::string> AsciiHost(std::string_view host) {
  if (IsAscii(host)) return std::string(host);
  using LookUp = int (*)(const uint8_t*, uint8_t**, int);
  static void* const library = dlopen("libidn2.so.0", RTLD_NOW | RTLD_LOCAL);
  static const auto look_up = reinterpret_cast<LookUp>(
      library == nullptr ? nullptr : dlsym(library, "idn2_lookup_u8"));
  if (look_up == nullptr) {
    return absl::InvalidArgumentError(
        "a host beyond ASCII needs libidn2.so.0, which is not installed here; "
        "write the host in its form that begins with xn--");
  }
  constexpr int kNfcInputNonTransitional = 1 | 8;
  const std::string name(host);
  uint8_t* ascii = nullptr;
  if (look_up(reinterpret_cast<const uint8_t*>(name.c_str()), &ascii,
              kNfcInputNonTransitional) != 0) {
    return absl::InvalidArgumentError("not a valid host");
  }
  std::string converted(reinterpret_cast<const char*>(ascii));
  std::free(ascii);  // NOLINT(cppcoreguidelines-no-malloc)
  return converted;
}

}  // namespace waiter::cli
