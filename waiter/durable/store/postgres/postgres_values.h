// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Values of PostgreSQL in its binary format, in which numbers are not written
// as text and bytes are not escaped:
//
//   PostgresStatement call("SELECT * FROM waiter.store_get($1, $2)");
//   call.Add(space);
//   call.Add(keys);
//   ...
//   while (rows.Next()) keys.push_back(rows.Bytes(0));

#ifndef WAITER_DURABLE_STORE_POSTGRES_POSTGRES_VALUES_H_
#define WAITER_DURABLE_STORE_POSTGRES_POSTGRES_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "waiter/durable/internal/postgres_library.h"

namespace waiter::internal {

// Values for one parameter that is an array, of the types that the store's
// functions take.
class PostgresArray {
 public:
  enum class Type : unsigned int {
    kBytes = 17,
    kLetter = 18,
    kNumber = 20,
    kText = 25,
  };

  // Reserves room for `size` values.
  PostgresArray(Type type, size_t size);

  void Add(std::string_view bytes);
  void Add(int64_t number);

  Type type() const { return type_; }
  // Returns the array, once.
  std::string Take() &&;

 private:
  const Type type_;
  int32_t size_ = 0;
  std::string bytes_;
};

// A statement and its parameters.
class PostgresStatement {
 public:
  explicit PostgresStatement(std::string sql) : sql_(std::move(sql)) {}

  void AddNumber(int64_t number);
  void AddInteger(int32_t number);
  void AddFlag(bool flag);
  void AddText(std::string_view text);
  void AddBytes(std::string_view bytes);
  void AddArray(PostgresArray array);

  // Gives the statement to libpq. Returns false if it has no memory, or no
  // connection.
  bool Send(const PostgresLibrary& library, pg_conn* connection) const;

 private:
  void Add(unsigned int type, std::string bytes);

  const std::string sql_;
  std::vector<unsigned int> types_;
  std::vector<std::string> values_;
};

// The rows of a result. Movable; empty by default.
class PostgresRows {
 public:
  PostgresRows() = default;
  // Takes the result.
  PostgresRows(const PostgresLibrary& library, pg_result* result);

  // Goes to the next row, or the first one. Returns false at the end.
  bool Next() { return ++row_ < count_; }

  // Return a column of the current row; zero, false or empty for NULL. A number
  // may have 2, 4 or 8 bytes.
  int64_t Number(int column) const;
  std::optional<int64_t> OptionalNumber(int column) const;
  bool Flag(int column) const { return Number(column) != 0; }
  std::string Bytes(int column) const { return std::string(View(column)); }
  bool IsNull(int column) const;

 private:
  std::string_view View(int column) const;

  const PostgresLibrary* library_ = nullptr;
  std::shared_ptr<pg_result> result_;
  int row_ = -1;
  int count_ = 0;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_STORE_POSTGRES_POSTGRES_VALUES_H_
