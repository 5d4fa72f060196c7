// Archives of .npy files: tensors hold what their shapes say, and no two share a byte, inflated or not.
#include "tests/fuzz/tensors_hold.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const kiln::Bytes file(data, size);
  kiln::fuzzing::checkTensorsHold(kiln::parameters::readNpz(file, nullptr));
  return 0;
}
