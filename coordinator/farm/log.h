// Structured log lines: a word for the event, then key=value pairs; values with spaces are quoted.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace kiln::service {

using LogFields = std::initializer_list<std::pair<std::string_view, std::string>>;

void logInfo(std::string_view event, LogFields fields);
void logWarning(std::string_view event, LogFields fields);

}  // namespace kiln::service
