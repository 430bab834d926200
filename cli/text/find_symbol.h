// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Functions of a library that is loaded when it is first needed:
//
//   bool FindAll(void* library, JqLibrary& jq) {
//     return FindSymbol(library, "jq_init", jq.init) && ...;
//   }
//   absl::StatusOr<const JqLibrary*> jq =
//       OpenLibrary("libjq.so.1", FindAll, "install it", "upgrade it");

#ifndef WAITER_CLI_TEXT_FIND_SYMBOL_H_
#define WAITER_CLI_TEXT_FIND_SYMBOL_H_

#include <dlfcn.h>

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace waiter::cli {

// Sets `function` to the function `name`. Returns whether there is one.
template <typename Function>
bool FindSymbol(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// Returns the functions of the library `file` that `find_all` finds, or
// kInvalidArgument with `if_missing`, or with `if_too_old` if it does not find
// all of them. Only the first call for a type opens the library, which stays
// open until the process ends. Thread-safe.
template <typename Functions>
absl::StatusOr<const Functions*> OpenLibrary(
    const char* file, bool (*find_all)(void*, Functions&),
    std::string_view if_missing, std::string_view if_too_old) {
  const auto open = [&]() -> absl::StatusOr<Functions> {
    void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return absl::InvalidArgumentError(if_missing);
    Functions functions;
    if (!find_all(library, functions)) {
      return absl::InvalidArgumentError(if_too_old);
    }
    return functions;
  };
  static const auto* const opened = new absl::StatusOr<Functions>(open());
  if (!opened->ok()) return opened->status();
  return &**opened;
}

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_FIND_SYMBOL_H_
