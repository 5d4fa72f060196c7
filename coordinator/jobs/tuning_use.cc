#include "coordinator/jobs/tuning_use.h"

#include <set>

#include "manifest/base/printable.h"

namespace kiln::jobs {
namespace {

// What the kernels say that they are made by.
std::set<std::string> namedBy(const Json& stages, const char* member) {
  std::set<std::string> named;
  const auto schedule = stages.find("schedule");
  if (schedule == stages.end() || !schedule->is_object()) return named;
  const auto kernels = schedule->find("kernels");
  if (kernels == schedule->end() || !kernels->is_array()) return named;
  for (const Json& kernel : *kernels)
    if (const auto entry = kernel.is_object() ? kernel.find(member) : kernel.end(); entry != kernel.end())
      named.insert(entry->is_string() ? entry->get<std::string>() : entry->dump());
  return named;
}

}  // namespace

Status checkTuningUse(const Manifest& manifest, const TuningEntries* entries) {
  std::set<std::string> named = namedBy(manifest.stages, "tuned");
  if (entries) {
    for (const TuningEntry& entry : entries->entries) {
      const std::string digest = entryDigest(entries->target, entry);
      if (named.erase(digest) == 0)
        return fail(Code::kDataLoss, "no kernel of the manifest is made by tuning entry " + digest +
                                         " (of kernel " + entry.signature + "), which the compile was given");
    }
    if (const auto catalogued = namedBy(manifest.stages, "catalogue"); !catalogued.empty())
      return fail(Code::kDataLoss,
                  "a kernel of the manifest names entry " + printable(*catalogued.begin(), 100) +
                      " of the toolchain's catalogue, although the compile was given entries");
  }
  if (named.empty()) return {};
  return fail(Code::kDataLoss, "a kernel of the manifest names tuning entry " +
                                   printable(*named.begin(), 100) + ", which the compile was not given");
}

}  // namespace kiln::jobs
