#include "coordinator/audit/logged_view.h"

#include <limits>
#include <set>

#include "coordinator/view/page_token.h"
#include "manifest/statement/vsa.h"
#include "signing/bundle/bundle.h"
#include "signing/log/leaf.h"
#include "signing/recall/recalls.h"
#include "storage/index/audit/audit_repository.h"
#include "storage/index/log/log_repository.h"
#include "storage/tree/digest_proto.h"

namespace kiln::service {
namespace {

using postgres::Connection;

constexpr std::size_t kMaxBytes = 1u << 20;  // of statements and leaves in one answer

std::string bytesOf(const std::array<std::uint8_t, 32>& hash) {
  return {hash.begin(), hash.end()};
}

// Whether a signature belongs to the other instance that its row names: the statement is in that instance's
// index, or in none because it is a recall, or a verdict that a later one of the same instance replaced.
Result<bool> isKept(Connection& connection, const index::LoggedRecord& entry) {
  if (entry.kept) return true;
  if (!entry.payload || !entry.whole) return false;
  KILN_ASSIGN(const auto payload, index::findSignedPayload(connection, *entry.payload));
  if (!payload) return false;
  if (signing::logDigest(signing::kRecallPayload, *payload) == entry.logDigest.hash) return true;
  const auto statement = parseStatement(*payload);
  if (!statement || statement->predicateType != kVsaType || statement->subjects.size() != 1) return false;
  return index::hasLaterVerdict(connection, entry.instance, {statement->subjects[0].sha256, 0}, entry.place);
}

Result<v1::LoggedEntry> view(Connection& connection, const std::string& instance,
                             const index::LoggedRecord& entry) {
  v1::LoggedEntry out;
  out.set_place(entry.place);
  out.set_leaf(entry.leaf);
  out.set_log_digest(bytesOf(entry.logDigest.hash));
  out.set_tree_size(entry.treeSize.value_or(0));
  out.set_proof(entry.proof);
  if (!entry.whole) out.add_inconsistent("payload");
  if (entry.payload && entry.instance != instance) {
    KILN_ASSIGN(const bool kept, isKept(connection, entry));
    if (entry.table.empty()) {
      // One that no index has is lost, whoever's it is said to be; nothing is told of its statement here.
      out.set_foreign(kept);
      return out;
    }
    if (!kept) out.add_inconsistent("instance");  // the statement is here, and not where the row says
  }
  if (!entry.payload) return out;
  out.set_payload(entry.payload->text());
  out.set_table(entry.table);
  if (!entry.table.empty()) {
    *out.mutable_bundle() = kiln::toProto(entry.bundle);
    return out;
  }
  KILN_ASSIGN(auto payload, index::findSignedPayload(connection, *entry.payload));
  if (payload) out.set_statement(std::move(*payload));
  return out;
}

Status addCheckpoints(Connection& connection, v1::ListLoggedResponse& out) {
  std::set<std::uint64_t> sizes;
  for (const v1::LoggedEntry& entry : out.entries())
    if (entry.tree_size() > 0) sizes.insert(entry.tree_size());
  KILN_ASSIGN(const auto checkpoints, index::checkpointsOf(connection, {sizes.begin(), sizes.end()}));
  for (const index::LogCheckpoint& checkpoint : checkpoints) {
    v1::LoggedCheckpoint& added = *out.add_checkpoints();
    added.set_size(checkpoint.size);
    added.set_root(bytesOf(checkpoint.root));
    added.set_note(checkpoint.note);
  }
  KILN_ASSIGN(const auto log, index::findLog(connection));
  if (log) {
    out.set_origin(log->origin);
    out.set_size(log->size);
  }
  return {};
}

}  // namespace

Result<v1::ListLoggedResponse> listLogged(Connection& connection, const v1::ListLoggedRequest& request) {
  KILN_ASSIGN(const int limit, pageSize(request.page_size()));
  if (request.from() > std::numeric_limits<std::int64_t>::max())
    return fail(Code::kInvalidArgument, "from: is no place in a log");
  KILN_ASSIGN(const auto found, index::listLogged(connection, request.instance(), {request.from(), limit},
                                                  {signing::kInTotoPayload, signing::kRecallPayload}));
  v1::ListLoggedResponse out;
  out.set_complete(true);
  out.set_last(found.size() < static_cast<std::size_t>(limit));
  std::size_t bytes = 0;
  for (const index::LoggedRecord& entry : found) {
    KILN_ASSIGN(v1::LoggedEntry added, view(connection, request.instance(), entry));
    bytes += added.statement().size() + added.leaf().size() + added.proof().size();
    if (bytes > kMaxBytes && out.entries_size() > 0) {
      out.set_last(false);
      break;
    }
    *out.add_entries() = std::move(added);
  }
  KILN_TRY(addCheckpoints(connection, out));
  return out;
}

}  // namespace kiln::service
