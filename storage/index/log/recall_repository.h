// Versions of recalls.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "manifest/base/clock.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

struct RecallsRecord {
  std::uint64_t version = 0;
  std::string document;  // recalls.json
  std::string root;      // the file of the trust root that it was checked against
  TimePoint published;
};

// kAlreadyExists if that version is there.
Status addRecalls(postgres::Connection& connection, const RecallsRecord& recalls);
// The recalls of the highest version; nothing if there are none.
Result<std::optional<RecallsRecord>> newestRecalls(postgres::Connection& connection);

}  // namespace kiln::index
