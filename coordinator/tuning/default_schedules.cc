#include "coordinator/tuning/default_schedules.h"

#include <algorithm>

#include "coordinator/farm/blob_io.h"
#include "manifest/spec/target.h"
#include "manifest/toolchain/description.h"
#include "manifest/tuning/catalogue.h"

namespace kiln::service {

Status takeDefaultSchedules(storage::BlobStore& blobs, const index::ToolchainRecord& toolchain,
                            index::JobSnapshot& snapshot) {
  KILN_ASSIGN(const ToolchainDescription description, readToolchainDescription(toolchain.description));
  if (std::ranges::find(description.components, kCatalogueComponent, &ToolchainComponent::name) ==
      description.components.end())
    return {};
  for (index::TargetRecord& target : snapshot.targets) {
    KILN_ASSIGN(const Target parsed, parseTarget(target.target));
    KILN_ASSIGN(const std::string text, toCanonicalJson(TuningEntries{parsed.name, {}}.toJson()));
    target.tuning = digestOf(text);
    KILN_TRY(storage::putBlob(blobs, snapshot.job.key.instance, *target.tuning, asBytes(text)));
  }
  return {};
}

}  // namespace kiln::service
