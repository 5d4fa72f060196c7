// The check of SPIR-V modules, which come from whoever made an artifact.
#include "compiler_core/runtime/spirv/spirv_check.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)kiln::spirv::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
