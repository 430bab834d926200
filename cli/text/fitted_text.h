// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Cuts text from outside to a number of terminal columns:
//
//   waiter::cli::Fitted("refused by 127.0.0.1", 10);  // "refused..."

#ifndef WAITER_CLI_TEXT_FITTED_TEXT_H_
#define WAITER_CLI_TEXT_FITTED_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace waiter::cli {

// Returns how many columns `text`, a result of `Fitted` or `Printable`, takes.
// If terminals differ, it is the largest width: 2 for a character that is
// neither a letter of an alphabet nor a common sign.
size_t Columns(std::string_view text);

// Returns `Printable(text)` in at most `columns`, with U+FFFD instead of each
// character that is invisible or turns the direction of writing. Ends in "..."
// if `text` was cut. The cost depends on `columns`, not on the size of `text`.
std::string Fitted(std::string_view text, size_t columns);

// The same, but if `text` was cut, "..." stands before its last `tail` columns,
// of which there are at most `columns` - 3.
std::string FittedBeforeEnd(std::string_view text, size_t columns, size_t tail);

// Returns `text`, padded with spaces to a width of `columns`.
std::string Padded(std::string text, size_t columns);

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_FITTED_TEXT_H_
