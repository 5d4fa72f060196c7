// libFuzzer: an OCI manifest that is accepted names only paths that stay inside a directory.
#include <cstdlib>

#include "manifest/artifact/oci.h"
#include "manifest/spec/path.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto oci = kiln::parseOciManifest(text))
    for (const auto& layer : oci->layers)
      if (!kiln::checkRelativePath(layer.path)) std::abort();
  return 0;
}
