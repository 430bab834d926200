// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/flags/http_flags.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "cli/flags/flags.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/http/json_expression.h"
#include "cli/text/duration_text.h"
#include "cli/text/files.h"
#include "cli/text/text_regex.h"

namespace waiter::cli {
namespace {

// Largest size of a file that is sent as a body, in bytes.
constexpr size_t kMaxData = size_t{16} << 20;

// Largest size of a file of headers or of a token, in bytes.
constexpr size_t kMaxHeaders = size_t{1} << 20;

// The longest registered method has 17 characters.
constexpr size_t kLongestMethod = 64;

constexpr std::array<std::string_view, 21> kNames = {"bearer",
                                                     "method",
                                                     "header",
                                                     "data",
                                                     "status",
                                                     "body-regex",
                                                     "json",
                                                     "expect-header",
                                                     "not-ready-on",
                                                     "fail-status",
                                                     "fail-body-regex",
                                                     "fail-json",
                                                     "print",
                                                     "insecure",
                                                     "ca-file",
                                                     "no-redirect",
                                                     "netrc",
                                                     "long-poll",
                                                     "cert",
                                                     "key",
                                                     "http2"};

// Returns whether `text` is a token (RFC 9110, 5.6.2): a method, or the name of
// a header.
bool IsToken(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) ||
                  absl::StrContains("!#$%&'*+-.^_`|~", static_cast<char>(c));
         });
}

absl::Status ReadMethod(std::string_view text, std::string& method) {
  if (!IsToken(text) || text.size() > kLongestMethod) {
    return absl::InvalidArgumentError(
        "it must be an HTTP method, such as GET or POST");
  }
  // Every registered method is in capitals, and case matters to servers.
  method = absl::AsciiStrToUpper(text);
  return absl::OkStatus();
}

absl::Status CannotRead(const absl::Status& why) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot read the file: ", why.message()));
}

absl::Status ReadHeaderLine(std::string_view text, HttpOptions& options) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  if (colon == std::string_view::npos || !IsToken(name)) {
    return absl::InvalidArgumentError("it must have the form NAME:VALUE");
  }
  const std::string_view value =
      absl::StripAsciiWhitespace(text.substr(colon + 1));
  if (std::any_of(value.begin(), value.end(),
                  [](char c) { return c == '\r' || c == '\n' || c == '\0'; })) {
    return absl::InvalidArgumentError("a header must be one line");
  }
  options.headers.emplace_back(name, value);
  return absl::OkStatus();
}

absl::Status ReadHeader(std::string_view text, HttpOptions& options) {
  if (!absl::ConsumePrefix(&text, "@")) return ReadHeaderLine(text, options);
  const absl::StatusOr<std::string> lines =
      ReadTextFile(std::string(text), kMaxHeaders);
  if (!lines.ok()) return CannotRead(lines.status());
  for (const auto& part : absl::StrSplit(*lines, '\n')) {
    const std::string line(absl::StripSuffix(part, "\r"));
    if (line.empty()) continue;
    absl::Status status = ReadHeaderLine(line, options);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Reads a token from a file or a variable. The command line, which others can
// see, must not have it.
absl::Status ReadBearer(std::string_view text, HttpOptions& options) {
  std::string token;
  if (absl::ConsumePrefix(&text, "@")) {
    absl::StatusOr<std::string> content =
        ReadTextFile(std::string(text), kMaxHeaders);
    if (!content.ok()) return CannotRead(content.status());
    token = *std::move(content);
  } else if (absl::ConsumePrefix(&text, "env:")) {
    const std::string name(text);
    const char* const value =
        std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (value == nullptr) {
      return absl::InvalidArgumentError("this variable is not set");
    }
    token = value;
  } else {
    return absl::InvalidArgumentError(
        "it must be @FILE or env:NAME, where the token is");
  }
  absl::StripAsciiWhitespace(&token);
  if (token.empty() || !std::all_of(token.begin(), token.end(), [](char c) {
        return absl::ascii_isgraph(static_cast<unsigned char>(c));
      })) {
    return absl::InvalidArgumentError(
        "the token must be one word of printable characters");
  }
  options.headers.emplace_back("Authorization", absl::StrCat("Bearer ", token));
  return absl::OkStatus();
}

absl::Status ReadData(std::string_view text, HttpOptions& options) {
  if (!absl::ConsumePrefix(&text, "@")) {
    options.data = text;
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> data = ReadFile(std::string(text), kMaxData);
  if (!data.ok()) return CannotRead(data.status());
  options.data = *std::move(data);
  return absl::OkStatus();
}

bool ReadCode(std::string_view text, int& code) {
  return text.size() == 3 && absl::SimpleAtoi(text, &code) && code >= 100 &&
         code <= 599;
}

// Adds to `statuses`.
absl::Status ReadMoreStatuses(std::string_view text, HttpStatusSet& statuses) {
  for (const std::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<std::string_view, std::string_view> ends =
        absl::StrSplit(part, absl::MaxSplits('-', 1));
    HttpStatusSet::Range range = {};
    const bool is_range = absl::StrContains(part, '-');
    if (!ReadCode(ends.first, range.first) ||
        !ReadCode(is_range ? ends.second : ends.first, range.last) ||
        range.first > range.last) {
      return absl::InvalidArgumentError(
          "it must be a list of HTTP statuses, such as 200-299,401");
    }
    statuses.ranges.push_back(range);
  }
  return absl::OkStatus();
}

absl::Status ReadStatuses(std::string_view text, HttpStatusSet& statuses) {
  statuses.ranges.clear();
  return ReadMoreStatuses(text, statuses);
}

absl::Status ReadRegex(std::string_view text, std::vector<TextRegex>& all) {
  absl::StatusOr<TextRegex> regex = TextRegex::Parse(text);
  if (!regex.ok()) return regex.status();
  all.push_back(*std::move(regex));
  return absl::OkStatus();
}

absl::Status ReadJson(std::string_view text, std::vector<JsonExpression>& all) {
  absl::StatusOr<JsonExpression> expression = JsonExpression::Parse(text);
  if (!expression.ok()) return expression.status();
  all.push_back(*std::move(expression));
  return absl::OkStatus();
}

absl::Status ReadPrint(std::string_view text, HttpOptions& options) {
  absl::StatusOr<JsonExpression> expression = JsonExpression::Parse(text);
  if (!expression.ok()) return expression.status();
  options.print = *std::move(expression);
  return absl::OkStatus();
}

absl::Status ReadExpectedHeader(std::string_view text, HttpOptions& options) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (equals == std::string_view::npos || !IsToken(name)) {
    return absl::InvalidArgumentError("it must have the form NAME=EXPRESSION");
  }
  absl::StatusOr<TextRegex> regex = TextRegex::Parse(text.substr(equals + 1));
  if (!regex.ok()) return regex.status();
  options.expected_headers.push_back(
      {.name = std::string(name), .value = *std::move(regex)});
  return absl::OkStatus();
}

absl::Status ReadCaFile(std::string_view text, std::string& path) {
  path = text;
  // Every poll reads it, which a pipe does not allow.
  std::error_code error;
  if (std::filesystem::exists(path, error) &&
      !std::filesystem::is_regular_file(path, error)) {
    return absl::InvalidArgumentError("it must be a regular file");
  }
  return std::ifstream(path)
             ? absl::OkStatus()
             : absl::InvalidArgumentError("cannot open the file");
}

absl::Status ReadPem(std::string_view text, std::string& pem) {
  absl::StatusOr<std::string> content =
      ReadTextFile(std::string(text), kMaxHeaders);
  if (!content.ok()) return CannotRead(content.status());
  pem = *std::move(content);
  return absl::StrContains(pem, "-----BEGIN ")
             ? absl::OkStatus()
             : absl::InvalidArgumentError("it contains no PEM data");
}

absl::Status ReadNetrc(std::string_view text, std::string& path) {
  path = text;
  return std::ifstream(path)
             ? absl::OkStatus()
             : absl::InvalidArgumentError("cannot open the file");
}

absl::Status ReadLongPoll(std::string_view text, HttpLongPoll& long_poll) {
  const std::pair<std::string_view, std::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  const absl::StatusOr<absl::Duration> hold = ParseDurationText(parts.first);
  if (!hold.ok()) return hold.status();
  if (*hold < absl::Seconds(1)) {
    return absl::InvalidArgumentError("it must be at least 1s");
  }
  if (absl::StrContains(text, ':') && !IsToken(parts.second)) {
    return absl::InvalidArgumentError(
        "it must have the form TIME[:PARAMETER], such as 30s:timeout");
  }
  long_poll = {.hold = *hold, .parameter = std::string(parts.second)};
  return absl::OkStatus();
}

// Reads the value of the flag `name` of `kNames` into its option.
absl::Status ReadOption(std::string_view name, std::string_view text,
                        HttpOptions& options) {
  if (name == "method") return ReadMethod(text, options.method);
  if (name == "header") return ReadHeader(text, options);
  if (name == "bearer") return ReadBearer(text, options);
  if (name == "data") return ReadData(text, options);
  if (name == "status") return ReadStatuses(text, options.status);
  if (name == "body-regex") return ReadRegex(text, options.body);
  if (name == "json") return ReadJson(text, options.json);
  if (name == "fail-status") return ReadMoreStatuses(text, options.fail_status);
  if (name == "fail-body-regex") return ReadRegex(text, options.fail_body);
  if (name == "fail-json") return ReadJson(text, options.fail_json);
  if (name == "print") return ReadPrint(text, options);
  if (name == "expect-header") return ReadExpectedHeader(text, options);
  if (name == "not-ready-on") return ReadStatuses(text, options.not_ready_on);
  if (name == "ca-file") return ReadCaFile(text, options.ca_file);
  if (name == "cert") return ReadPem(text, options.client_certificate_pem);
  if (name == "key") return ReadPem(text, options.client_key_pem);
  if (name == "netrc") return ReadNetrc(text, options.netrc_file);
  if (name == "long-poll") return ReadLongPoll(text, options.long_poll);
  if (name == "insecure") options.verify = false;
  if (name == "no-redirect") options.follow_redirects = false;
  if (name == "http2") options.http2 = true;
  return absl::OkStatus();
}

// Returns a flag that was given and needs the body of the answer or sends one;
// otherwise empty.
std::string_view FlagForBody(const HttpOptions& options) {
  if (options.data.has_value()) return "data";
  if (!options.body.empty()) return "body-regex";
  if (!options.json.empty()) return "json";
  if (!options.fail_body.empty()) return "fail-body-regex";
  if (!options.fail_json.empty()) return "fail-json";
  return options.print.has_value() ? "print" : "";
}

}  // namespace

void HttpFlags::AddTo(Flags& flags) {
  const auto reader = [this](std::string_view name) {
    return [this, name](std::string_view text) {
      return ReadOption(name, text, options_);
    };
  };
  flags.Add("method", "GET", "HTTP method; default GET, or POST with --data",
            reader("method"));
  flags.AddRepeated("header", "NAME:VALUE|@FILE",
                    "header to send, or file of headers; repeatable",
                    reader("header"));
  flags.HideValues("header");
  flags.Add("bearer", "@FILE|env:NAME", "token to send as Authorization",
            reader("bearer"));
  flags.HideValues("bearer");
  flags.Add("data", "TEXT|@FILE", "body to send", reader("data"));
  flags.Add("status", "200-299", "HTTP statuses that mean ready",
            reader("status"));
  flags.AddRepeated("body-regex", "RE",
                    "a line of the body must match; repeatable",
                    reader("body-regex"));
  flags.AddRepeated("json", "'.status==\"UP\"'",
                    "the JSON body must satisfy this; repeatable",
                    reader("json"));
  flags.AddRepeated("expect-header", "NAME=RE",
                    "this header must match; repeatable",
                    reader("expect-header"));
  flags.Add("not-ready-on", "401,403", "HTTP statuses that mean not ready yet",
            reader("not-ready-on"));
  flags.AddRepeated("fail-json", "'.status==\"FAILED\"'",
                    "condition that fails the wait; repeatable",
                    reader("fail-json"));
  flags.AddRepeated("fail-status", "410,500-599",
                    "HTTP statuses that fail the wait; repeatable",
                    reader("fail-status"));
  flags.AddRepeated("fail-body-regex", "RE",
                    "fail the wait if a line matches; repeatable",
                    reader("fail-body-regex"));
  flags.Add("print", ".id", "print this part of the ready target's JSON",
            reader("print"));
  flags.AddSwitch("insecure", "accept any certificate", insecure_);
  flags.Add("ca-file", "FILE", "file of trusted certificate authorities (PEM)",
            reader("ca-file"));
  flags.Add("cert", "FILE", "certificate of this client (PEM)", reader("cert"));
  flags.Add("key", "FILE", "private key of --cert, if not in the same file",
            reader("key"));
  flags.Add("netrc", "FILE", "file of logins by host, such as ~/.netrc",
            reader("netrc"));
  flags.Add("long-poll", "30s[:PARAM]",
            "let servers hold a request until there is news",
            reader("long-poll"));
  flags.AddSwitch("no-redirect", "do not follow redirects", no_redirect_);
  flags.AddSwitch("http2", "require HTTP/2, also without TLS (h2c)", http2_);
  flags.AddAlternatives({"insecure", "ca-file"});
  for (const std::string_view name : kNames) {
    flags.AllowLabels(
        name, [this, name](std::string_view label, std::string_view value) {
          HttpOptions checked;
          absl::Status status = ReadOption(name, value, checked);
          labelled_.push_back({.name = std::string(name),
                               .label = std::string(label),
                               .value = std::string(value),
                               .data = std::move(checked.data),
                               .headers = std::move(checked.headers)});
          return status;
        });
  }
}

void HttpFlags::AddFamilyTo(Flags& flags) {
  flags.AddSwitch("ipv4", "use IPv4 only", ipv4_);
  flags.AddSwitch("ipv6", "use IPv6 only", ipv6_);
  flags.AddAlternatives({"ipv4", "ipv6"});
}

absl::StatusOr<HttpOptions> HttpFlags::Options(const Flags& flags,
                                               std::string_view label) const {
  HttpOptions options = options_;
  options.verify = !insecure_;
  options.follow_redirects = !no_redirect_;
  options.http2 = http2_;
  if (ipv4_) options.family = HttpOptions::Family::kIpv4;
  if (ipv6_) options.family = HttpOptions::Family::kIpv6;
  for (const Labelled& given : labelled_) {
    if (given.label != label) continue;
    if (given.data.has_value()) options.data = given.data;
    options.headers.insert(options.headers.end(), given.headers.begin(),
                           given.headers.end());
    if (given.data.has_value() || !given.headers.empty()) continue;
    absl::Status status = ReadOption(given.name, given.value, options);
    if (!status.ok()) return status;
  }
  if (options.client_certificate_pem.empty() &&
      !options.client_key_pem.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.Label("key"), ": it needs --cert"));
  }
  if (options.client_key_pem.empty()) {
    options.client_key_pem = options.client_certificate_pem;
  }
  const std::string_view cause = FlagForBody(options);
  if (options.method == "HEAD" && !cause.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.Label(cause), ": HEAD has no body"));
  }
  return options;
}

bool HttpFlags::IsForGrpc(std::string_view name) {
  return name == "header" || name == "bearer" || name == "insecure" ||
         name == "ca-file" || name == "cert" || name == "key";
}

absl::Status HttpFlags::CheckHosts(const Flags& flags, const Hosts& hosts_by) {
  for (const std::string_view name : {"header", "bearer", "data"}) {
    std::set<std::string> hosts = hosts_by.http;
    if (IsForGrpc(name)) {
      hosts.insert(hosts_by.grpc.begin(), hosts_by.grpc.end());
    }
    if (!flags.Given(name) || hosts.size() < 2) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(flags.Label(name), ": it would go to ", hosts.size(),
                     " hosts; name the target that it is for, as in --", name,
                     "@LABEL=..."));
  }
  return absl::OkStatus();
}

absl::Status HttpFlags::CheckUsed(const Flags& flags, const Hosts& hosts) {
  if (!hosts.http.empty()) return absl::OkStatus();
  for (const std::string_view name : kNames) {
    const bool for_grpc = IsForGrpc(name);
    if (!flags.Given(name) || flags.FromVariable(name) ||
        (for_grpc && !hosts.grpc.empty())) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("--", name, ": no target is http:// or https://",
                     for_grpc ? ", grpc:// or grpcs://" : ""));
  }
  return absl::OkStatus();
}

}  // namespace waiter::cli
