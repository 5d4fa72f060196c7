// A .npy file that parses is consistent, and writing it gives a file that parses to the same tensor.
#include "compiler_core/runtime/npy/npy.h"

#include <cstdlib>

using kiln::DType;

// The type that is expected goes by the size, so that every input is a .npy file as it is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kTypes = static_cast<std::size_t>(DType::kU2) + 1;
  const std::size_t type = size % (kTypes + 1);
  const auto wanted = type == kTypes ? std::nullopt : std::optional(static_cast<DType>(type));
  const auto tensor = kiln::npy::parse({data, size}, wanted);
  if (!tensor) return 0;
  const auto again = kiln::npy::parse(kiln::npy::serialise(*tensor), tensor->dtype);
  if (!again || *again != *tensor) std::abort();
  return 0;
}
