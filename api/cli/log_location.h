// Where a command finds the transparency log.
#pragma once

#include <memory>
#include <string>

#include "signing/follow/log_source.h"

namespace kiln::cli {

// What --log names; "": that of the farm that kiln.env points at. kInvalidArgument if there is neither.
Result<std::unique_ptr<signing::LogSource>> openLog(const std::string& named);

}  // namespace kiln::cli
