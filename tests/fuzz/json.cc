// libFuzzer: what the strict parser accepts has one canonical form, and that form parses to the same value.
#include "manifest/json/json.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)kiln::parseJson(text);
  auto value = kiln::parseStrictJson(text);
  if (!value) return 0;
  auto canonical = kiln::toCanonicalJson(*value);
  if (!canonical) std::abort();
  auto again = kiln::parseCanonicalJson(*canonical);
  if (!again || *again != *value) std::abort();
  return 0;
}
