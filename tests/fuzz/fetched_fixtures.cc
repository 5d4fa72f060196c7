// libFuzzer: the list of fixtures in a fetched directory; what is accepted is written back unchanged.
#include <cstdlib>

#include "api/node/fixtures.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto digests = kiln::node::parseFixtureList(text);
  if (!digests) return 0;
  std::vector<kiln::node::FixtureFile> files;
  for (const auto& [path, hex] : *digests) files.push_back({path, *kiln::Digest::parse(hex, 0)});
  const auto again = kiln::node::parseFixtureList(kiln::node::fixtureList(files));
  if (!again || *again != *digests) std::abort();
  return 0;
}
