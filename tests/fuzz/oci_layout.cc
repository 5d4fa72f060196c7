// libFuzzer: the documents of exports and of OCI registries: index, referrers, closure.
#include <cstdlib>

#include "manifest/artifact/oci_layout.h"
#include "manifest/spec/path.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto index = kiln::parseLayoutIndex(text); index && index->size() > 1024) std::abort();
  (void)kiln::artifactTypeOf(text);
  if (auto referrer = kiln::parseReferrer(text))
    for (const auto& layer : referrer->layers)
      if (!layer.path.empty() && !kiln::checkRelativePath(layer.path)) std::abort();
  if (auto closure = kiln::parseClosureConfig(text)) {
    for (const auto& file : closure->omitted)
      if (!kiln::checkRelativePath(file.path)) std::abort();
    if (!kiln::makeClosureConfig(*closure)) std::abort();
  }
  return 0;
}
