// The check of PTX: any text is read in bounds, and one that is accepted has no call.
#include "compiler_core/codegen/cuda/ptx_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::set<std::string, std::less<>> kernels{"k"};
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (kiln::codegen::checkPtx(text, kernels) && text.find("\ncall ") != std::string_view::npos)
    __builtin_trap();
  return 0;
}
