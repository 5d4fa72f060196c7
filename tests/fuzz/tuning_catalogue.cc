// A toolchain's tuning catalogue: its list, and a record as one that the list names.
#include "manifest/tuning/catalogue.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto json = kiln::parseCanonicalJson(text, {.bytes = kiln::kMaxCatalogueBytes}))
    (void)kiln::TuningCatalogue::fromJson(*json);
  kiln::CatalogueEntries entries;
  (void)kiln::addCatalogueRecord({"cpu:x86-64-v3", kiln::digestOf(text)}, text, entries);
  return 0;
}
