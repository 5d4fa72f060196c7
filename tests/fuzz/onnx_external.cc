// libFuzzer: the scan for external data never reads outside its input.
#include "storage/source/onnx_external.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)kiln::source::externalLocations({data, size});
  return 0;
}
