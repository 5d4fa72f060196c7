// toolchain.json, from whoever adds a toolchain.
#include "coordinator/jobs/toolchain_description.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)kiln::jobs::readToolchainDescription({reinterpret_cast<const char*>(data), size});
  return 0;
}
