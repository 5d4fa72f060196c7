#include "manifest/base/clock.h"

#include <cstdio>
#include <ctime>

namespace kiln {

TimePoint SystemClock::now() const {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

std::string rfc3339(TimePoint time) {
  std::time_t seconds = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[48];
  // Not strftime, which gives years before 1000 fewer than four digits.
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
  return text;
}

Result<TimePoint> parseRfc3339(std::string_view text) {
  auto bad = [&] { return fail(Code::kInvalidArgument, "not a time of the form 2026-11-20T05:23:32Z"); };
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  if (text.size() != kForm.size()) return bad();
  for (std::size_t i = 0; i < kForm.size(); ++i)
    if (kForm[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != kForm[i]) return bad();
  auto number = [&](std::size_t at, std::size_t digits) {
    int value = 0;
    for (std::size_t i = at; i < at + digits; ++i) value = value * 10 + (text[i] - '0');
    return value;
  };
  std::chrono::year_month_day day{std::chrono::year(number(0, 4)), std::chrono::month(number(5, 2)),
                                  std::chrono::day(number(8, 2))};
  int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (number(0, 4) < 1970 || !day.ok() || hour > 23 || minute > 59 || second > 59) return bad();
  return TimePoint(std::chrono::sys_days(day)) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second);
}

}  // namespace kiln
