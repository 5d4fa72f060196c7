#include "coordinator/service/log.h"

#include <spdlog/spdlog.h>

namespace kiln::service {
namespace {

std::string line(std::string_view event, LogFields fields) {
  std::string out(event);
  for (const auto& [key, value] : fields) {
    out += ' ';
    out += key;
    out += '=';
    if (!value.empty() && value.find_first_of(" \"\n\t") == std::string::npos) {
      out += value;
      continue;
    }
    out += '"';
    for (char c : value) {
      if (c == '"' || c == '\\') out += '\\';
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
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
