#include "storage/postgres/error.h"

#include <fmt/core.h>

namespace kiln::postgres {
namespace {

// A value of the caller's: nobody who sent one has to do with PostgreSQL.
constexpr std::string_view kNumberOutOfRange = "22003", kTimeOutOfRange = "22008";

// PostgreSQL 15 manual, appendix A. The longest prefix decides.
Code codeOf(std::string_view state, std::string_view message) {
  if (state.empty()) return Code::kUnavailable;
  if (state == "0A000" && message.find("cached plan") != std::string_view::npos) return Code::kAborted;
  struct Rule {
    std::string_view prefix;
    Code code;
  };
  static constexpr Rule kRules[] = {
      {"40001", Code::kAborted},
      {"40P01", Code::kAborted},
      {"55P03", Code::kAborted},
      {"23505", Code::kAlreadyExists},
      {"23503", Code::kFailedPrecondition},
      {"23", Code::kInvalidArgument},
      {"22", Code::kInvalidArgument},
      {"57014", Code::kDeadlineExceeded},
      {"57P", Code::kUnavailable},
      {"53300", Code::kUnavailable},
      {"53", Code::kResourceExhausted},
      {"08", Code::kUnavailable},
      {"25006", Code::kUnavailable},
      {"42501", Code::kPermissionDenied},
      {"28", Code::kPermissionDenied},
      {"26000", Code::kAborted},
  };
  for (const Rule& rule : kRules)
    if (state.starts_with(rule.prefix)) return rule.code;
  return Code::kInternal;
}

}  // namespace

Error errorFrom(std::string_view sqlState, std::string_view message) {
  if (sqlState == kNumberOutOfRange || sqlState == kTimeOutOfRange)
    return {Code::kInvalidArgument, "a number or a time is beyond what can be stored here", {}};
  std::string state = sqlState.empty() ? "" : fmt::format(" (SQLSTATE {})", sqlState);
  return {codeOf(sqlState, message), fmt::format("PostgreSQL: {}{}", message, state)};
}

}  // namespace kiln::postgres
