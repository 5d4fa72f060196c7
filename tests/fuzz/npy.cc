// A .npy file that parses is consistent, and writing it gives a file that parses to the same tensor.
#include "compiler_core/runtime/npy/npy.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tensor = kiln::npy::parse({data, size});
  if (!tensor) return 0;
  const auto again = kiln::npy::parse(kiln::npy::serialise(*tensor));
  if (!again || *again != *tensor) std::abort();
  return 0;
}
