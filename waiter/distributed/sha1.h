// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// SHA-1 (FIPS 180-4), by which Redis names scripts. Not for security.

#ifndef WAITER_DISTRIBUTED_SHA1_H_
#define WAITER_DISTRIBUTED_SHA1_H_

#include <string>
#include <string_view>

namespace waiter::internal {

// Returns 40 hexadecimal digits in lower case.
std::string Sha1(std::string_view text);

}  // namespace waiter::internal

#endif  // WAITER_DISTRIBUTED_SHA1_H_
