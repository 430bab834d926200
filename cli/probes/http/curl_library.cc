// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/curl_library.h"

#ifdef WAITER_HAS_CURL

#include <curl/curl.h>

#include "absl/status/statusor.h"
#include "cli/text/find_symbol.h"

namespace waiter::cli {
namespace {

bool FindCurl(void* library, CurlLibrary& curl) {
  return FindSymbol(library, "curl_easy_cleanup", curl.easy_cleanup) &&
         FindSymbol(library, "curl_easy_getinfo", curl.easy_getinfo) &&
         FindSymbol(library, "curl_easy_init", curl.easy_init) &&
         FindSymbol(library, "curl_easy_setopt", curl.easy_setopt) &&
         FindSymbol(library, "curl_easy_strerror", curl.easy_strerror) &&
         FindSymbol(library, "curl_free", curl.free) &&
         FindSymbol(library, "curl_global_init", curl.global_init) &&
         FindSymbol(library, "curl_multi_add_handle", curl.multi_add_handle) &&
         FindSymbol(library, "curl_multi_cleanup", curl.multi_cleanup) &&
         FindSymbol(library, "curl_multi_info_read", curl.multi_info_read) &&
         FindSymbol(library, "curl_multi_init", curl.multi_init) &&
         FindSymbol(library, "curl_multi_remove_handle",
                    curl.multi_remove_handle) &&
         FindSymbol(library, "curl_multi_setopt", curl.multi_setopt) &&
         FindSymbol(library, "curl_multi_socket_action",
                    curl.multi_socket_action) &&
         FindSymbol(library, "curl_slist_append", curl.slist_append) &&
         FindSymbol(library, "curl_slist_free_all", curl.slist_free_all) &&
         FindSymbol(library, "curl_url", curl.url) &&
         FindSymbol(library, "curl_url_cleanup", curl.url_cleanup) &&
         FindSymbol(library, "curl_url_get", curl.url_get) &&
         FindSymbol(library, "curl_url_set", curl.url_set) &&
         FindSymbol(library, "curl_version_info", curl.version_info);
}

bool FindCurlAndStart(void* library, CurlLibrary& curl) {
  return FindCurl(library, curl) && curl.global_init(CURL_GLOBAL_DEFAULT) == 0;
}

}  // namespace

absl::StatusOr<const CurlLibrary*> LoadCurl() {
  // The name of its ABI since 2006.
  return OpenLibrary(
      "libcurl.so.4", FindCurlAndStart,
      "http, grpc and docker targets need libcurl.so.4, which is not "
      "installed here: install the package libcurl4, or use exec:'curl -fsS "
      "URL'",
      "http targets need libcurl 7.62 or newer, but the libcurl.so.4 here is "
      "older: upgrade it, or use exec:'curl -fsS URL'");
}

}  // namespace waiter::cli

#endif  // WAITER_HAS_CURL
