// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The main function of `waiter-page`, which reads a JSON object of charts with
// their data and writes a self-contained HTML page that draws them. The flag
// --html of `waiter plan` and others runs it. It is its own program because it
// contains the drawing library.
//
//   {"command": "waiter simulate fleet", "scenario": "500 clients ...",
//    "charts": [{"chart": "fleet", "data": {"seconds": [...]}}, ...]}

#include <iostream>
#include <sstream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "cli/charts/page/page_parts.h"
#include "cli/text/json.h"
#include "nlohmann/json.hpp"

namespace {

constexpr int kBadInput = 2;

void WritePage(const std::string& input, std::ostream& out) {
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
         "<meta charset=\"utf-8\">\n<title>Waiter</title>\n"
         "<meta name=\"viewport\" content=\"width=device-width\">\n"
         "<link rel=\"icon\" href=\"data:,\">\n<style>\n"
      << waiter::charts::kPageStyle << "</style>\n<!-- Vega:\n"
      << waiter::charts::kVegaLicense << "-->\n<script>"
      << waiter::charts::kVega
      << "</script>\n</head>\n<body>\n<main></main>\n<script>\nconst specs = "
      << waiter::charts::kChartSpecs << ";\nconst input = " << input << ";\n"
      << waiter::charts::kPageScript << "</script>\n</body>\n</html>\n";
}

}  // namespace

int main() {
  std::ostringstream read;
  read << std::cin.rdbuf();
  const std::string input = read.str();
  const absl::StatusOr<nlohmann::json> parsed = waiter::cli::ParseJson(input);
  if (!parsed.ok() || !parsed->contains("charts") ||
      absl::StrContains(input, '<')) {
    std::cerr << "waiter-page: standard input is not a JSON object of charts, "
                 "as waiter --html gives it\n";
    return kBadInput;
  }
  WritePage(input, std::cout);
  std::cout.flush();
  return std::cout.good() ? 0 : 1;
}
