// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Addresses of http and https, and references to them as header fields and
// bodies have them (RFC 3986, 5):
//
//   absl::StatusOr<HttpUrl> next = base.Resolve("../jobs/7?full=1");
//   if (next.ok() && next->Origin() == base.Origin()) Get(next->ToString());

#ifndef WAITER_INTEROP_HTTP_URL_H_
#define WAITER_INTEROP_HTTP_URL_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace waiter::internal {

// An address without a fragment.
struct HttpUrl {
  // Longest address, in bytes. Azure asks clients to accept 4 KiB.
  static constexpr size_t kMaxSize = size_t{16} << 10;

  std::string scheme;     // "http" or "https".
  std::string user_info;  // Without the "@"; mostly empty.
  std::string authority;  // Host in lower case, and port if it has one.
  std::string path;       // Begins with "/".
  std::string query;      // With the "?", unless it is empty.

  // Reads an absolute address. Returns kInvalidArgument, without the address,
  // for another scheme, an address without a host, blanks, control characters
  // and addresses that are too long.
  static absl::StatusOr<HttpUrl> Parse(std::string_view text);

  // Reads an address that may be relative to this one.
  absl::StatusOr<HttpUrl> Resolve(std::string_view reference) const;

  // Returns scheme, host and port; the port is always there.
  std::string Origin() const;

  std::string ToString() const;

  // Returns the address without user, password and query, for messages.
  std::string Shown() const;
};

// Returns `text` with each byte that is not kept as "%XX".
std::string PercentEncoded(std::string_view text,
                           bool (*is_kept)(unsigned char byte));

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_HTTP_URL_H_
