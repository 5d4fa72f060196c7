// The mentions of statements as rows; and the statements whose mentions are not there yet.
#pragma once

#include <string>
#include <vector>

#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// The mentions of a stored statement, under the time of its row: its own, the content of its artifact's
// earlier provenances, and its signer. Again adds what provenances have said since.
Status insertMentions(postgres::Connection& connection, const std::string& instance,
                      const BundleRecord& bundle);

struct UnreadStatement {
  std::string instance;
  Digest artifact;
  BundleRecord bundle;
};
// Provenances first if `provenance`, else the others; after (instance, payload) of `after` if there is one.
Result<std::vector<UnreadStatement>> listUnread(postgres::Connection& connection, bool provenance,
                                                const UnreadStatement* after, int limit);
// How many of the instance are unread, counted to `limit`.
Result<std::uint64_t> countUnread(postgres::Connection& connection, const std::string& instance, int limit);

}  // namespace kiln::index
