// libFuzzer: ByteStream resource names. What parses is made of the same parts when written again.
#include "storage/remote/resource_name.h"

#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view name(reinterpret_cast<const char*>(data), size);
  if (auto read = kiln::storage::parseReadName(name)) {
    if (!name.ends_with(read->digest.hex() + "/" + std::to_string(read->digest.size))) std::abort();
    auto again = kiln::storage::parseReadName(kiln::storage::readName(read->instance, read->digest));
    if (!again || again->instance != read->instance || again->digest != read->digest) std::abort();
  }
  if (auto write = kiln::storage::parseWriteName(name)) {
    auto again = kiln::storage::parseWriteName(kiln::storage::writeName(write->instance, write->digest));
    if (!again || again->instance != write->instance || again->digest != write->digest) std::abort();
  }
  return 0;
}
