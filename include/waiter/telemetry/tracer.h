// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The interface of a tracing library for `Traced` (telemetry/traced.h): a class
// with eight functions, each of them one line that calls the library.
//
//   struct MyTracer {
//     using Context = ...;  // The current span, as the library keeps it.
//     using Span = ...;
//
//     Context Current();  // Of the calling thread.
//     Context With(const Context& parent, const Span& span);
//     auto MakeCurrent(const Context& context);  // Until the result is gone.
//     Span StartSpan(std::string_view name, const Context& parent);
//     void SetAttribute(Span& span, const waiter::TraceAttribute& attribute);
//     void AddEvent(Span& span, std::string_view name,
//                   std::chrono::system_clock::time_point time,
//                   std::span<const waiter::TraceAttribute> attributes);
//     void SetError(Span& span, std::string_view description);
//     void End(Span& span);
//   };

#ifndef WAITER_TELEMETRY_TRACER_H_
#define WAITER_TELEMETRY_TRACER_H_

#include <chrono>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "waiter/version.h"

namespace waiter {

// One attribute of a span or an event. The views are valid during the call that
// gets them.
struct TraceAttribute {
  std::string_view key;
  std::variant<int64_t, double, std::string_view> value;
};

// Whether `T` is a tracer as above. Copies stand for the same tracer. Its
// functions are called under no lock, for different spans also on several
// threads at once, and must not throw. The result of `MakeCurrent` is destroyed
// on the thread that called it, in the reverse order of several calls.
template <typename T>
concept Tracer = std::copy_constructible<T> &&
    std::copy_constructible<typename T::Context> &&
    std::movable<typename T::Span> &&
    requires(T& tracer, const typename T::Context& context,
             typename T::Span& span, const typename T::Span& const_span,
             const TraceAttribute& attribute, std::string_view text,
             std::chrono::system_clock::time_point time,
             std::span<const TraceAttribute> attributes) {
  { tracer.Current() } -> std::convertible_to<typename T::Context>;
  {
    tracer.With(context, const_span)
    } -> std::convertible_to<typename T::Context>;
  { tracer.MakeCurrent(context) } -> std::destructible;
  { tracer.StartSpan(text, context) } -> std::convertible_to<typename T::Span>;
  tracer.SetAttribute(span, attribute);
  tracer.AddEvent(span, text, time, attributes);
  tracer.SetError(span, text);
  tracer.End(span);
};

// Limits of the trace of one wait.
struct TraceOptions {
  // Number of polls that have a span of their own. During later ones, the span
  // of the wait is current.
  int64_t poll_spans = 100;

  // Numbers of polls, at the beginning and at the end of the wait, that are
  // events of its span.
  int64_t first_events = 8;
  int64_t last_events = 8;
};

}  // namespace waiter

#endif  // WAITER_TELEMETRY_TRACER_H_
