// The parts of toolchains: components of their trees, and the inputs that their locks name.
#pragma once

#include <string>
#include <vector>

#include "storage/index/mention/part.h"
#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// Parts that are known already stay as they are.
Status insertParts(postgres::Connection& connection, const std::string& instance,
                   const Digest& toolchainDigest, const std::vector<PartRecord>& parts);
// By kind, name and path.
Result<std::vector<PartRecord>> listParts(postgres::Connection& connection, const std::string& instance,
                                          const Digest& toolchainDigest);

// The trees that have a part: of this digest ("sha256:<hex>"), of this name and version ("ptxas@13.0.88"), or
// of this name in any version. At most `limit` and one more.
Result<std::vector<Digest>> treesWithPart(postgres::Connection& connection, const std::string& instance,
                                          const std::string& part, int limit);

// "ptxas" and "ptxas@13.0.88" for each part that a toolchain here has; at most 10,000.
Result<std::vector<std::string>> partNames(postgres::Connection& connection, const std::string& instance);

// Toolchains whose lock's parts are not there, from before they were kept.
Result<std::vector<ToolchainRecord>> listUnreadLocks(postgres::Connection& connection);

}  // namespace kiln::index
