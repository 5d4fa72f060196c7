// The tuning catalogue of a toolchain (manifest/tuning/catalogue.h) as a compile takes it. Private to this
// folder.
#pragma once

#include "compiler_core/driver/commands/command.h"

namespace kiln::driver {

// Gives the request the schedules that the catalogue of its toolchain has for the spec's targets; none where
// that has no catalogue. Stops with kExitVerification, naming the file, where the catalogue is not what it
// says: that toolchain is damaged.
CommandResult takeCatalogue(const CompileSpec& spec, CompileRequest& request);

}  // namespace kiln::driver
