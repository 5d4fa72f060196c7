// Finds the transparency log for a command.
#pragma once

#include <memory>
#include <string>

#include "api/cli/base/context.h"
#include "signing/follow/log_source.h"

namespace kiln::cli {

// What --log names; "": that of the farm that kiln.env points at. It is waited for as --wait says, and an
// error of a log that does not answer names it. kInvalidArgument if nothing is named or what
// is named is no directory, kNotFound if there is none.
Result<std::unique_ptr<signing::LogSource>> openLog(const Context& context, const std::string& named);

}  // namespace kiln::cli
