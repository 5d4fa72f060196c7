#include "coordinator/farm/log.h"

#include <spdlog/spdlog.h>

#include "manifest/base/printable.h"

namespace kiln::service {
namespace {

constexpr std::size_t kMaxValue = 4096;

std::string line(std::string_view event, LogFields fields) {
  std::string out(event);
  for (const auto& [key, text] : fields) {
    std::string value = printable(text, kMaxValue);
    out += ' ';
    out += key;
    out += '=';
    if (!value.empty() && value.find_first_of(" \"\\") == std::string::npos) {
      out += value;
      continue;
    }
    out += '"';
    for (char c : value) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out;
}

}  // namespace

void logInfo(std::string_view event, LogFields fields) {
  spdlog::info("{}", line(event, fields));
}
void logWarning(std::string_view event, LogFields fields) {
  spdlog::warn("{}", line(event, fields));
}

}  // namespace kiln::service
