// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Functions of a library that is loaded at run time:
//
//   FindSymbol(dlopen("libjq.so.1", RTLD_NOW), "jq_init", jq.init);

#ifndef WAITER_CLI_PROBES_HTTP_FIND_SYMBOL_H_
#define WAITER_CLI_PROBES_HTTP_FIND_SYMBOL_H_

#include <dlfcn.h>

namespace waiter::cli {

// Sets `function` to the function `name`. Returns whether there is one.
template <typename Function>
bool FindSymbol(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_FIND_SYMBOL_H_
