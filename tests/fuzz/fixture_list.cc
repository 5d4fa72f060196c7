// fixtures.json, from outside like everything in an artifact.
#include "compiler_core/runtime/session/fixtures.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)kiln::runtime::parseFixtureList({reinterpret_cast<const char*>(data), size});
  return 0;
}
