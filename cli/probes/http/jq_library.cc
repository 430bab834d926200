// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/jq_library.h"

#ifdef WAITER_HAS_JQ

#include <dlfcn.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace waiter::cli {
namespace {

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool FindAll(void* library, JqLibrary& jq) {
  return Find(library, "jq_init", jq.init) &&
         Find(library, "jq_teardown", jq.teardown) &&
         Find(library, "jq_set_error_cb", jq.set_error_cb) &&
         Find(library, "jq_compile", jq.compile) &&
         Find(library, "jq_start", jq.start) &&
         Find(library, "jq_next", jq.next) &&
         Find(library, "jv_dump_string", jq.dump_string) &&
         Find(library, "jv_free", jq.free) &&
         Find(library, "jv_get_kind", jq.get_kind) &&
         Find(library, "jv_invalid_get_msg", jq.invalid_get_msg) &&
         Find(library, "jv_parse_sized", jq.parse_sized) &&
         Find(library, "jv_string_value", jq.string_value);
}

absl::StatusOr<JqLibrary> Open() {
  void* const library = dlopen("libjq.so.1", RTLD_NOW | RTLD_LOCAL);
  JqLibrary jq;
  if (library == nullptr || !FindAll(library, jq)) {
    return absl::InvalidArgumentError(
        "this expression needs libjq.so.1, which is not installed here: "
        "install the package libjq1, or write it as .PATH == VALUE");
  }
  return jq;
}

}  // namespace

absl::StatusOr<const JqLibrary*> LoadJq() {
  static const auto* const jq = new absl::StatusOr<JqLibrary>(Open());
  if (!jq->ok()) return jq->status();
  return &**jq;
}

}  // namespace waiter::cli

#endif  // WAITER_HAS_JQ
