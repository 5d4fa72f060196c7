// The tuning catalogue of a toolchain (manifest/tuning/catalogue.h) as a compile takes it. Private to this
// folder.
#pragma once

#include "compiler_core/driver/commands/command.h"

namespace kiln::driver {

// Gives the request the schedules of its toolchain's catalogue, of every target: signatures tell them apart.
// None where there is no catalogue. Stops with kExitVerification, naming the file, where the catalogue is not
// what it says: that toolchain is damaged.
CommandResult takeCatalogue(CompileRequest& request);

}  // namespace kiln::driver
