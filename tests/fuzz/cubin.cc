// What a cubin says of its kernels: any bytes give numbers or an error.
#include "compiler_core/codegen/cuda/cubin.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto cubin = kiln::codegen::readCubin({reinterpret_cast<const char*>(data), size});
  if (cubin && cubin->toolkit == 0) __builtin_trap();
  if (cubin)
    for (const auto& kernel : cubin->kernels)
      if (kernel.name.empty() || kernel.registers == 0) __builtin_trap();
  return 0;
}
