#include "manifest/tuning/decided.h"

#include "manifest/tuning/schedule_json.h"

namespace kiln {

Result<std::vector<DecidedKernel>> decidedBy(const TuningRecord& record) {
  std::vector<DecidedKernel> out;
  if (record.device.kind == "emulated") return out;
  for (const TunedKernel& kernel : record.kernels) {
    const TuningChoice choice = choose(kernel);
    DecidedKernel row{kernel.signature, ""};
    if (choice.reason == TuningChoice::Reason::kFaster) {
      const TuningEntry entry{kernel.signature, kernel.templateName,
                              kernel.candidates[choice.candidate].schedule};
      KILN_ASSIGN(row.entry, toCanonicalJson(rowOf(entry)));
    } else if (choice.reason != TuningChoice::Reason::kDefaultBest) {
      continue;
    }
    out.push_back(std::move(row));
  }
  return out;
}

Json rowOf(const TuningEntry& entry) {
  return {{"template", entry.templateName}, {"schedule", scheduleJson(entry.schedule)}};
}

Result<TuningEntry> entryFromRow(const std::string& signature, const Json& row) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(row, "tuning entry"));
  TuningEntry entry;
  entry.signature = signature;
  KILN_ASSIGN(entry.templateName, readTemplate(reader));
  KILN_ASSIGN(entry.schedule, readSchedule(reader, "schedule"));
  KILN_TRY(reader.finish());
  return entry;
}

}  // namespace kiln
