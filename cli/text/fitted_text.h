// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Text from outside, cut to so many columns of a terminal:
//
//   waiter::cli::Fitted("refused by 127.0.0.1", 10);  // "refused..."

#ifndef WAITER_CLI_TEXT_FITTED_TEXT_H_
#define WAITER_CLI_TEXT_FITTED_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace waiter::cli {

// Returns how many columns `text`, as `Fitted` or `Printable` returned it,
// takes. Where terminals differ it is the most that one takes: 2 for what is
// neither a letter of an alphabet nor a common sign.
size_t Columns(std::string_view text);

// Returns `Printable(text)`, without what turns the direction of writing or is
// not seen, in at most `columns`. If that is not all of it, it ends in "...".
// Costs what `columns` do, however long `text` is.
std::string Fitted(std::string_view text, size_t columns);

// Returns `text` with as many spaces as make it `columns` wide.
std::string Padded(std::string text, size_t columns);

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_FITTED_TEXT_H_
