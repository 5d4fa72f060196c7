#include "storage/logging/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "manifest/base/printable.h"
#include "manifest/json/json.h"

namespace kiln::logging {
namespace {

constexpr std::size_t kMaxValue = 4096;
constexpr std::string_view kAbout[] = {"job", "action", "trace"};

// Beside spdlog's default logger, which a process has one of as well.
std::atomic<bool> asJson = false;

std::string jsonText(std::string_view text) {
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void appendText(std::string& line, std::string_view key, const std::string& value) {
  line += ' ';
  line += key;
  line += '=';
  line += value.empty() || value.find_first_of(" \"\\") != std::string::npos ? jsonText(value) : value;
}

void appendJson(std::string& line, std::string_view key, const std::string& value) {
  line += ',';
  line += jsonText(key);
  line += ':';
  line += jsonText(value);
}

// What stands behind the pattern's own part; of JSON up to its last brace.
std::string lineOf(std::string_view event, Fields fields, bool json) {
  std::string line = json ? jsonText(printable(event, kMaxValue)) : printable(event, kMaxValue);
  for (const auto& [key, text] : fields) {
    if (text.empty() && std::ranges::find(kAbout, key) != std::end(kAbout)) continue;
    const std::string value = printable(text, kMaxValue);
    if (json)
      appendJson(line, key, value);
    else
      appendText(line, key, value);
  }
  return line;
}

void write(spdlog::level::level_enum level, std::string_view event, Fields fields) {
  if (!spdlog::should_log(level)) return;
  spdlog::log(level, "{}", lineOf(event, fields, asJson));
}

}  // namespace

void start(const std::string& program, Format format) {
  asJson = format == Format::kJson;
  auto logger = std::make_shared<spdlog::logger>(program, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(asJson ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","process":"%n","event":%v})"
                             : "%Y-%m-%dT%H:%M:%S.%eZ %l %n %v",
                      spdlog::pattern_time_type::utc);
  spdlog::set_default_logger(std::move(logger));
}

Format formatNamed(std::string_view name) {
  return name == "json" ? Format::kJson : Format::kText;
}

void info(std::string_view event, Fields fields) {
  write(spdlog::level::info, event, fields);
}
void warning(std::string_view event, Fields fields) {
  write(spdlog::level::warn, event, fields);
}
void error(std::string_view event, Fields fields) {
  write(spdlog::level::err, event, fields);
}

}  // namespace kiln::logging
