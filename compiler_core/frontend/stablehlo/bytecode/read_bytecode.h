// StableHLO's portable artifacts: VHLO in MLIR's bytecode, of every released version since 0.9.0. No MLIR
// here.
#pragma once

#include <memory>

#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

// Whether the producer of some bytecode is StableHLO's serializer of portable artifacts
// ("StableHLO_v1.17.0").
bool isPortable(std::string_view producer);

// Reads one artifact. Literals view `bytes`, which `owner` keeps. kInvalidArgument for what is wrong, with
// the byte or the operation; kUnimplemented for what is not served: bytecode of other producers (that of
// StableHLO itself, without versions, cannot be told from that of an incompatible one), newer encodings.
// Thread safe.
Result<Program> readBytecode(Bytes bytes, std::shared_ptr<const void> owner);

}  // namespace kiln::stablehlo
