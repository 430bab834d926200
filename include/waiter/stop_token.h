// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The stop tokens by which waits are cancelled. They are the standard
// library's, so code that uses `std::stop_token` works unchanged:
//
//   std::stop_source stop;
//   std::jthread worker([&] { wait_for_job.Wait(stop.get_token()); });
//   stop.request_stop();
//
// Some standard libraries have none: libc++ before version 20, and Apple
// Clang's. With these, `waiter::stop_token` is Waiter's own implementation,
// with the standard's interface and guarantees. Code that uses the names of
// this header compiles with every library:
//
//   waiter::stop_source stop;
//   std::thread worker([&] { wait_for_job.Wait(stop.get_token()); });
//   stop.request_stop();
//   worker.join();
//
// A callback runs when a stop is requested:
//
//   const waiter::stop_callback on_stop(context.stop_token,
//                                       [&] { call.Cancel(); });
//
// Waiter's own tokens are used if the standard library lacks
// `__cpp_lib_jthread`, if it is libstdc++ on a system without futexes, such as
// MinGW, or if the program is compiled with `-DWAITER_OWN_STOP_TOKEN=1`. The
// choice must be the same in all files of a program, Waiter's included; with
// libc++ before version 20, `-fexperimental-library` also changes it. Including
// this header defines `WAITER_OWN_STOP_TOKEN` as 1 or 0, for code that needs to
// know.

#ifndef WAITER_STOP_TOKEN_H_
#define WAITER_STOP_TOKEN_H_

#include <version>

#include "waiter/version.h"

#ifndef WAITER_OWN_STOP_TOKEN
#if !defined(__cpp_lib_jthread) || __cpp_lib_jthread < 201911L
#define WAITER_OWN_STOP_TOKEN 1
#elif defined(__GLIBCXX__) && !defined(_GLIBCXX_HAVE_LINUX_FUTEX)
// There, libstdc++ 12 loses notifications of `std::atomic::wait`, which its
// stop tokens use.
#define WAITER_OWN_STOP_TOKEN 1
#else
#define WAITER_OWN_STOP_TOKEN 0
#endif
#endif

#if WAITER_OWN_STOP_TOKEN
#include "waiter/internal/own_stop_token.h"
#else
#include <stop_token>
#endif

namespace waiter {

#if WAITER_OWN_STOP_TOKEN
using internal::nostopstate;
using internal::nostopstate_t;
using internal::stop_callback;
using internal::stop_source;
using internal::stop_token;
#else
using std::nostopstate;
using std::nostopstate_t;
using std::stop_callback;
using std::stop_source;
using std::stop_token;
#endif

}  // namespace waiter

#endif  // WAITER_STOP_TOKEN_H_
