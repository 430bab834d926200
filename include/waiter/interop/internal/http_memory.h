// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of interop/http.h that makes polls of an unchanged resource cheap.
// It remembers the last answer, asks the server only for a newer one (RFC 9110,
// 13), and replaces the body of a 304. For your own clients, as `HttpPoller`
// does so automatically:
//
//   HttpFields more = memory.Conditions();  // If-None-Match: "x"
//   HttpResponse response = Get(url, more);
//   memory.Apply(response);  // A 304 becomes the 200 that still holds.

#ifndef WAITER_INTEROP_INTERNAL_HTTP_MEMORY_H_
#define WAITER_INTEROP_INTERNAL_HTTP_MEMORY_H_

#include <cstddef>
#include <optional>
#include <string>

#include "waiter/interop/internal/http_message.h"

namespace waiter {

// Belongs to one request. Thread-compatible.
class HttpMemory {
 public:
  // Largest body that is remembered, and longest validator that is sent.
  static constexpr size_t kMaxBody = size_t{1} << 20;
  static constexpr size_t kMaxValidator = 1024;

  // Whether answers to a request may be remembered: one with GET, without a
  // body, and without header fields of the user about caching (`If-...`,
  // `Range`, `Cache-Control`).
  static bool Suits(const std::string& method, bool has_body,
                    const HttpFields& headers);

  // Returns the header fields to add to the next request. They are only for the
  // address of the request, not for one to which it is redirected.
  HttpFields Conditions() const;

  // Takes an answer that came without a redirect. Replaces a 304 for the
  // remembered answer by that answer, with the header fields of the 304, and
  // sets `not_modified`. A 200 that can be asked for in this way is remembered.
  void Apply(HttpResponse& response);

 private:
  void Restore(HttpResponse& response) const;

  std::optional<HttpResponse> last_;
};

}  // namespace waiter

#endif  // WAITER_INTEROP_INTERNAL_HTTP_MEMORY_H_
