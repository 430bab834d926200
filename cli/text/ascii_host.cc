// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/text/ascii_host.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "cli/text/find_symbol.h"

namespace waiter::cli {
namespace {

// The functions of libidn2 in use.
struct Idn {
  int (*look_up)(const uint8_t*, uint8_t**, int);
  void (*free)(void*);
};

bool FindAll(void* library, Idn& idn) {
  return FindSymbol(library, "idn2_lookup_u8", idn.look_up) &&
         FindSymbol(library, "idn2_free", idn.free);
}

}  // namespace

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isascii(static_cast<unsigned char>(c));
  });
}

absl::StatusOr<std::string> AsciiHost(std::string_view host) {
  if (IsAscii(host)) return std::string(host);
  constexpr std::string_view kMissing =
      "a non-ASCII host needs libidn2.so.0, which is not installed here: "
      "install the package libidn2-0, or write the host in its xn-- form";
  const absl::StatusOr<const Idn*> idn =
      OpenLibrary("libidn2.so.0", FindAll, kMissing, kMissing);
  if (!idn.ok()) return idn.status();
  constexpr int kNfcInputNonTransitional = 1 | 8;
  const std::string name(host);
  uint8_t* ascii = nullptr;
  if ((*idn)->look_up(reinterpret_cast<const uint8_t*>(name.c_str()), &ascii,
                      kNfcInputNonTransitional) != 0) {
    return absl::InvalidArgumentError("not a valid host");
  }
  std::string converted(reinterpret_cast<const char*>(ascii));
  (*idn)->free(ascii);
  return converted;
}

}  // namespace waiter::cli
