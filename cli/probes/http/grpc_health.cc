// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/grpc_health.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/probes/host_port.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/http/http_verdict.h"
#include "cli/probes/probe.h"
#include "cli/probes/wire/byte_reader.h"
#include "cli/text/percent.h"
#include "cli/text/printable.h"
#include "waiter/classify.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md: a message has
// a prefix of a flag, which says whether it is compressed, and its length.
constexpr size_t kPrefixSize = 5;

// https://protobuf.dev/programming-guides/encoding: a field begins with its
// number and its wire type.
constexpr uint64_t kVarint = 0;
constexpr uint64_t kFixed64 = 1;
constexpr uint64_t kBytes = 2;
constexpr uint64_t kFixed32 = 5;

// Field 1 of a request, and field 1 of an answer.
constexpr char kServiceTag = 1 << 3 | kBytes;
constexpr uint64_t kStatusField = 1;

// Numbers of ServingStatus.
constexpr uint64_t kUnknown = 0;
constexpr uint64_t kServing = 1;
constexpr uint64_t kNotServing = 2;
constexpr uint64_t kServiceUnknown = 3;

// Longest text from outside that a detail shows, in bytes.
constexpr size_t kLongestGrpcMessage = 100;

void AppendVarint(uint64_t value, std::string& bytes) {
  for (; value >= 0x80; value >>= 7) {
    bytes.push_back(static_cast<char>((value & 0x7f) | 0x80));
  }
  bytes.push_back(static_cast<char>(value));
}

// Returns nothing if the number does not end, or does not fit into 64 bits.
std::optional<uint64_t> ReadVarint(ByteReader& reader) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = reader.Big<uint8_t>();
    const uint64_t bits = byte & 0x7f;
    if (!reader.ok() || bits << shift >> shift != bits) return std::nullopt;
    value |= bits << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// Returns the status in a HealthCheckResponse, the last one if there are
// several, or nothing if `message` is not valid. Groups, which proto3 lacks,
// are not valid.
std::optional<uint64_t> ReadStatus(std::string_view message) {
  uint64_t status = kUnknown;
  ByteReader reader(message);
  while (!reader.left().empty()) {
    const std::optional<uint64_t> tag = ReadVarint(reader);
    if (!tag.has_value()) return std::nullopt;
    const uint64_t field = *tag >> 3;
    const uint64_t type = *tag & 7;
    if (field == 0 || (field == kStatusField && type != kVarint)) {
      return std::nullopt;
    }
    if (type == kVarint || type == kBytes) {
      const std::optional<uint64_t> value = ReadVarint(reader);
      if (!value.has_value()) return std::nullopt;
      if (type == kBytes) {
        reader.Take(*value);
      } else if (field == kStatusField) {
        status = *value;
      }
    } else if (type == kFixed64 || type == kFixed32) {
      reader.Take(type == kFixed64 ? 8 : 4);
    } else {
      return std::nullopt;
    }
    if (!reader.ok()) return std::nullopt;
  }
  return status;
}

Finding InvalidGrpc(std::string_view what) {
  return {.status = PollStatus::kServerError,
          .detail = absl::StrCat("not a valid gRPC response: ", what)};
}

Finding NoSuchService(std::string_view service) {
  return {.detail =
              service.empty()
                  ? "the server reports no overall health"
                  : absl::StrCat("the server does not know service ", service),
          .hint = service.empty()
                      ? "it may report single services: append one, as in "
                        "/my.package.Service"
                      : "is the name right, with its package, as in "
                        "my.package.Service?",
          .absent = true};
}

Finding JudgeMessage(std::string_view service, const HttpAnswer& answer) {
  ByteReader reader(answer.body);
  const auto flag = reader.Big<uint8_t>();
  const auto length = reader.Big<uint32_t>();
  if (!reader.ok()) return InvalidGrpc("the message is incomplete");
  if (flag != 0) return InvalidGrpc("the message is compressed");
  const size_t size = answer.body.size() - kPrefixSize;
  if (answer.body_is_cut || size > length) {
    return InvalidGrpc("more than one message");
  }
  if (size < length) return InvalidGrpc("the message is incomplete");
  const std::optional<uint64_t> status = ReadStatus(reader.left());
  if (!status.has_value()) {
    return InvalidGrpc("the message is not a HealthCheckResponse");
  }
  switch (*status) {
    case kServing:
      return {.status = PollStatus::kSuccess, .detail = "SERVING"};
    case kNotServing:
      return {.detail = "NOT_SERVING"};
    case kUnknown:
      return {.detail = "UNKNOWN"};
    case kServiceUnknown:
      return NoSuchService(service);
    default:
      return {.detail = absl::StrCat("unknown status ", *status)};
  }
}

const std::string* Find(
    const std::vector<std::pair<std::string, std::string>>& headers,
    std::string_view name) {
  for (const auto& [header, value] : headers) {
    if (absl::EqualsIgnoreCase(header, name)) return &value;
  }
  return nullptr;
}

// Returns a header that is in the trailers, or in the headers if an answer has
// nothing else.
const std::string* FindTrailer(const HttpAnswer& answer,
                               std::string_view name) {
  const std::string* const value = Find(answer.trailers, name);
  return value != nullptr ? value : Find(answer.headers, name);
}

PollStatus ClassOf(absl::StatusCode code) {
  using Code = absl::StatusCode;
  constexpr PollStatus kServerError = PollStatus::kServerError;
  static const auto* const classes =
      new ErrorClassifier(ErrorClassifier::Http()
                              .With(Code::kNotFound, PollStatus::kNotReady)
                              .With(Code::kUnavailable, PollStatus::kNotReady)
                              .With(Code::kCancelled, kServerError)
                              .With(Code::kUnknown, kServerError)
                              .With(Code::kInvalidArgument, kServerError)
                              .With(Code::kDeadlineExceeded, kServerError)
                              .With(Code::kAlreadyExists, kServerError)
                              .With(Code::kFailedPrecondition, kServerError)
                              .With(Code::kAborted, kServerError)
                              .With(Code::kOutOfRange, kServerError)
                              .With(Code::kInternal, kServerError)
                              .With(Code::kDataLoss, kServerError));
  return classes->ClassOfStatus(code);
}

std::string_view HintFor(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnimplemented:
      return "the server has no health service; use tcp:// to check whether it "
             "listens";
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return "it may need a header: --header@LABEL='authorization: ...'";
    default:
      return "";
  }
}

// Judges an answer whose grpc-status is `code`, other than 0.
Finding JudgeCode(std::string_view service, int32_t code,
                  const HttpAnswer& answer) {
  // Other numbers count as UNKNOWN.
  constexpr int kHighestCode = 16;
  const auto status = code >= 0 && code <= kHighestCode
                          ? static_cast<absl::StatusCode>(code)
                          : absl::StatusCode::kUnknown;
  if (status == absl::StatusCode::kNotFound) return NoSuchService(service);
  const std::string* const text = FindTrailer(answer, "grpc-message");
  Finding finding = {.status = ClassOf(status),
                     .detail = absl::StrCat("gRPC status ", code, " ",
                                            absl::StatusCodeToString(status)),
                     .hint = std::string(HintFor(status))};
  if (text != nullptr && !text->empty()) {
    absl::StrAppend(&finding.detail, ": ",
                    Shortened(PercentDecoded(*text), kLongestGrpcMessage));
  }
  return finding;
}

// Judges an answer of HTTP that is not of gRPC.
Finding JudgeForeign(const HttpAnswer& answer, absl::Time now) {
  Finding finding = JudgeHttp({}, answer, now);
  if (finding.status == PollStatus::kSuccess) {
    finding.status = PollStatus::kServerError;
  }
  // A proxy may answer so for a server that is not there yet; but that is not
  // certain.
  finding.absent = false;
  absl::StrAppend(&finding.detail, answer.is_http2
                                       ? ", which is not a gRPC response"
                                       : ", and not over HTTP/2, which gRPC "
                                         "requires");
  finding.hint = "is the port right? For a server without gRPC, use http://";
  return finding;
}

}  // namespace

std::string GrpcHealthRequest(std::string_view service) {
  std::string message;
  if (!service.empty()) {
    message.push_back(kServiceTag);
    AppendVarint(service.size(), message);
    message.append(service);
  }
  std::string bytes(1, '\0');
  AppendBig(static_cast<uint32_t>(message.size()), bytes);
  return bytes + message;
}

HttpOptions GrpcHealthOptions(const HttpOptions& options,
                              std::string_view service) {
  HttpOptions call = {
      .headers = {{"content-type", "application/grpc"}, {"te", "trailers"}},
      .data = GrpcHealthRequest(service),
      .verify = options.verify,
      .ca_file = options.ca_file,
      .client_certificate_pem = options.client_certificate_pem,
      .client_key_pem = options.client_key_pem,
      .follow_redirects = false,
      .family = options.family};
  call.headers.insert(call.headers.end(), options.headers.begin(),
                      options.headers.end());
  return call;
}

Finding JudgeGrpcHealth(std::string_view service, const HttpAnswer& answer,
                        absl::Time now) {
  if (answer.error != HttpAnswer::Error::kNone) {
    Finding finding = JudgeHttp({}, answer, now);
    if (answer.error == HttpAnswer::Error::kNotHttp2) {
      finding.hint =
          "does a gRPC server listen there, without TLS? For TLS, use grpcs://";
    }
    return finding;
  }
  const std::string* const status = FindTrailer(answer, "grpc-status");
  if (status == nullptr || !answer.is_http2) return JudgeForeign(answer, now);
  int32_t code = 0;
  if (!IsDigits(*status) || !absl::SimpleAtoi(*status, &code)) {
    return InvalidGrpc("grpc-status is not a number");
  }
  if (code != 0) return JudgeCode(service, code, answer);
  return answer.status == 200 ? JudgeMessage(service, answer)
                              : JudgeForeign(answer, now);
}

}  // namespace waiter::cli
