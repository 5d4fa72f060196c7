// libFuzzer: request targets and ranges of the gateway.
#include "api/gateway/route.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)kiln::gateway::parseRoute(text);
  (void)kiln::gateway::parseRange(text, size * 1000);
  return 0;
}
