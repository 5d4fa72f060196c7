// One artifact of the index against its own bytes and all statements about it.
#pragma once

#include "api/audit/toolchain_audit.h"

namespace kiln::audit {

// Adds to `statements` how many were read. Errors are of the farm being asked.
Status auditArtifact(const Audit& audit, IndexSource& source, const v1::IndexedArtifact& row,
                     const KnownToolchains& toolchains, int pageSize, std::uint64_t& statements);

}  // namespace kiln::audit
