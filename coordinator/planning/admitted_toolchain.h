// Toolchains by name, as they were admitted: a row that gives a label another tree is not believed.
#pragma once

#include <optional>
#include <string>

#include "coordinator/planning/admissions.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// The toolchain with this label or tree, or the default for "", if the signed admission of its label is about
// its tree. The admission must be by one that the farm's trust root lets speak for whom it names, or by this
// farm's key unless that root has revoked it; it is verified again when the root's file changes. kNotFound;
// kDataLoss (exit code 5) if the admission is about another tree, label or instance, or is signed by nobody
// who may; kFailedPrecondition if the label has none: it was added by a release that made none; kUnavailable
// while the root's file cannot be read, also for what was verified before.
Result<index::ToolchainRecord> admittedToolchain(const Admissions& admissions,
                                                 postgres::Connection& connection,
                                                 const std::string& instance, const std::string& name);

// Why the admission of `toolchain`, which has one, does not count by these rules; nothing if it does. An
// error if that cannot be judged now.
Result<std::optional<Error>> doubtOf(const Admissions& admissions, const index::ToolchainRecord& toolchain);

// Whether the admission of `toolchain`, which counts, says itself where it was given. One by an earlier
// release does not.
Result<bool> namesInstance(const Admissions& admissions, const index::ToolchainRecord& toolchain);

// kFailedPrecondition if the farm's trust root has revoked the key that would sign an admission now.
Status checkMayAdmit(const Admissions& admissions);

}  // namespace kiln::service
