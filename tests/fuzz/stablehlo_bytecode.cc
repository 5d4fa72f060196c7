// StableHLO's portable artifacts and JAX's exports around them: nothing may crash, hang or allocate without
// bound.
#include <cstdlib>

#include "compiler_core/frontend/stablehlo/bytecode/jax_export.h"
#include "compiler_core/frontend/stablehlo/bytecode/read_bytecode.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const auto& program : {kiln::stablehlo::readBytecode({data, size}, nullptr),
                              kiln::stablehlo::readJaxExport({data, size}, nullptr)})
    // A wrong file is refused in words of its own; an internal error is a fault.
    if (!program && program.error().code == kiln::Code::kInternal) std::abort();
  return 0;
}
