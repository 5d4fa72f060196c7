// A Manifest that reads writes a form that reads to the same: both forms of its program.
#include "manifest/artifact/manifest.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = kiln::parseStrictJson({reinterpret_cast<const char*>(data), size});
  if (!json) return 0;
  const auto manifest = kiln::Manifest::fromJson(*json);
  if (!manifest) return 0;
  const auto again = kiln::Manifest::fromJson(manifest->toJson());
  if (!again || again->toJson() != manifest->toJson()) std::abort();
  return 0;
}
