// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Lets the static executable find the libraries that it links where `waiter`
// opens them: dlopen and dlsym replace those of the C library, so that nothing
// can load code at run time.

#include <dlfcn.h>
#include <nss.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "packaging/static/linked_functions.h"

namespace {

using ::waiter::cli::LinkedFunction;
using ::waiter::cli::LinkedFunctions;

// Returns nullptr if there is none.
const LinkedFunction* Find(std::string_view library, std::string_view name) {
  const std::span<const LinkedFunction> all = LinkedFunctions();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const LinkedFunction& linked) {
        return linked.library == library &&
               (name.empty() || linked.name == name);
      });
  return found == all.end() ? nullptr : &*found;
}

// The C library has these modules built in. /etc/nsswitch.conf could name
// others, which it would load.
[[gnu::constructor]] void LookUpWithoutModules() {
  __nss_configure_lookup("hosts", "files dns");
  __nss_configure_lookup("passwd", "files");
}

}  // namespace

// Returns any of the library's functions.
void* dlopen(const char* file, int /*mode*/) noexcept {
  return file == nullptr ? nullptr
                         : const_cast<LinkedFunction*>(Find(file, ""));
}

// Without a handle, it would look among all functions of the executable.
void* dlsym(void* handle, const char* name) noexcept {
  if (handle == nullptr) return nullptr;
  const LinkedFunction* const found =
      Find(static_cast<const LinkedFunction*>(handle)->library, name);
  return found == nullptr ? nullptr : reinterpret_cast<void*>(found->function);
}
