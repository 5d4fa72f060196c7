// Rows: what a statement returned, read by column name into C++ types.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/result.h"

struct pg_result;

namespace kiln::postgres {

// 0001-01-01T00:00:00Z and the last microsecond of 9999: what a TimePoint of a row lies between. As
// parameters they are PostgreSQL's infinite times, so that a list continues behind a row that has one.
inline constexpr TimePoint kEarliest{std::chrono::seconds(-62'135'596'800)};
inline constexpr TimePoint kLatest{std::chrono::seconds(253'402'300'800) - Duration(1)};

class Rows;

// One row, valid while its Rows lives. A column that is not there, a NULL that was not asked for as an
// optional, or a value that does not fit gives a default value and makes Rows::status() (hence map() and
// first()) fail. A time outside of the years 1 to 9999, infinite ones among them, is none that a farm writes;
// it reads as the nearer end of those years (kEarliest, kLatest), so that the rest of the list stays readable
// and whoever compares the row with what is signed can say which one is wrong.
class Row {
 public:
  // std::string, bool, any integer type, double, TimePoint, std::vector<std::uint8_t> (bytea),
  // std::vector<std::string> (text[]), or std::optional of one of these.
  template <class T>
  T get(std::string_view column) const;
  bool isNull(std::string_view column) const;

 private:
  friend class Rows;
  Row(const Rows& rows, int number) : rows_(rows), number_(number) {}

  // The text of the value; nothing for NULL. An unknown column is an error.
  std::optional<std::string_view> text(std::string_view column) const;
  void complain(std::string_view column, std::string_view problem, Code code = Code::kDataLoss) const;
  void read(std::string_view column, std::string_view text, std::string& out) const { out = text; }
  void read(std::string_view column, std::string_view text, bool& out) const;
  void read(std::string_view column, std::string_view text, double& out) const;
  void read(std::string_view column, std::string_view text, TimePoint& out) const;
  void read(std::string_view column, std::string_view text, std::vector<std::uint8_t>& out) const;
  void read(std::string_view column, std::string_view text, std::vector<std::string>& out) const;
  template <std::integral T>
  void read(std::string_view column, std::string_view text, T& out) const;
  bool parseSigned(std::string_view column, std::string_view text, std::int64_t& out) const;
  bool parseUnsigned(std::string_view column, std::string_view text, std::uint64_t& out) const;

  const Rows& rows_;
  int number_;
};

// Owns the result. Not thread safe.
class Rows {
 public:
  explicit Rows(pg_result* result);
  Rows(Rows&&) noexcept;
  Rows& operator=(Rows&&) noexcept;
  ~Rows();

  int size() const;
  bool empty() const { return size() == 0; }
  Row operator[](int number) const { return Row(*this, number); }
  // Rows that an INSERT, UPDATE or DELETE changed.
  std::int64_t affected() const;
  // The first conversion that failed so far, naming the column: kInternal if it is not in the result,
  // kDataLoss for a value that this program did not write.
  Status status() const;

  // One value per row.
  template <class F>
  auto map(F read) const -> Result<std::vector<std::invoke_result_t<F, const Row&>>> {
    std::vector<std::invoke_result_t<F, const Row&>> out;
    out.reserve(static_cast<std::size_t>(size()));
    for (int i = 0; i < size(); ++i) out.push_back(read((*this)[i]));
    KILN_TRY(status());
    return out;
  }
  // The first row's value, or nothing if there is no row.
  template <class F>
  auto first(F read) const -> Result<std::optional<std::invoke_result_t<F, const Row&>>> {
    std::optional<std::invoke_result_t<F, const Row&>> out;
    if (!empty()) out = read((*this)[0]);
    KILN_TRY(status());
    return out;
  }

 private:
  friend class Row;
  pg_result* result_;
  mutable std::optional<Error> problem_;
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
T Row::get(std::string_view column) const {
  std::optional<std::string_view> value = text(column);
  if constexpr (IsOptional<T>::value) {
    if (!value) return std::nullopt;
    typename T::value_type out{};
    read(column, *value, out);
    return out;
  } else {
    T out{};
    if (value)
      read(column, *value, out);
    else
      complain(column, "is NULL");
    return out;
  }
}

template <std::integral T>
void Row::read(std::string_view column, std::string_view text, T& out) const {
  std::conditional_t<std::signed_integral<T>, std::int64_t, std::uint64_t> wide = 0;
  bool good;
  if constexpr (std::signed_integral<T>)
    good = parseSigned(column, text, wide);
  else
    good = parseUnsigned(column, text, wide);
  if (!good) return;
  out = static_cast<T>(wide);
  if (out != wide) complain(column, "does not fit its type");
}

}  // namespace kiln::postgres
