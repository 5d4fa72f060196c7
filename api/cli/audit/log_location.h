// Finds the transparency log for a command.
#pragma once

#include <memory>
#include <string>

#include "api/cli/base/context.h"
#include "signing/follow/log_source.h"

namespace kiln::cli {

// --log of a command that has addTlsOptions(), with whose credentials an https log is read.
void addLogOption(CLI::App& command, Context& context);

// For a log behind https.
signing::HttpCredentials logCredentials(const Context& context);

// What --log names; without it that of the farm that kiln.env points at. It is waited for as --wait says, and
// an error of a log that does not answer names it. kInvalidArgument if nothing is named or what is named is
// no directory, kNotFound if there is none.
Result<std::unique_ptr<signing::LogSource>> openLog(const Context& context);

}  // namespace kiln::cli
