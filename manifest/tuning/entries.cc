#include "manifest/tuning/entries.h"

#include <algorithm>

#include "manifest/base/printable.h"
#include "manifest/tuning/schedule_json.h"

namespace kiln {
namespace {

Json entryJson(const TuningEntry& entry) {
  return {{"signature", entry.signature},
          {"template", entry.templateName},
          {"schedule", scheduleJson(entry.schedule)}};
}

tl::unexpected<Error> bad(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

}  // namespace

std::string entryDigest(std::string_view target, const TuningEntry& entry) {
  Json json = entryJson(entry);
  json["target"] = target;
  // Strings that were read and integers: they have a canonical form.
  return digestOf(toCanonicalJson(json).value()).text();
}

const TuningEntry* TuningEntries::find(std::string_view signature) const {
  const auto at = std::ranges::lower_bound(entries, signature, {}, &TuningEntry::signature);
  return at != entries.end() && at->signature == signature ? &*at : nullptr;
}

Json TuningEntries::toJson() const {
  Json list = Json::array();
  for (const TuningEntry& entry : entries) list.push_back(entryJson(entry));
  return {
      {"apiVersion", "kiln/v1"}, {"kind", "TuningEntries"}, {"target", target}, {"entries", std::move(list)}};
}

Result<TuningEntries> TuningEntries::fromJson(const Json& json) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "tuning"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "TuningEntries"));
  TuningEntries out;
  KILN_ASSIGN(out.target, reader.string("target"));
  KILN_ASSIGN(const Json* entries, reader.array("entries"));
  if (entries->size() > kMaxPlannedKernels) return badMember(reader.path("entries"), "more than 65536");
  for (const Json& one : *entries) {
    const std::string place = reader.path("entries") + "[" + std::to_string(out.entries.size()) + "]";
    KILN_ASSIGN(ObjectReader member, ObjectReader::open(one, place));
    TuningEntry entry;
    KILN_ASSIGN(entry.signature, readHash(member, "signature"));
    KILN_ASSIGN(entry.templateName, readTemplate(member));
    KILN_ASSIGN(entry.schedule, readSchedule(member, "schedule"));
    KILN_TRY(member.finish());
    if (!out.entries.empty() && entry.signature <= out.entries.back().signature)
      return badMember(place + ".signature", "must come after the signature before it");
    out.entries.push_back(std::move(entry));
  }
  KILN_TRY(reader.finish());
  return out;
}

Status checkEntries(const TuningEntries& entries, const KernelPlan& plan) {
  if (entries.target != plan.target)
    return bad("the tuning entries are for " + printable(entries.target, 100) + ", the program is for " +
               plan.target);
  for (const TuningEntry& entry : entries.entries) {
    const PlannedKernel* kernel = plan.find(entry.signature);
    if (!kernel)
      return bad("tuning entry " + entry.signature +
                 ": the program has no such kernel; kiln-cc plan lists those it has");
    if (kernel->templateName != entry.templateName)
      return bad("tuning entry " + entry.signature + " is of template " + entry.templateName +
                 ", the kernel of " + kernel->templateName);
    if (const Status good = checkKnobs(entry.schedule, *kernel); !good)
      return fail(good.error().in("tuning entry"));
  }
  return {};
}

}  // namespace kiln
