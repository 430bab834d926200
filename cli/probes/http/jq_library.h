// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Opens libjq when it is first needed, as curl_library.h does and for the same
// reasons: most runs need no expression of jq, and `waiter` starts even if
// libjq is not installed.
//
//   const absl::StatusOr<const waiter::cli::JqLibrary*> jq =
//       waiter::cli::LoadJq();
//   if (!jq.ok()) return jq.status();
//   jq_state* const state = (*jq)->init();
//
// Only for code that is compiled with WAITER_HAS_JQ.

#ifndef WAITER_CLI_PROBES_HTTP_JQ_LIBRARY_H_
#define WAITER_CLI_PROBES_HTTP_JQ_LIBRARY_H_

#ifdef WAITER_HAS_JQ

extern "C" {
#include <jq.h>
#include <jv.h>
}

// A function that the header defines calls it, although nothing here calls that
// function: the symbol is not to be linked.
#pragma weak jv_get_kind

#include "absl/status/statusor.h"

namespace waiter::cli {

// The functions in use, named without "jq_" or "jv_". All of them came with
// jq 1.5 (2015).
struct JqLibrary {
  decltype(&jq_init) init;
  decltype(&jq_teardown) teardown;
  decltype(&jq_set_error_cb) set_error_cb;
  decltype(&jq_compile) compile;
  decltype(&jq_start) start;
  decltype(&jq_next) next;
  decltype(&jv_dump_string) dump_string;
  decltype(&jv_free) free;
  decltype(&jv_get_kind) get_kind;
  decltype(&jv_invalid_get_msg) invalid_get_msg;
  decltype(&jv_parse_sized) parse_sized;
  decltype(&jv_string_value) string_value;
};

// Opens the library in the first call, and returns it. It stays open until the
// process ends. kInvalidArgument names the missing library and the remedy.
absl::StatusOr<const JqLibrary*> LoadJq();

}  // namespace waiter::cli

#endif  // WAITER_HAS_JQ

#endif  // WAITER_CLI_PROBES_HTTP_JQ_LIBRARY_H_
