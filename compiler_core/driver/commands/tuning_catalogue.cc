#include "compiler_core/driver/commands/tuning_catalogue.h"

#include <filesystem>

#include "manifest/tuning/catalogue.h"

namespace kiln::driver {
namespace {

constexpr char kRemedy[] =
    "; make the toolchain anew with infra/toolchain/build, or compile without the catalogue: --tune off";

// Every failure names the file and says what helps.
tl::unexpected<CommandError> damaged(const std::string& path, const Error& error) {
  Error said = error.in("the toolchain's tuning catalogue, " + path);
  said.message += kRemedy;
  return stop(kExitVerification, said);
}

}  // namespace

CommandResult takeCatalogue(CompileRequest& request) {
  const std::string folder = request.toolchainLib + "/" + kCatalogueFolder + "/",
                    path = folder + kCatalogueFile;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const auto text = readText(path, kMaxCatalogueBytes, "it is part of the toolchain");
  if (!text) return damaged(path, text.error());
  const auto json = parseCanonicalJson(*text, {.bytes = kMaxCatalogueBytes});
  if (!json) return damaged(path, json.error());
  const auto catalogue = TuningCatalogue::fromJson(*json);
  if (!catalogue) return damaged(path, catalogue.error());
  CatalogueEntries entries;
  for (const CatalogueRecord& listed : catalogue->records) {
    const std::string file = folder + catalogueRecordFile(listed.record);
    const auto record = readText(file, kMaxCatalogueRecordBytes, "it is part of the toolchain");
    if (!record) return damaged(file, record.error());
    if (auto added = addCatalogueRecord(listed, *record, entries); !added)
      return damaged(file, added.error());
  }
  for (const auto& [signature, one] : entries)
    request.schedules[signature] = {one.entry.templateName, one.entry.schedule,
                                    entryDigest(one.target, one.entry), one.insteadOf};
  return {};
}

}  // namespace kiln::driver
