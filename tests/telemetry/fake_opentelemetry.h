// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of opentelemetry-cpp's interface that the class of
// docs/observability.md uses. It has the same names and signatures, and records
// calls.

#ifndef WAITER_TESTS_TELEMETRY_FAKE_OPENTELEMETRY_H_
#define WAITER_TESTS_TELEMETRY_FAKE_OPENTELEMETRY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace opentelemetry {

namespace nostd {

template <typename T>
using shared_ptr = std::shared_ptr<T>;
template <typename T>
using unique_ptr = std::unique_ptr<T>;

// A separate type, as in a build without the standard's.
class string_view {
 public:
  string_view(const char* text)  // NOLINT(google-explicit-constructor)
      : text_(text) {}
  string_view(const std::string& text)  // NOLINT(google-explicit-constructor)
      : text_(text) {}
  string_view(const char* text, size_t size) : text_(text, size) {}

  const char* data() const { return text_.data(); }
  size_t size() const { return text_.size(); }

 private:
  std::string_view text_;
};

}  // namespace nostd

namespace common {

using AttributeValue =
    std::variant<bool, int64_t, double, const char*, nostd::string_view>;

class SystemTimestamp {
 public:
  SystemTimestamp(  // NOLINT(google-explicit-constructor)
      const std::chrono::system_clock::time_point& time)
      : time_(time) {}

  std::chrono::system_clock::time_point time() const { return time_; }

 private:
  std::chrono::system_clock::time_point time_;
};

}  // namespace common

namespace trace {

enum class StatusCode : uint8_t { kUnset, kOk, kError };

// The calls of a span.
struct SpanRecord {
  std::string name;
  std::string parent;  // Name of the parent; empty for none.
  std::map<std::string, std::string> attributes = {};
  std::vector<std::pair<std::string, std::map<std::string, std::string>>>
      events = {};
  StatusCode status = StatusCode::kUnset;
  std::string description = {};
  int ends = 0;
  int calls_after_end = 0;
};

inline std::string TextOf(const common::AttributeValue& value) {
  struct Visitor {
    std::string operator()(nostd::string_view text) const {
      return {text.data(), text.size()};
    }
    std::string operator()(const char* text) const { return text; }
    std::string operator()(double number) const {
      std::string text = std::to_string(number);
      text.erase(text.find_last_not_of('0') + 1);
      return text.back() == '.' ? text + "0" : text;
    }
    std::string operator()(int64_t number) const {
      return std::to_string(number);
    }
    std::string operator()(bool is_true) const {
      return is_true ? "true" : "false";
    }
  };
  return std::visit(Visitor(), value);
}

// The library's spans are thread-safe, so these have a lock.
class Span {
 public:
  Span(std::mutex& mutex, SpanRecord& record)
      : mutex_(mutex), record_(record) {}

  void SetAttribute(nostd::string_view key,
                    const common::AttributeValue& value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    record_.calls_after_end += record_.ends;
    record_.attributes[{key.data(), key.size()}] = TextOf(value);
  }

  // Takes a container of pairs, like the original.
  template <typename T>
  void AddEvent(nostd::string_view name, common::SystemTimestamp /*timestamp*/,
                const T& attributes) {
    std::map<std::string, std::string> texts;
    for (const auto& [key, value] : attributes) {
      texts[{key.data(), key.size()}] = TextOf(value);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    record_.calls_after_end += record_.ends;
    record_.events.emplace_back(std::string(name.data(), name.size()),
                                std::move(texts));
  }

  void SetStatus(StatusCode code, nostd::string_view description = "") {
    const std::lock_guard<std::mutex> lock(mutex_);
    record_.calls_after_end += record_.ends;
    record_.status = code;
    record_.description.assign(description.data(), description.size());
  }

  void End() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++record_.ends;
  }

  const std::string& name() const { return record_.name; }

 private:
  std::mutex& mutex_;
  SpanRecord& record_;
};

}  // namespace trace

namespace context {

class Context {
 public:
  Context() = default;
  explicit Context(nostd::shared_ptr<trace::Span> span)
      : span_(std::move(span)) {}

  const nostd::shared_ptr<trace::Span>& span() const { return span_; }

 private:
  nostd::shared_ptr<trace::Span> span_;
};

class Token;

class RuntimeContext {
 public:
  static Context GetCurrent() {
    return Stack().empty() ? Context() : Stack().back();
  }
  static nostd::unique_ptr<Token> Attach(const Context& context) noexcept {
    Stack().push_back(context);
    return std::make_unique<Token>();
  }

 private:
  friend class Token;

  static std::vector<Context>& Stack() {
    // Not a thread_local object, which MinGW frees before it destroys it.
    static std::mutex mutex;
    static auto& stacks = *new std::map<std::thread::id, std::vector<Context>>;
    const std::lock_guard<std::mutex> lock(mutex);
    return stacks[std::this_thread::get_id()];
  }
};

class Token {
 public:
  Token() = default;
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;
  ~Token() {
    // On the thread that attached it, in the reverse order of several.
    if (RuntimeContext::Stack().size() != depth_) std::abort();
    RuntimeContext::Stack().pop_back();
  }

 private:
  const size_t depth_ = RuntimeContext::Stack().size();
};

}  // namespace context

namespace trace {

struct StartSpanOptions {
  std::variant<std::monostate, context::Context> parent;
};

inline context::Context SetSpan(context::Context& /*context*/,
                                const nostd::shared_ptr<Span>& span) {
  return context::Context(span);
}

class Tracer {
 public:
  nostd::shared_ptr<Span> StartSpan(
      nostd::string_view name,
      const std::vector<std::pair<nostd::string_view, common::AttributeValue>>&
      /*attributes*/,
      const StartSpanOptions& options) {
    const auto& parent = std::get<context::Context>(options.parent).span();
    const std::lock_guard<std::mutex> lock(mutex_);
    SpanRecord& record = *records_.emplace_back(std::make_unique<SpanRecord>(
        SpanRecord{.name = {name.data(), name.size()},
                   .parent = parent == nullptr ? "" : parent->name()}));
    return std::make_shared<Span>(mutex_, record);
  }

  // Returns the records of all spans, in the order of their starts.
  std::vector<SpanRecord> spans() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<SpanRecord> copies;
    for (const auto& record : records_) copies.push_back(*record);
    return copies;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<SpanRecord>> records_;
};

}  // namespace trace

}  // namespace opentelemetry

#endif  // WAITER_TESTS_TELEMETRY_FAKE_OPENTELEMETRY_H_
