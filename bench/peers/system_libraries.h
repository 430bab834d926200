// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks for the libraries of the peers. Include it before their headers.

#ifndef WAITER_BENCH_PEERS_SYSTEM_LIBRARIES_H_
#define WAITER_BENCH_PEERS_SYSTEM_LIBRARIES_H_

#if !__has_include(<boost/asio.hpp>) || !__has_include(<uv.h>) || \
    !__has_include(<event2/event.h>)
#error "run: apt-get install libboost1.81-dev libuv1-dev libevent-dev"
#endif

#endif  // WAITER_BENCH_PEERS_SYSTEM_LIBRARIES_H_
