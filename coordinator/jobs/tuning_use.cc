#include "coordinator/jobs/tuning_use.h"

#include <set>

#include "manifest/base/printable.h"

namespace kiln::jobs {
namespace {

// What the kernels say that they are made by.
std::set<std::string> namedBy(const Json& stages) {
  std::set<std::string> named;
  const auto schedule = stages.find("schedule");
  if (schedule == stages.end() || !schedule->is_object()) return named;
  const auto kernels = schedule->find("kernels");
  if (kernels == schedule->end() || !kernels->is_array()) return named;
  for (const Json& kernel : *kernels)
    if (const auto tuned = kernel.is_object() ? kernel.find("tuned") : kernel.end(); tuned != kernel.end())
      named.insert(tuned->is_string() ? tuned->get<std::string>() : tuned->dump());
  return named;
}

}  // namespace

Status checkTuningUse(const Manifest& manifest, const TuningEntries& entries) {
  std::set<std::string> named = namedBy(manifest.stages);
  for (const TuningEntry& entry : entries.entries) {
    const std::string digest = entryDigest(entries.target, entry);
    if (named.erase(digest) == 0)
      return fail(Code::kDataLoss, "no kernel of the manifest is made by tuning entry " + digest +
                                       " (of kernel " + entry.signature + "), which the compile was given");
  }
  if (named.empty()) return {};
  return fail(Code::kDataLoss, "a kernel of the manifest names tuning entry " +
                                   printable(*named.begin(), 100) + ", which the compile was not given");
}

}  // namespace kiln::jobs
