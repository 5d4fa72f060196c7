// The check of SPIR-V modules, which come from whoever made an artifact, and what it takes: as text, and
// bounded for a device.
#include "compiler_core/runtime/spirv/spirv_check.h"
#include "compiler_core/runtime/spirv/spirv_bounds.h"
#include "compiler_core/runtime/spirv/spirv_text.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view module(reinterpret_cast<const char*>(data), size);
  if (kiln::spirv::check(module)) (void)kiln::spirv::bound(module);
  const auto functions = kiln::spirv::functionsOf(module);
  if (functions && !functions->empty())
    (void)kiln::spirv::instructionsOf(module, functions->front().name, 1000);
  return 0;
}
