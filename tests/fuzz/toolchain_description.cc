// toolchain.json, from whoever adds a toolchain.
#include "manifest/toolchain/description.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)kiln::readToolchainDescription({reinterpret_cast<const char*>(data), size});
  return 0;
}
