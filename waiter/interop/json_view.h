// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads any JSON text by paths such as "error.message".

#ifndef WAITER_INTEROP_JSON_VIEW_H_
#define WAITER_INTEROP_JSON_VIEW_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "waiter/interop/json_text.h"

namespace waiter::internal {

// A view of a text that outlives it. Each call reads the text once.
class JsonView {
 public:
  explicit JsonView(std::string_view json) : json_(json) {}

  // Returns the JSON of the value at `path`; of this one if `path` is empty.
  std::optional<std::string_view> Find(std::string_view path) const {
    return path.empty() ? FindJsonText(json_, {})
                        : FindJsonText(json_, JsonSteps(path));
  }

  bool Has(std::string_view path) const { return Find(path).has_value(); }

  // Returns the text of a string, a number or a boolean; empty for anything
  // else.
  std::string Text(std::string_view path) const {
    const std::optional<std::string_view> found = Find(path);
    if (!found.has_value() || *found == "null" || found->starts_with('{') ||
        found->starts_with('[')) {
      return "";
    }
    return PlainJsonText(*found);
  }

  // The same for strings only.
  std::string Word(std::string_view path) const {
    const std::optional<std::string_view> found = Find(path);
    return found.has_value() && found->starts_with('"') ? PlainJsonText(*found)
                                                        : "";
  }

  bool Is(std::string_view path, std::string_view json) const {
    return Find(path) == json;
  }

  bool IsBool(std::string_view path) const {
    return Is(path, "true") || Is(path, "false");
  }

  bool IsArray(std::string_view path) const {
    const std::optional<std::string_view> found = Find(path);
    return found.has_value() && found->starts_with('[');
  }

  bool IsObject(std::string_view path) const {
    const std::optional<std::string_view> found = Find(path);
    return found.has_value() && found->starts_with('{');
  }

  std::vector<JsonView> Elements(std::string_view path) const {
    std::vector<JsonView> elements;
    const std::optional<std::string_view> found = Find(path);
    if (!found.has_value()) return elements;
    for (const std::string_view element : JsonElements(*found)) {
      elements.emplace_back(element);
    }
    return elements;
  }

 private:
  std::string_view json_;
};

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_JSON_VIEW_H_
