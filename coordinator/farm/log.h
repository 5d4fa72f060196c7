// The coordinator's log (storage/logging/log.h).
#pragma once

#include "storage/logging/log.h"

namespace kiln::service {

using LogFields = logging::Fields;

inline void logInfo(std::string_view event, LogFields fields) {
  logging::info(event, fields);
}
inline void logWarning(std::string_view event, LogFields fields) {
  logging::warning(event, fields);
}

}  // namespace kiln::service
