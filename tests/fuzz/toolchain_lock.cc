// A toolchain's lock, from whoever adds a toolchain.
#include "manifest/toolchain/lock.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)kiln::readToolchainLock({reinterpret_cast<const char*>(data), size});
  return 0;
}
