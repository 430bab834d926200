// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The main function of `waiter-page`, which reads a JSON array of charts with
// their data and writes a self-contained HTML page that draws them. The flag
// --html of `waiter plan` and others runs it. It is its own program because it
// contains the drawing library.
//
//   [{"chart": "fleet", "data": {"seconds": [...]}}, ...]

#include <iostream>
#include <sstream>
#include <string>

#include "absl/status/statusor.h"
#include "cli/charts/page/page_parts.h"
#include "cli/text/json.h"
#include "nlohmann/json.hpp"

namespace {

constexpr int kBadInput = 2;

void WritePage(const std::string& charts, std::ostream& out) {
  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
         "<meta charset=\"utf-8\">\n<title>Waiter</title>\n"
         "<link rel=\"icon\" href=\"data:,\">\n"
         "<style>body { font-family: sans-serif; margin: 1.5em; }\n"
         "figure { margin: 0 0 2.5em 0; }</style>\n"
         "<!-- Vega:\n"
      << waiter::charts::kVegaLicense << "-->\n<script>"
      << waiter::charts::kVega
      << "</script>\n</head>\n<body>\n<script>\nconst specs = "
      << waiter::charts::kChartSpecs << ";\nconst charts = " << charts << ";\n"
      << waiter::charts::kPageScript << "</script>\n</body>\n</html>\n";
}

}  // namespace

int main() {
  std::ostringstream input;
  input << std::cin.rdbuf();
  const std::string charts = input.str();
  const absl::StatusOr<nlohmann::json> parsed = waiter::cli::ParseJson(charts);
  if (!parsed.ok() || !parsed->is_array() ||
      charts.find('<') != std::string::npos) {
    std::cerr << "waiter-page: standard input is not a JSON array of charts, "
                 "as waiter --html gives it\n";
    return kBadInput;
  }
  WritePage(charts, std::cout);
  std::cout.flush();
  return std::cout.good() ? 0 : 1;
}
