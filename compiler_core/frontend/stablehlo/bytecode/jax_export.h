// What jax.export serializes (".jax_export"): a flatbuffer around a portable artifact.
// Source: JAX's serialization.fbs, serialization versions up to 11.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

struct JaxExport {
  Bytes artifact;  // a view of the file
  std::uint16_t callingConvention = 0;
  std::vector<std::string> platforms;  // in the order of their indices
};

// kInvalidArgument, with the byte, for what is no such flatbuffer or has no MLIR bytecode in it.
Result<JaxExport> parseJaxExport(Bytes bytes);

// As readBytecode(), of the artifact. Calling conventions other than 9 and 10 are kUnimplemented.
Result<Program> readJaxExport(Bytes bytes, std::shared_ptr<const void> owner);

}  // namespace kiln::stablehlo
