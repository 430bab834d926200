// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The dialects of http_operation.h: which one a response is in, and what state
// it reports. Pure functions.

#ifndef WAITER_INTEROP_HTTP_DIALECT_H_
#define WAITER_INTEROP_HTTP_DIALECT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "waiter/interop/internal/http_message.h"
#include "waiter/interop/internal/http_operation.h"
#include "waiter/interop/json_view.h"

namespace waiter::internal {

// The class of a word for a state, such as "Succeeded" or "CREATE_FAILED".
enum class StateWord : uint8_t {
  kOther,
  kRunning,
  kSucceeded,
  kFailed,
  kCanceled,
};

// Ignores case and everything but letters and digits.
StateWord ClassOfStateWord(std::string_view word);

// The state of an operation, as a response reports it.
struct OperationState {
  enum class Kind : uint8_t {
    kNone,  // The response does not mention a state.
    kRunning,
    kSucceeded,
    kFailed,
  };

  Kind kind = Kind::kNone;

  // A few printable words, such as "InProgress, 40 %"; for a failure with the
  // server's code and message.
  std::string text = {};

  absl::StatusCode code = absl::StatusCode::kAborted;  // Code of a failure.

  // Whether a word gave the state, not only the status of the response.
  bool has_word = false;
};

// A dialect, and the evidence for it; `kAuto` if it was not.
struct RecognizedDialect {
  HttpDialect dialect = {};
  std::string reason = {};
};

// `body` is the JSON of the response, and empty if it has none.
RecognizedDialect RecognizeDialect(const HttpResponse& response,
                                   const JsonView& body);

// Reads the state in the body of a response with a status of 2xx. `is_monitor`
// says that the address serves only statuses, not a resource.
OperationState ReadState(const HttpDialect& dialect, const JsonView& body,
                         bool is_monitor);

// Parts of `ReadState`.
OperationState ReadKubernetes(const HttpDialect& dialect, const JsonView& body);
OperationState ReadGitHub(const JsonView& body);
OperationState ReadGoogle(const JsonView& body);

// Returns the code and the message of an error in a body, such as
// "QuotaExceeded: no cores are left"; printable, and empty without an error.
std::string OperationErrorOf(const JsonView& body);

// Make states; `StateOfWord` by the class of the word.
OperationState RunningState(std::string_view word);
OperationState SucceededState(std::string_view word);
OperationState FailedState(std::string_view word, const JsonView& body,
                           absl::StatusCode code = absl::StatusCode::kAborted);
OperationState StateOfWord(std::string_view word, const JsonView& body);

// Returns text from outside in a printable form of bounded length.
std::string ShownState(std::string_view text);

// Returns the last part of the operation's address, below the address to which
// its start was sent; empty if the body has none.
std::string OperationIdOf(const HttpDialect& dialect, const JsonView& body);

// Returns an address of the status in the body, or nothing.
std::string StatusLinkOf(const HttpDialect& dialect, const JsonView& body);

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_HTTP_DIALECT_H_
