// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/schemes/schemes.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/probes/scheme.h"
#include "cli/probes/schemes/families.h"
#include "cli/probes/target_syntax.h"

namespace waiter::cli {
namespace {

const Scheme* RowOf(std::string_view name) {
  const std::vector<const Scheme*>& all = AllSchemes();
  const auto found =
      std::find_if(all.begin(), all.end(),
                   [&](const Scheme* row) { return row->name == name; });
  return found == all.end() ? nullptr : *found;
}

constexpr size_t kColumns = 79;

// Returns `words` in lines of at most `kColumns` that begin with `indent`, with
// `separator` between them.
std::string Wrapped(const std::vector<std::string>& words,
                    std::string_view indent, std::string_view separator) {
  std::string text;
  size_t columns = 0;
  for (const std::string_view word : words) {
    const bool fits =
        columns > 0 && columns + separator.size() + word.size() <= kColumns;
    if (!fits && columns > 0) text += "\n";
    const std::string_view before = fits ? separator : indent;
    columns = (fits ? columns : 0) + before.size() + word.size();
    absl::StrAppend(&text, before, word);
  }
  return text + "\n";
}

std::string WithoutBackticks(std::string_view text) {
  return absl::StrReplaceAll(text, {{"`", ""}});
}

}  // namespace

const std::vector<const Scheme*>& AllSchemes() {
  static const auto* const all = [] {
    auto* const rows = new std::vector<const Scheme*>();
    for (const auto family : {SocketSchemes, HttpSchemes, ServerSchemes,
                              DnsSchemes, LocalSchemes, ContainerSchemes}) {
      for (const Scheme& row : family()) rows->push_back(&row);
    }
    return rows;
  }();
  return *all;
}

size_t SchemeLength(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return 0;
  const std::string_view scheme = text.substr(0, colon);
  const bool is_scheme =
      absl::ascii_isalpha(static_cast<unsigned char>(scheme[0])) &&
      std::all_of(scheme.begin(), scheme.end(),
                  [](char c) { return IsLabelCharacter(c) || c == '+'; });
  return is_scheme ? colon : 0;
}

const Scheme* FindScheme(std::string_view text) {
  const std::string name =
      absl::AsciiStrToLower(text.substr(0, SchemeLength(text)));
  const Scheme* const row = RowOf(name);
  const size_t plus = name.find('+');
  if (row != nullptr || plus == std::string::npos) return row;
  // Some libraries append the name of a driver, as in postgresql+asyncpg:.
  const Scheme* const plain = RowOf(name.substr(0, plus));
  return plain != nullptr && plain->takes_driver ? plain : nullptr;
}

std::string SchemesSummary() {
  std::vector<std::string> briefs;
  for (const Scheme* const row : AllSchemes()) {
    if (!row->brief.empty()) briefs.emplace_back(row->brief);
  }
  std::string text = Wrapped(briefs, "  ", "  ");
  text.pop_back();
  std::string_view separator = "  ";
  size_t columns = text.size() - (text.rfind('\n') + 1);
  for (const Scheme* const row : AllSchemes()) {
    const std::string_view name = row->name;
    const bool is_variant =
        absl::StrContains(name, '+') ||
        RowOf(name.substr(0, name.size() - 1)) != nullptr;  // TLS.
    if (!row->brief.empty() || row->form.empty() || is_variant) continue;
    columns += separator.size() + name.size();
    if (columns + 4 > kColumns) break;
    absl::StrAppend(&text, separator, name);
    separator = " ";
  }
  return text + " ...\n";
}

std::string SchemesHelp() {
  std::string text;
  for (const Scheme* const row : AllSchemes()) {
    if (row->form.empty()) continue;
    absl::StrAppend(
        &text, "  ", WithoutBackticks(row->form), "\n",
        Wrapped(absl::StrSplit(WithoutBackticks(row->ready_when), ' '),
                "      ", " "));
  }
  return text;
}

std::string SchemesTable() {
  std::string table = "| target | is ready when |\n| --- | --- |\n";
  for (const Scheme* const row : AllSchemes()) {
    if (row->form.empty()) continue;
    absl::StrAppend(&table, "| ", row->form, " | ", row->ready_when, " |\n");
  }
  return table;
}

}  // namespace waiter::cli
