// libFuzzer: the scan for external data never reads outside its input.
#include "api/client/onnx_external.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)kiln::client::externalLocations({data, size});
  return 0;
}
