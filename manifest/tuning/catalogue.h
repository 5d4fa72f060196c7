// TuningCatalogue: the tuning records that a toolchain carries, by digest, and what a compile takes of them.
// They are part of the toolchain's tree, so the digest that a CompileSpec names pins them, and whoever admits
// the tree signs for them. FORMAT.md, "Tuning".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/json/json.h"
#include "manifest/tuning/entries.h"

namespace kiln {

// Below the toolchain's lib folder; a toolchain without the folder has no catalogue.
inline constexpr char kCatalogueFolder[] = "catalogue";
inline constexpr char kCatalogueFile[] = "catalogue.json";
// The name of catalogue.json in toolchain.json.
inline constexpr char kCatalogueComponent[] = "tuning-catalogue";
inline constexpr std::uint64_t kMaxCatalogueBytes = 64u << 10;
inline constexpr std::size_t kMaxCatalogueRecords = 128;
inline constexpr std::uint64_t kMaxCatalogueRecordBytes = 4u << 20;

struct CatalogueRecord {
  std::string target;
  Digest record;  // of record.json in canonical JSON
  bool operator==(const CatalogueRecord&) const = default;
};

// "<hex>.json": where a record stands beside catalogue.json.
std::string catalogueRecordFile(const Digest& record);

struct TuningCatalogue {
  std::vector<CatalogueRecord> records;  // sorted by target and digest, each once

  Json toJson() const;
  // kInvalidArgument naming the member; a record of more than kMaxCatalogueRecordBytes is refused here.
  static Result<TuningCatalogue> fromJson(const Json& json);
  bool operator==(const TuningCatalogue&) const = default;
};

// What a record of the catalogue says of one kernel: `entry` was faster than `insteadOf`, the default then.
struct CatalogueEntry {
  std::string target;
  TuningEntry entry;
  Schedule insteadOf;
};
// By the kernel's signature.
using CatalogueEntries = std::map<std::string, CatalogueEntry, std::less<>>;

// Adds what the record's text holds. kDataLoss: it is not the text that the catalogue names.
// kInvalidArgument: it is no record in canonical JSON, for another target, of an emulated device, of a kernel
// that nothing was faster for, or of one that another record has. Nothing is added then.
Status addCatalogueRecord(const CatalogueRecord& listed, std::string_view text, CatalogueEntries& entries);

}  // namespace kiln
