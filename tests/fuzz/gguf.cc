// GGUF files: what is read is views of the file that hold what their shapes say, and no two share a byte.
#include "tests/fuzz/tensors_hold.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const kiln::Bytes file(data, size);
  kiln::fuzzing::checkTensorsHold(kiln::parameters::readGguf(file, nullptr));
  return 0;
}
