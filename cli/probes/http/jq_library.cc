// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/jq_library.h"

#ifdef WAITER_HAS_JQ

#include <string_view>

#include "absl/status/statusor.h"
#include "cli/text/find_symbol.h"

namespace waiter::cli {
namespace {

bool FindJq(void* library, JqLibrary& jq) {
  return FindSymbol(library, "jq_init", jq.init) &&
         FindSymbol(library, "jq_teardown", jq.teardown) &&
         FindSymbol(library, "jq_set_error_cb", jq.set_error_cb) &&
         FindSymbol(library, "jq_compile", jq.compile) &&
         FindSymbol(library, "jq_start", jq.start) &&
         FindSymbol(library, "jq_next", jq.next) &&
         FindSymbol(library, "jv_dump_string", jq.dump_string) &&
         FindSymbol(library, "jv_free", jq.free) &&
         FindSymbol(library, "jv_get_kind", jq.get_kind) &&
         FindSymbol(library, "jv_invalid_get_msg", jq.invalid_get_msg) &&
         FindSymbol(library, "jv_parse_sized", jq.parse_sized) &&
         FindSymbol(library, "jv_string_value", jq.string_value);
}

}  // namespace

absl::StatusOr<const JqLibrary*> LoadJq() {
  constexpr std::string_view kMissing =
      "this expression needs libjq.so.1, which is not installed here: "
      "install the package libjq1, or write it as .PATH == VALUE";
  return OpenLibrary("libjq.so.1", FindJq, kMissing, kMissing);
}

}  // namespace waiter::cli

#endif  // WAITER_HAS_JQ
