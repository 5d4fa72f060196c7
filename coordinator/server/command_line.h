// The flags of kiln-coordinator.
#pragma once

#include <optional>

#include "coordinator/server/options.h"

namespace kiln::server {

// The exit code if the program is to end here (--help, --version, wrong usage).
std::optional<int> readCommandLine(int argc, char** argv, Options& options);

}  // namespace kiln::server
