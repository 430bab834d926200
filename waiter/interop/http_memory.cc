// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/interop/internal/http_memory.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "waiter/interop/internal/hint_of_fields.h"
#include "waiter/interop/internal/http_message.h"

namespace waiter {
namespace {

// Whether a field describes one message, not its content.
bool IsOfOneMessage(const std::string& name) {
  const std::string lower = absl::AsciiStrToLower(name);
  return internal::UnitOfHint(lower).has_value() || lower == "date" ||
         lower == "x-poll-interval" || absl::StrContains(lower, "ratelimit") ||
         absl::StrContains(lower, "rate-limit");
}

bool Suit(std::string_view validator) {
  return !validator.empty() && validator.size() <= HttpMemory::kMaxValidator &&
         std::all_of(validator.begin(), validator.end(), [](char c) {
           return absl::ascii_isprint(static_cast<unsigned char>(c));
         });
}

}  // namespace

bool HttpMemory::Suits(const std::string& method, bool has_body,
                       const HttpFields& headers) {
  if (has_body || (!method.empty() && method != "GET")) return false;
  return std::none_of(headers.begin(), headers.end(), [](const auto& field) {
    const std::string name = absl::AsciiStrToLower(field.first);
    return absl::StartsWith(name, "if-") || name == "range" ||
           name == "cache-control";
  });
}

HttpFields HttpMemory::Conditions() const {
  if (!last_.has_value()) return {};
  if (const std::string_view etag = last_->header("ETag"); Suit(etag)) {
    return {{"If-None-Match", std::string(etag)}};
  }
  return {{"If-Modified-Since", std::string(last_->header("Last-Modified"))}};
}

void HttpMemory::Apply(HttpResponse& response) {
  if (response.status == 304 && last_.has_value()) {
    Restore(response);
  } else if (response.status == 200) {
    last_.reset();
    if (!response.body_is_cut && response.body.size() <= kMaxBody &&
        (Suit(response.header("ETag")) ||
         Suit(response.header("Last-Modified")))) {
      last_ = response;
    }
  }
}

void HttpMemory::Restore(HttpResponse& response) const {
  HttpFields fields = std::move(response.headers);
  for (const auto& field : last_->headers) {
    const bool is_newer =
        std::any_of(fields.begin(), fields.end(), [&](const auto& other) {
          return absl::EqualsIgnoreCase(other.first, field.first);
        });
    if (!is_newer && !IsOfOneMessage(field.first)) fields.push_back(field);
  }
  const std::string url = std::move(response.url);
  response = *last_;
  response.url = url;
  response.headers = std::move(fields);
  response.not_modified = true;
}

}  // namespace waiter
