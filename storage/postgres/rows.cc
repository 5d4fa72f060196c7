#include "storage/postgres/rows.h"

#include <fmt/core.h>
#include <libpq-fe.h>

#include <charconv>
#include <cstdlib>
#include <ctime>

namespace kiln::postgres {
namespace {

int hexValue(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

template <class T>
bool parseWhole(std::string_view text, T& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Rows::Rows(pg_result* result) : result_(result) {}
Rows::Rows(Rows&& other) noexcept
    : result_(std::exchange(other.result_, nullptr)), problem_(std::move(other.problem_)) {}
Rows& Rows::operator=(Rows&& other) noexcept {
  std::swap(result_, other.result_);
  std::swap(problem_, other.problem_);
  return *this;
}
Rows::~Rows() {
  PQclear(result_);
}

int Rows::size() const {
  return PQntuples(result_);
}

std::int64_t Rows::affected() const {
  std::int64_t count = 0;
  parseWhole(std::string_view(PQcmdTuples(result_)), count);
  return count;
}

Status Rows::status() const {
  if (!problem_) return {};
  return fail(*problem_);
}

bool Row::isNull(std::string_view column) const {
  return !text(column).has_value();
}

std::optional<std::string_view> Row::text(std::string_view column) const {
  // PQfnumber folds case unless the name is quoted; columns are few, so a scan is as good.
  int number = -1;
  for (int i = 0; i < PQnfields(rows_.result_); ++i)
    if (PQfname(rows_.result_, i) == column) number = i;
  if (number < 0) complain(column, "is not in the result", Code::kInternal);
  if (number < 0 || PQgetisnull(rows_.result_, number_, number)) return std::nullopt;
  return std::string_view(PQgetvalue(rows_.result_, number_, number),
                          static_cast<std::size_t>(PQgetlength(rows_.result_, number_, number)));
}

void Row::complain(std::string_view column, std::string_view problem, Code code) const {
  if (!rows_.problem_) rows_.problem_ = Error{code, fmt::format("PostgreSQL: column {} {}", column, problem)};
}

void Row::read(std::string_view column, std::string_view text, bool& out) const {
  out = text == "t";
  if (!out && text != "f") complain(column, "is not a boolean");
}

void Row::read(std::string_view column, std::string_view text, double& out) const {
  if (!parseWhole(text, out)) complain(column, "is not a number");
}

bool Row::parseSigned(std::string_view column, std::string_view text, std::int64_t& out) const {
  bool good = parseWhole(text, out);
  if (!good) complain(column, "is not an integer");
  return good;
}

bool Row::parseUnsigned(std::string_view column, std::string_view text, std::uint64_t& out) const {
  bool good = parseWhole(text, out);
  if (!good) complain(column, "is not an unsigned integer");
  return good;
}

// The session's DateStyle is ISO and its time zone UTC: "2026-11-20 05:23:32.123456+00", the fraction
// optional.
void Row::read(std::string_view column, std::string_view text, TimePoint& out) const {
  if (text == "-infinity" || text.ends_with(" BC")) {
    out = kEarliest;
    return;
  }
  if (const std::size_t year = text.find('-'); text == "infinity" || (year > 4 && year != text.npos)) {
    out = kLatest;
    return;
  }
  std::tm parts{};
  std::string whole(text);
  const char* rest = ::strptime(whole.c_str(), "%Y-%m-%d %H:%M:%S", &parts);
  if (!rest) return complain(column, "is not a time");
  std::int64_t micros = 0, unit = 100'000;
  if (*rest == '.')
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest, unit /= 10) micros += (*rest - '0') * unit;
  if (std::string_view(rest) != "+00") return complain(column, "is not a time in UTC");
  out = TimePoint(std::chrono::seconds(::timegm(&parts)) + std::chrono::microseconds(micros));
}

void Row::read(std::string_view column, std::string_view text, std::vector<std::uint8_t>& out) const {
  if (!text.starts_with("\\x") || text.size() % 2 != 0) return complain(column, "is not bytea");
  out.clear();
  for (std::size_t i = 2; i < text.size(); i += 2) {
    int high = hexValue(text[i]), low = hexValue(text[i + 1]);
    if (high < 0 || low < 0) return complain(column, "is not bytea");
    out.push_back(static_cast<std::uint8_t>(high << 4 | low));
  }
}

// One-dimensional array output: {a,"b c","\"quoted\""}. NULL elements are an error.
void Row::read(std::string_view column, std::string_view text, std::vector<std::string>& out) const {
  out.clear();
  if (text.size() < 2 || text.front() != '{' || text.back() != '}')
    return complain(column, "is not an array");
  std::size_t i = 1, end = text.size() - 1;
  while (i < end) {
    std::string value;
    bool quoted = text[i] == '"';
    if (quoted) {
      for (++i; i < end && text[i] != '"'; ++i) value += text[i] == '\\' && i + 1 < end ? text[++i] : text[i];
      ++i;
    } else {
      for (; i < end && text[i] != ','; ++i) value += text[i];
    }
    if (!quoted && value == "NULL") return complain(column, "has a NULL element");
    out.push_back(std::move(value));
    if (i < end && text[i] != ',') return complain(column, "is not an array of one dimension");
    ++i;
  }
}

}  // namespace kiln::postgres
