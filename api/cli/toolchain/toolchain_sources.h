// The sources of a toolchain, as `kiln toolchain` shows and saves them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/cli/base/context.h"
#include "manifest/json/json.h"
#include "manifest/statement/toolchain_admission.h"
#include "manifest/toolchain/lock.h"

namespace kiln::cli {

struct ToolchainSources {
  std::string why;  // it is not rebuildable from source; empty if it is
  std::vector<LockedInput> lacking;
  std::optional<ToolchainAdmission> admission;  // verified, where a trust root is named

  bool rebuildable() const { return why.empty(); }
};

// Fails if the farm does not answer, or the admission does not hold under the trust root.
Result<ToolchainSources> findSources(const Context& context, client::Client& client,
                                     const v1::Toolchain& toolchain);

// lock, admission, admitted, rebuildable, lacking.
void addSources(Json& json, const v1::Toolchain& toolchain, const ToolchainSources& sources);
void printSources(const v1::Toolchain& toolchain, const ToolchainSources& sources);

struct SaveLockOptions {
  std::string name;    // a label or sha256:<hex>
  std::string inputs;  // a folder; empty: the lock alone
  std::string out;     // a new file; empty: stdout
};
// kNotFound naming what the farm lacks, once everything that it has is written.
Status saveLock(const Context& context, const SaveLockOptions& options);

}  // namespace kiln::cli
