// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A small terminal that shows the state of the screen after some output:
//
//   waiter::Screen screen(/*columns=*/80, /*rows=*/24);
//   screen.Write("one\n\x1b[1A\x1b[2K");
//   screen.Lines();   // {}
//
// It knows the sequences that progress may write. Others are failures.

#ifndef WAITER_TESTS_SUPPORT_SCREEN_H_
#define WAITER_TESTS_SUPPORT_SCREEN_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "cli/text/fitted_text.h"

namespace waiter::cli {

class Screen {
 public:
  Screen(size_t columns, size_t rows) : columns_(columns), rows_(rows) {}

  void Write(std::string_view text) {
    while (!text.empty()) {
      if (text[0] == '\x1b') {
        text.remove_prefix(Escape(text));
      } else if (text[0] == '\r') {
        column_ = 0;
        text.remove_prefix(1);
      } else if (text[0] == '\n') {
        // The driver of a terminal adds a carriage return.
        column_ = 0;
        Down();
        text.remove_prefix(1);
      } else {
        text.remove_prefix(Put(text));
      }
    }
  }

  // Returns the lines down to the last one that is not empty, including those
  // scrolled away, without trailing spaces.
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines = lines_;
    for (std::string& line : lines) {
      line.erase(line.find_last_not_of(' ') + 1);
    }
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
  }

  size_t column() const { return column_; }
  size_t row() const { return row_; }  // An index into `Lines()`.
  size_t scrolled() const { return top_; }
  bool wraps() const { return wraps_; }

  // The output that progress must not write.
  const std::string& strange() const { return strange_; }

 private:
  size_t Escape(std::string_view text) {
    size_t end = 2;
    while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
    const std::string_view sequence = text.substr(0, end + 1);
    size_t count = 0;
    if (sequence == "\x1b[?7l" || sequence == "\x1b[?7h") {
      wraps_ = sequence.back() == 'h';
    } else if (sequence == "\x1b[2K") {
      lines_[row_].clear();
    } else if (sequence == "\x1b[J") {
      // Some terminals keep a cleared screen in their history.
      if (row_ == top_ && column_ == 0) strange_ += "(clears the screen)";
      lines_.resize(row_ + 1);
      lines_[row_].resize(std::min(lines_[row_].size(), column_));
    } else if (sequence.back() == 'A' &&
               absl::SimpleAtoi(sequence.substr(2, end - 2), &count)) {
      row_ -= std::min(count, row_ - top_);
    } else if (sequence.back() != 'm') {
      strange_ += sequence;
    }
    return sequence.size();
  }

  void Down() {
    ++row_;
    if (lines_.size() <= row_) lines_.resize(row_ + 1);
    if (row_ - top_ >= rows_) ++top_;
  }

  // Writes a whole character. `column_` counts columns, and lines only grow.
  size_t Put(std::string_view text) {
    size_t length = 1;
    while (length < text.size() &&
           (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) {
      ++length;
    }
    const std::string_view character = text.substr(0, length);
    const bool control =
        length == 1 && (text[0] == '\x7f' || (text[0] >= 0 && text[0] < ' '));
    const bool c1 = length == 2 && text[0] == '\xc2' &&
                    static_cast<unsigned char>(text[1]) < 0xa0;
    if (control || c1) {
      strange_ += character;
      return length;
    }
    // The marks take one column.
    const size_t wide = character == "✓" || character == "✗"
                            ? 1
                            : waiter::cli::Columns(character);
    if (column_ + wide > columns_) {
      strange_ += "(too wide)";
      return length;
    }
    if (lines_.size() <= row_) lines_.resize(row_ + 1);
    lines_[row_] += character;
    column_ += wide;
    return length;
  }

  const size_t columns_;
  const size_t rows_;
  std::vector<std::string> lines_ = std::vector<std::string>(1);
  size_t top_ = 0;
  size_t row_ = 0;
  size_t column_ = 0;
  bool wraps_ = true;
  std::string strange_;
};

}  // namespace waiter::cli

#endif  // WAITER_TESTS_SUPPORT_SCREEN_H_
