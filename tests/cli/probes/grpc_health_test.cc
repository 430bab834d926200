// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/grpc_health.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/probe.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "waiter/poll.h"

namespace waiter::cli::grpc_health_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Error = HttpAnswer::Error;

// Returns the message with its prefix.
std::string Framed(std::string_view message) {
  std::string bytes(4, '\0');
  bytes.push_back(static_cast<char>(message.size()));
  return absl::StrCat(bytes, message);
}

HttpAnswer AnswerOf(std::string body, std::string_view grpc_status = "0") {
  HttpAnswer answer;
  answer.status = 200;
  answer.is_http2 = true;
  answer.headers = {{"content-type", "application/grpc"}};
  answer.body = std::move(body);
  answer.trailers = {{"grpc-status", std::string(grpc_status)}};
  return answer;
}

Finding Judge(const HttpAnswer& answer, std::string_view service = "") {
  return JudgeGrpcHealth(service, answer, absl::UnixEpoch());
}

TEST(GrpcHealthTest, RequestNamesTheService) {
  using std::string_literals::operator""s;
  EXPECT_EQ(GrpcHealthRequest(""), "\0\0\0\0\0"s);
  EXPECT_EQ(GrpcHealthRequest("a.B"), "\0\0\0\0\x05\x0a\x03"s + "a.B");
  const std::string name(300, 'n');
  EXPECT_EQ(GrpcHealthRequest(name), "\0\0\0\x01\x2f\x0a\xac\x02"s + name);
}

TEST(GrpcHealthTest, RequestTakesHeadersAndTrustOfTheUserAlone) {
  HttpOptions user;
  user.method = "PUT";
  user.data = "mine";
  user.headers = {{"authorization", "secret"}};
  user.verify = false;
  user.ca_file = "/a";
  user.family = HttpOptions::Family::kIpv6;

  const HttpOptions options = GrpcHealthOptions(user, "a");

  EXPECT_EQ(options.method, "");
  EXPECT_EQ(options.data, GrpcHealthRequest("a"));
  ASSERT_EQ(options.headers.size(), 3U);
  EXPECT_EQ(options.headers[0].first, "content-type");
  EXPECT_EQ(options.headers[0].second, "application/grpc");
  EXPECT_EQ(options.headers[1].first, "te");
  EXPECT_EQ(options.headers[1].second, "trailers");
  EXPECT_EQ(options.headers[2].second, "secret");
  EXPECT_FALSE(options.verify);
  EXPECT_EQ(options.ca_file, "/a");
  EXPECT_FALSE(options.follow_redirects);
  EXPECT_EQ(options.family, HttpOptions::Family::kIpv6);
}

struct MessageRow {
  std::string_view name;
  std::string message;
  PollStatus found;
  std::string_view detail;
};

TEST(GrpcHealthTest, StatusOfAMessageIsFound) {
  using std::string_literals::operator""s;
  constexpr PollStatus kNotReady = PollStatus::kNotReady;
  constexpr PollStatus kServerError = PollStatus::kServerError;
  constexpr std::string_view kInvalid =
      "not a valid gRPC response: the message is not a HealthCheckResponse";
  const std::string big(10, '\xff');
  const std::vector<MessageRow> rows = {
      {"serving", "\x08\x01"s, PollStatus::kSuccess, "SERVING"},
      {"not serving", "\x08\x02"s, kNotReady, "NOT_SERVING"},
      {"unknown", "\x08\x00"s, kNotReady, "UNKNOWN"},
      {"the default", "", kNotReady, "UNKNOWN"},
      {"no such service", "\x08\x03"s, kNotReady,
       "the server does not know service a.B"},
      {"a newer status", "\x08\x04"s, kNotReady, "unknown status 4"},
      {"a number with more bytes than it needs", "\x08\x81\x80\x00"s,
       PollStatus::kSuccess, "SERVING"},
      {"the last status", "\x08\x01\x08\x02"s, kNotReady, "NOT_SERVING"},
      {"fields of newer versions",
       "\x10\x07\x1a\x02zz\x21"s + "12345678" + "\x2d\x31\x32\x33\x34\x08\x01"s,
       PollStatus::kSuccess, "SERVING"},
      {"a negative status", "\x08" + std::string(9, '\xff') + "\x01", kNotReady,
       "unknown status 18446744073709551615"},
      {"a number that does not end", "\x08" + big, kServerError, kInvalid},
      {"a number that is cut", "\x08\x81"s, kServerError, kInvalid},
      {"a number beyond 64 bits", "\x08" + std::string(9, '\xff') + "\x02",
       kServerError, kInvalid},
      {"a tag that does not end", big, kServerError, kInvalid},
      {"a tag alone", "\x08"s, kServerError, kInvalid},
      {"a status as text", "\x0a\x01\x01"s, kServerError, kInvalid},
      {"a status of 8 bytes", "\x09" + "\1\0\0\0\0\0\0\0"s, kServerError,
       kInvalid},
      {"field 0", "\x00\x01"s, kServerError, kInvalid},
      {"a group", "\x13\x14"s, kServerError, kInvalid},
      {"a wire type that does not exist", "\x17\x01"s, kServerError, kInvalid},
      {"a text longer than the message", "\x08\x01\x12\x7fz"s, kServerError,
       kInvalid},
      {"a text of 2^64 - 1 bytes",
       "\x08\x01\x12" + std::string(9, '\xff') + "\x01z", kServerError,
       kInvalid},
      {"8 bytes that are cut", "\x08\x01\x11zzzz"s, kServerError, kInvalid},
      {"4 bytes that are cut", "\x08\x01\x15zzz"s, kServerError, kInvalid},
  };
  for (const MessageRow& row : rows) {
    SCOPED_TRACE(row.name);
    const Finding finding = Judge(AnswerOf(Framed(row.message)), "a.B");
    EXPECT_EQ(finding.status, row.found) << PollStatusName(finding.status);
    EXPECT_EQ(finding.detail, row.detail);
    EXPECT_EQ(finding.absent,
              row.detail == "the server does not know service a.B");
  }
}

TEST(GrpcHealthTest, BodyIsOneWholeMessage) {
  using std::string_literals::operator""s;
  const std::vector<std::pair<std::string, std::string_view>> rows = {
      {"", "incomplete"},
      {"\0\0\0\0"s, "incomplete"},
      {"\0\0\0\0\x02\x08"s, "incomplete"},
      {"\0\xff\xff\xff\xff\x08\x01"s, "incomplete"},
      {"\1\0\0\0\x02\x08\x01"s, "compressed"},
      {"\0\0\0\0\x02\x08\x01\0"s, "more than one message"},
      {"\0\0\0\0\0\0\0\0\0\x02\x08\x01"s, "more than one message"},
  };
  for (const auto& [body, what] : rows) {
    const Finding finding = Judge(AnswerOf(body));
    EXPECT_EQ(finding.status, PollStatus::kServerError);
    EXPECT_THAT(finding.detail, StartsWith("not a valid gRPC response: "));
    EXPECT_THAT(finding.detail, HasSubstr(std::string(what)));
  }
  HttpAnswer cut = AnswerOf(Framed("\x08\x01"));
  cut.body_is_cut = true;
  EXPECT_EQ(Judge(cut).status, PollStatus::kServerError);
}

struct CodeRow {
  std::string_view code;
  PollStatus found;
  std::string_view detail;
};

TEST(GrpcHealthTest, EachStatusOfGrpcHasItsClass) {
  constexpr PollStatus kNotReady = PollStatus::kNotReady;
  constexpr PollStatus kServerError = PollStatus::kServerError;
  constexpr PollStatus kFailed = PollStatus::kFailed;
  const std::vector<CodeRow> rows = {
      {"1", kServerError, "gRPC status 1 CANCELLED: why"},
      {"2", kServerError, "gRPC status 2 UNKNOWN: why"},
      {"3", kServerError, "gRPC status 3 INVALID_ARGUMENT: why"},
      {"4", kServerError, "gRPC status 4 DEADLINE_EXCEEDED: why"},
      {"5", kNotReady, "the server does not know service a.B"},
      {"6", kServerError, "gRPC status 6 ALREADY_EXISTS: why"},
      {"7", kFailed, "gRPC status 7 PERMISSION_DENIED: why"},
      {"8", PollStatus::kThrottled, "gRPC status 8 RESOURCE_EXHAUSTED: why"},
      {"9", kServerError, "gRPC status 9 FAILED_PRECONDITION: why"},
      {"10", kServerError, "gRPC status 10 ABORTED: why"},
      {"11", kServerError, "gRPC status 11 OUT_OF_RANGE: why"},
      {"12", kFailed, "gRPC status 12 UNIMPLEMENTED: why"},
      {"13", kServerError, "gRPC status 13 INTERNAL: why"},
      {"14", kNotReady, "gRPC status 14 UNAVAILABLE: why"},
      {"15", kServerError, "gRPC status 15 DATA_LOSS: why"},
      {"16", kFailed, "gRPC status 16 UNAUTHENTICATED: why"},
      {"17", kServerError, "gRPC status 17 UNKNOWN: why"},
      {"2147483647", kServerError, "gRPC status 2147483647 UNKNOWN: why"},
      {"2147483648", kServerError,
       "not a valid gRPC response: grpc-status is not a number"},
      {"", kServerError,
       "not a valid gRPC response: grpc-status is not a number"},
      {"-1", kServerError,
       "not a valid gRPC response: grpc-status is not a number"},
      {"0x0", kServerError,
       "not a valid gRPC response: grpc-status is not a number"},
  };
  for (const CodeRow& row : rows) {
    SCOPED_TRACE(row.code);
    HttpAnswer answer = AnswerOf(Framed("\x08\x01"), row.code);
    answer.trailers.emplace_back("grpc-message", "w%68y");
    const Finding finding = Judge(answer, "a.B");
    EXPECT_EQ(finding.status, row.found) << PollStatusName(finding.status);
    EXPECT_EQ(finding.detail, row.detail);
    EXPECT_EQ(finding.absent, row.code == "5");
  }
  EXPECT_THAT(Judge(AnswerOf("", "12")).hint, HasSubstr("tcp://"));
  for (const std::string_view code : {"7", "16"}) {
    EXPECT_THAT(Judge(AnswerOf("", code)).hint, HasSubstr("--header@LABEL"));
  }
}

TEST(GrpcHealthTest, LongMessageIsCut) {
  HttpAnswer answer = AnswerOf("", "13");
  answer.trailers.emplace_back("grpc-message", std::string(100'000, 'm'));
  EXPECT_LT(Judge(answer).detail.size(), 200U);
}

TEST(GrpcHealthTest, AnswerWithTrailersAloneHasThemInItsHeaders) {
  HttpAnswer answer = AnswerOf("");
  answer.trailers.clear();
  answer.headers.emplace_back("Grpc-Status", "14");
  answer.headers.emplace_back("grpc-message", "later");
  EXPECT_EQ(Judge(answer).detail, "gRPC status 14 UNAVAILABLE: later");
}

TEST(GrpcHealthTest, TrailersWinOverHeaders) {
  HttpAnswer answer = AnswerOf(Framed("\x08\x01"), "14");
  answer.headers.emplace_back("grpc-status", "0");
  EXPECT_EQ(Judge(answer).status, PollStatus::kNotReady);
}

TEST(GrpcHealthTest, AnswerWithoutAStatusOfGrpcIsNoSuccess) {
  HttpAnswer answer = AnswerOf(Framed("\x08\x01"));
  answer.trailers.clear();
  for (const int status : {200, 202, 204}) {
    answer.status = status;
    const Finding finding = Judge(answer);
    EXPECT_EQ(finding.status, PollStatus::kServerError);
    EXPECT_THAT(finding.detail, HasSubstr("which is not a gRPC response"));
  }
  answer.status = 404;
  EXPECT_EQ(Judge(answer).status, PollStatus::kNotReady);
  EXPECT_FALSE(Judge(answer).absent) << "a proxy may say so";
  answer.status = 429;
  EXPECT_EQ(Judge(answer).status, PollStatus::kThrottled);
  answer.status = 401;
  EXPECT_EQ(Judge(answer).status, PollStatus::kFailed);
  EXPECT_EQ(Judge(answer).hint,
            "is the port right? For a server without gRPC, use http://")
      << "no flag of http targets";
}

TEST(GrpcHealthTest, SuccessNeedsHttp2AndItsStatus) {
  HttpAnswer answer = AnswerOf(Framed("\x08\x01"));
  ASSERT_EQ(Judge(answer).status, PollStatus::kSuccess);
  answer.status = 500;
  EXPECT_EQ(Judge(answer).status, PollStatus::kServerError);
  answer.status = 200;
  answer.is_http2 = false;
  const Finding finding = Judge(answer);
  EXPECT_EQ(finding.status, PollStatus::kServerError);
  EXPECT_EQ(finding.detail,
            "HTTP 200, and not over HTTP/2, which gRPC requires");
}

TEST(GrpcHealthTest, ErrorIsThatOfTheConnection) {
  HttpAnswer answer;
  answer.error = Error::kNameNotFound;
  answer.error_text = "name not found: h";
  EXPECT_EQ(Judge(answer).detail, "name not found: h");
  EXPECT_EQ(Judge(answer).status, PollStatus::kNotReady);
  answer.error = Error::kNotHttp2;
  EXPECT_EQ(Judge(answer).status, PollStatus::kServerError);
  EXPECT_THAT(Judge(answer).hint, HasSubstr("grpcs://"));
  // Data that arrives before an error is not an answer.
  HttpAnswer broken = AnswerOf(Framed("\x08\x01"));
  broken.error = Error::kProtocol;
  EXPECT_EQ(Judge(broken).status, PollStatus::kServerError);
}

}  // namespace
}  // namespace waiter::cli::grpc_health_test
