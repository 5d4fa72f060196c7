// libFuzzer: ByteStream resource names. What parses is made of the same parts when written again.
#include "storage/remote/resource_name.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view name(reinterpret_cast<const char*>(data), size);
  if (auto read = kiln::storage::parseReadName(name))
    if (kiln::storage::readName(read->instance, read->digest) != name) std::abort();
  if (auto write = kiln::storage::parseWriteName(name)) {
    auto again = kiln::storage::parseWriteName(kiln::storage::writeName(write->instance, write->digest));
    if (!again || again->instance != write->instance || again->digest != write->digest) std::abort();
  }
  return 0;
}
