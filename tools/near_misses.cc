// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/near_misses.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace waiter_tools {
namespace {

struct Tag {
  std::string_view name;  // "/name" for a closing tag.
  std::map<std::string_view, std::string> attributes;
  bool is_empty = false;  // True for <name/>.
};

// A reader of the tags of a document. It skips everything else.
class TagReader {
 public:
  explicit TagReader(std::string_view xml) : rest_(xml) {}

  // Returns the next tag, or nullopt at the end or if the text is not XML.
  std::optional<Tag> Next() {
    while (SkipTo("<")) {
      if (Consume("![CDATA[")) {
        if (!SkipTo("]]>")) return std::nullopt;
      } else if (Consume("!--")) {
        if (!SkipTo("-->")) return std::nullopt;
      } else if (Consume("?")) {
        if (!SkipTo("?>")) return std::nullopt;
      } else {
        return ReadTag();
      }
    }
    return std::nullopt;
  }

 private:
  bool Consume(std::string_view text) {
    return absl::ConsumePrefix(&rest_, text);
  }

  bool SkipTo(std::string_view text) {
    const size_t at = rest_.find(text);
    if (at == std::string_view::npos) {
      rest_ = {};
      return false;
    }
    rest_.remove_prefix(at + text.size());
    return true;
  }

  std::string_view ReadUntil(std::string_view ends) {
    const std::string_view text = rest_.substr(0, rest_.find_first_of(ends));
    rest_.remove_prefix(text.size());
    return text;
  }

  std::optional<Tag> ReadTag() {
    Tag tag;
    const std::string_view from_name = rest_;
    Consume("/");
    ReadUntil(" \t\r\n/>");
    tag.name = from_name.substr(0, from_name.size() - rest_.size());
    while (!rest_.empty()) {
      rest_.remove_prefix(
          std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
      if (Consume("/>")) {
        tag.is_empty = true;
        return tag;
      }
      if (Consume(">")) return tag;
      const std::string_view key = ReadUntil("= \t\r\n/>");
      if (!Consume("=\"")) return std::nullopt;
      tag.attributes[key] =
          absl::StrReplaceAll(ReadUntil("\""), {{"&lt;", "<"},
                                                {"&gt;", ">"},
                                                {"&quot;", "\""},
                                                {"&apos;", "'"},
                                                {"&amp;", "&"}});
      if (!Consume("\"")) return std::nullopt;
    }
    return std::nullopt;
  }

  std::string_view rest_;
};

}  // namespace

absl::Status NearMisses::Add(std::string_view xml) {
  TagReader reader(xml);
  std::vector<NearMiss> found;
  NearMiss test;
  bool is_whole = false;
  while (const std::optional<Tag> tag = reader.Next()) {
    const auto attribute = [&](std::string_view key) {
      const auto at = tag->attributes.find(key);
      return at == tag->attributes.end() ? std::string() : at->second;
    };
    if (tag->name == "testcase") {
      test = {.test =
                  absl::StrCat(attribute("classname"), ".", attribute("name"))};
    } else if (tag->name == "property") {
      if (attribute("name") == "eventually_limit_used" &&
          absl::SimpleAtod(attribute("value"), &test.used)) {
        test.runs = 1;
      } else if (attribute("name") == "eventually_limit_used_at") {
        test.where = attribute("value");
      }
    } else if (tag->name == "/testcase" && test.runs > 0) {
      found.push_back(std::exchange(test, {}));
    }
    is_whole = tag->name == "/testsuites" ||
               (tag->name == "testsuites" && tag->is_empty);
  }
  if (!is_whole) {
    return absl::InvalidArgumentError(
        "is not GoogleTest XML: it does not end with </testsuites>; give the "
        "test.xml of a finished run");
  }
  for (const NearMiss& run : found) {
    NearMiss& all = tests_[run.test];
    const int runs = all.runs + 1;
    if (runs == 1 || run.used > all.used) all = run;
    all.runs = runs;
  }
  return absl::OkStatus();
}

std::vector<NearMiss> NearMisses::List(double least) const {
  std::vector<NearMiss> list;
  for (const auto& [name, test] : tests_) {
    if (test.used >= least) list.push_back(test);
  }
  std::stable_sort(
      list.begin(), list.end(),
      [](const NearMiss& a, const NearMiss& b) { return a.used > b.used; });
  return list;
}

std::string FormatTable(const std::vector<NearMiss>& tests) {
  size_t width = 4;
  for (const NearMiss& test : tests) width = std::max(width, test.test.size());
  const int column = static_cast<int>(width);
  std::string table = absl::StrFormat("%10s  %5s  %-*s  %s\n", "limit used",
                                      "runs", column, "test", "where");
  for (const NearMiss& test : tests) {
    absl::StrAppendFormat(&table, "%9.0f%%  %5d  %-*s  %s\n", test.used * 100,
                          test.runs, column, test.test, test.where);
  }
  return table;
}

}  // namespace waiter_tools
