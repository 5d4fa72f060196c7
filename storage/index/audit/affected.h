// Finds the statements that something has affected, by what they mention, page by page, newest first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/index/audit/affected_query.h"
#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// A statement that meets every condition, and the artifact that it is about.
struct AffectedRecord {
  Digest artifact;
  std::string target;
  BundleRecord statement;
};

struct AffectedPage {
  std::vector<AffectedRecord> entries;
  std::optional<Position> next;  // where to go on; nothing: that was all
};

// Looks at a bounded number of rows: where conditions rarely meet, a page may hold fewer than `limit`
// entries, or none, and still have a next one.
Result<AffectedPage> findAffected(postgres::Connection& connection, const AffectedQuery& query, int limit);

// Whether any statement mentions this.
Result<bool> isMentioned(postgres::Connection& connection, const std::string& instance,
                         const Mention& mention);

}  // namespace kiln::index
