// fixtures.json, from outside like everything in an artifact.
#include "manifest/artifact/fixture_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)kiln::parseFixtureList({reinterpret_cast<const char*>(data), size});
  return 0;
}
