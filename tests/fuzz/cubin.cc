// What a cubin says of its kernels: any bytes give numbers or an error.
#include "compiler_core/codegen/cuda/cubin.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto kernels = kiln::codegen::readCubin({reinterpret_cast<const char*>(data), size});
  if (kernels)
    for (const auto& kernel : *kernels)
      if (kernel.name.empty() || kernel.registers == 0) __builtin_trap();
  return 0;
}
