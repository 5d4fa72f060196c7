// libFuzzer: backup.json.
#include "storage/backup/document.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto document = kiln::storage::BackupDocument::parse(text))
    (void)kiln::toCanonicalJson(document->toJson());
  return 0;
}
