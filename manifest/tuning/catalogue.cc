#include "manifest/tuning/catalogue.h"

#include <tuple>

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "manifest/tuning/record.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxTargetText = 256;

bool isBefore(const CatalogueRecord& a, const CatalogueRecord& b) {
  return std::tuple(a.target, a.record.text()) < std::tuple(b.target, b.record.text());
}

}  // namespace

std::string catalogueRecordFile(const Digest& record) {
  const std::string text = record.text();
  return text.substr(text.find(':') + 1) + ".json";
}

Json TuningCatalogue::toJson() const {
  Json list = Json::array();
  for (const CatalogueRecord& one : records)
    list.push_back(
        {{"target", one.target}, {"digest", one.record.text()}, {"size", std::to_string(one.record.size)}});
  return {{"apiVersion", "kiln/v1"}, {"kind", "TuningCatalogue"}, {"records", std::move(list)}};
}

Result<TuningCatalogue> TuningCatalogue::fromJson(const Json& json) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "catalogue"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "TuningCatalogue"));
  TuningCatalogue out;
  KILN_ASSIGN(const Json* records, reader.array("records"));
  if (records->size() > kMaxCatalogueRecords) return badMember(reader.path("records"), "more than 128");
  for (const Json& one : *records) {
    const std::string place = reader.path("records") + "[" + std::to_string(out.records.size()) + "]";
    KILN_ASSIGN(ObjectReader member, ObjectReader::open(one, place));
    CatalogueRecord record;
    KILN_ASSIGN(record.target, member.string("target"));
    if (record.target.size() > kMaxTargetText) return badMember(place + ".target", "longer than 256 bytes");
    KILN_ASSIGN(record.record, member.digest());
    if (record.record.size > kMaxCatalogueRecordBytes) return badMember(place + ".size", "larger than 4 MiB");
    KILN_TRY(member.finish());
    if (!out.records.empty() && !isBefore(out.records.back(), record))
      return badMember(place, "must come after the record before it, by target and digest");
    out.records.push_back(std::move(record));
  }
  KILN_TRY(reader.finish());
  return out;
}

Status addCatalogueRecord(const CatalogueRecord& listed, std::string_view text, CatalogueEntries& entries) {
  if (digestOf(text) != listed.record)
    return fail(Code::kDataLoss, "what stands there is " + digestOf(text).text() +
                                     ", but the catalogue names " + listed.record.text() +
                                     ": it was changed");
  KILN_ASSIGN(const Json json, parseCanonicalJson(text, {.bytes = kMaxCatalogueRecordBytes}));
  KILN_ASSIGN(const TuningRecord record, TuningRecord::fromJson(json));
  if (record.target != listed.target)
    return fail(Code::kInvalidArgument, "the record is for " + printable(record.target, 100) +
                                            ", but the catalogue lists it for " +
                                            printable(listed.target, 100));
  if (record.device.kind == "emulated")
    return fail(Code::kInvalidArgument, "the record is of an emulated device, whose times say nothing");
  CatalogueEntries found;
  for (const TunedKernel& kernel : record.kernels) {
    const TuningChoice choice = choose(kernel);
    if (choice.reason != TuningChoice::Reason::kFaster)
      return fail(Code::kInvalidArgument,
                  "nothing was faster than the default for kernel " + kernel.signature);
    if (entries.contains(kernel.signature))
      return fail(Code::kInvalidArgument, "another record has kernel " + kernel.signature + " too");
    found.emplace(kernel.signature, CatalogueEntry{record.target,
                                                   {kernel.signature, kernel.templateName,
                                                    kernel.candidates[choice.candidate].schedule},
                                                   kernel.candidates.front().schedule});
  }
  entries.merge(found);
  return {};
}

}  // namespace kiln
