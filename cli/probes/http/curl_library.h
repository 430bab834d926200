// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Opens libcurl when it is first needed. Linking it would add some milliseconds
// to every start of `waiter`, although most never use HTTP, and `waiter` would
// not start if libcurl is not installed.
//
//   const absl::StatusOr<const waiter::cli::CurlLibrary*> curl =
//       waiter::cli::LoadCurl();
//   if (!curl.ok()) return curl.status();
//   CURL* const easy = (*curl)->easy_init();
//
// Only for code that is compiled with WAITER_HAS_CURL.

#ifndef WAITER_CLI_PROBES_HTTP_CURL_LIBRARY_H_
#define WAITER_CLI_PROBES_HTTP_CURL_LIBRARY_H_

#ifdef WAITER_HAS_CURL

#include <curl/curl.h>

#include "absl/status/statusor.h"
#include "waiter/interop/http.h"

namespace waiter::cli {

// The functions in use, named without "curl_". The newest one came with libcurl
// 7.62 (2018).
struct CurlLibrary : CurlFunctions {
  decltype(&curl_global_init) global_init;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_cleanup) multi_cleanup;
  decltype(&curl_multi_info_read) multi_info_read;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_setopt) multi_setopt;
  decltype(&curl_multi_socket_action) multi_socket_action;
  decltype(&curl_version_info) version_info;
};

// Opens the library in the first call, and returns it. It stays open until the
// process ends, because it may have threads and handlers. kInvalidArgument
// names the missing library and the remedy. Thread-compatible, like
// curl_global_init, which it calls.
absl::StatusOr<const CurlLibrary*> LoadCurl();

}  // namespace waiter::cli

#endif  // WAITER_HAS_CURL

#endif  // WAITER_CLI_PROBES_HTTP_CURL_LIBRARY_H_
