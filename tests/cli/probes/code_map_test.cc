// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/code_map.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "waiter/poll.h"

namespace waiter::cli::code_map_test {
namespace {

// Describes the map, as "0=success 1-63=not ready ... signal=...".
std::string Runs(const CodeMap& map) {
  std::string runs;
  for (int first = 0; first < 256;) {
    int last = first;
    const PollStatus status = map.OfExitCode(first);
    while (last < 255 && map.OfExitCode(last + 1) == status) ++last;
    absl::StrAppend(&runs, first);
    if (last > first) absl::StrAppend(&runs, "-", last);
    absl::StrAppend(&runs, "=", PollStatusName(status), " ");
    first = last + 1;
  }
  return absl::StrCat(runs, "signal=", PollStatusName(map.OfSignal()));
}

constexpr std::string_view kAfter4 =
    "64=failed 65-68=not ready 69-70=server error 71-74=not ready "
    "75=throttled 76=not ready 77-78=failed 79-123=not ready "
    "124=server error 125=not ready 126-127=failed 128-255=not ready "
    "signal=server error";

TEST(CodeMapTest, DefaultsFollowConvention) {
  EXPECT_EQ(Runs(CodeMap()),
            absl::StrCat("0=success 1-63=not ready ", kAfter4));
}

TEST(CodeMapTest, PiecesGiveCodesTheirMeaning) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"0=success,75=throttled,2-9=error,*=not-ready",
       "0=success 1=not ready 2-9=server error 10-74=not ready 75=throttled "
       "76-125=not ready 126-127=failed 128-255=not ready signal=server error"},
      // The position of `*` does not matter; 126 and 127 must be named.
      {"*=fatal,5=success",
       "0-4=failed 5=success 6-255=failed signal=server error"},
      {"*=server_error,127=not_ready,0=success",
       "0=success 1-125=server error 126=failed 127=not ready "
       "128-255=server error signal=server error"},
      {"0-255=throttled,signal=success", "0-255=throttled signal=success"},
      {"@nagios",
       absl::StrCat("0=success 1-2=not ready 3=failed 4-63=not ready ",
                    kAfter4)},
      {"@pg_isready",
       absl::StrCat("0=success 1-2=not ready 3=failed 4-63=not ready ",
                    kAfter4)},
      {"@systemctl",
       absl::StrCat("0=success 1-3=not ready 4=failed 5-63=not ready ",
                    kAfter4)},
      {"@curl",
       "0=success 1-4=failed 5-7=not ready 8=server error 9-15=not ready "
       "16=server error 17=not ready 18=server error 19-34=not ready "
       "35=server error 36-42=not ready 43=failed 44-47=not ready 48=failed "
       "49-50=not ready 51-52=server error 53-54=not ready 55-56=server error "
       "57-59=not ready 60=server error 61-91=not ready 92=server error "
       "93-125=not ready 126-127=failed 128-255=not ready signal=server error"},
      {"@strict", "0=success 1-255=failed signal=failed"},
      {"@strict,75=throttled,signal=error",
       "0=success 1-74=failed 75=throttled 76-255=failed signal=server error"},
      // `*` means the codes that neither the preset nor a piece names.
      {"@nagios,*=failed,2=error",
       "0=success 1=not ready 2=server error 3-255=failed signal=server error"},
  };
  for (const auto& [text, runs] : cases) {
    const absl::StatusOr<CodeMap> map = CodeMap::Parse(text);
    ASSERT_TRUE(map.ok()) << text << ": " << map.status();
    EXPECT_EQ(Runs(*map), runs) << text;
  }
}

TEST(CodeMapTest, InvalidMapIsExplained) {
  constexpr std::string_view kMeaning =
      "the meaning must be one of success, not-ready, throttled, error and "
      "failed";
  constexpr std::string_view kCodes =
      "the codes must be a number from 0 to 255, a range such as 2-9, * or "
      "signal";
  constexpr std::string_view kPiece =
      "write it as CODES=MEANING, such as 75=throttled";
  constexpr std::string_view kPreset =
      "a preset must come first and be one of @nagios, @pg_isready, @curl, "
      "@systemctl and @strict";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", absl::StrCat("\"\": ", kPiece)},
      {"0=success,", absl::StrCat("\"\": ", kPiece)},
      {"0=success,1", absl::StrCat("\"1\": ", kPiece)},
      {"1=error=error", absl::StrCat("\"1=error=error\": ", kPiece)},
      {"1=ready", absl::StrCat("\"1=ready\": ", kMeaning)},
      {"1=", absl::StrCat("\"1=\": ", kMeaning)},
      {"=error", absl::StrCat("\"=error\": ", kCodes)},
      {"256=error", absl::StrCat("\"256=error\": ", kCodes)},
      {"-1=error", absl::StrCat("\"-1=error\": ", kCodes)},
      {"+1=error", absl::StrCat("\"+1=error\": ", kCodes)},
      {"0x1=error", absl::StrCat("\"0x1=error\": ", kCodes)},
      {"0001=error", absl::StrCat("\"0001=error\": ", kCodes)},
      {" 1=error", absl::StrCat("\" 1=error\": ", kCodes)},
      {"9-2=error", absl::StrCat("\"9-2=error\": ", kCodes)},
      {"2-=error", absl::StrCat("\"2-=error\": ", kCodes)},
      {"2-3-4=error", absl::StrCat("\"2-3-4=error\": ", kCodes)},
      {"signals=error", absl::StrCat("\"signals=error\": ", kCodes)},
      {"75=error,70-80=failed", "\"70-80=failed\": 75 is given twice"},
      {"*=error,*=failed", "\"*=failed\": * is given twice"},
      {"signal=error,signal=error", "\"signal=error\": signal is given twice"},
      {"@wget", absl::StrCat("\"@wget\": ", kPreset)},
      {"1=error,@curl", absl::StrCat("\"@curl\": ", kPreset)},
      {"@curl,@nagios", absl::StrCat("\"@nagios\": ", kPreset)},
  };
  for (const auto& [text, message] : cases) {
    const absl::Status status = CodeMap::Parse(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(status.message(), message);
  }
}

}  // namespace
}  // namespace waiter::cli::code_map_test
