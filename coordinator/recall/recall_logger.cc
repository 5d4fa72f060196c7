#include "coordinator/recall/recall_logger.h"

#include <algorithm>

#include "signing/log/leaf.h"
#include "storage/index/log/log_repository.h"

namespace kiln::service {
namespace {

constexpr char kWholeFarm[] = "";  // recalls are of no instance

// The checkpoint that the issuers name, if it is of this log: of the same origin.
Result<std::optional<signing::Checkpoint>> named(const signing::Recalls& recalls, const std::string& origin) {
  if (recalls.checkpoint.empty()) return std::optional<signing::Checkpoint>();
  KILN_ASSIGN(const signing::Note note, signing::parseNote(recalls.checkpoint));
  KILN_ASSIGN(signing::Checkpoint checkpoint, signing::Checkpoint::parse(note.text));
  if (checkpoint.origin != origin) return std::optional<signing::Checkpoint>();
  return std::optional(std::move(checkpoint));
}

Result<std::string> originOf(const std::string& checkpoint) {
  KILN_ASSIGN(const signing::Note note, signing::parseNote(checkpoint));
  KILN_ASSIGN(const signing::Checkpoint read, signing::Checkpoint::parse(note.text));
  return read.origin;
}

Result<signing::RecallLog::Entry> entryOf(const index::SignatureRecord& row) {
  KILN_ASSIGN(const signing::Leaf leaf, signing::Leaf::parse(row.leaf));
  KILN_ASSIGN(const signing::PublicKey key, signing::PublicKey::fromDer(leaf.spki));
  return signing::RecallLog::Entry{row.inclusion->index, key.id(), leaf.signature, {}};
}

}  // namespace

Status RecallLogger::takeIn(const signing::Recalls& recalls, const signing::RecallKeys& keys) {
  KILN_ASSIGN(auto connection, database_.acquire());
  for (const signing::RecallEntry& entry : recalls.entries) {
    KILN_ASSIGN(const signing::RecallLeaf leaf, signing::leafOfRecall(entry.envelope, keys.issuers.keys));
    const Digest digest{signing::logDigest(entry.envelope.payloadType, entry.envelope.payload), 0};
    KILN_TRY(index::addSignature(*connection,
                                 {kWholeFarm, digest, entry.envelope.payload, leaf.text, clock_.now()}));
  }
  return {};
}

Result<std::optional<std::string>> RecallLogger::prove(const signing::Recalls& recalls) {
  const std::optional<std::string> notYet;
  KILN_ASSIGN(auto connection, database_.acquire());
  signing::RecallLog log;
  std::uint64_t size = 0;
  for (const signing::RecallEntry& entry : recalls.entries) {
    const Digest digest{signing::logDigest(entry.envelope.payloadType, entry.envelope.payload), 0};
    KILN_ASSIGN(const auto row, index::findSignature(*connection, digest));
    if (!row || !row->inclusion) return notYet;
    KILN_ASSIGN(signing::RecallLog::Entry logEntry, entryOf(*row));
    log.entries.push_back(std::move(logEntry));
    size = std::max(size, row->inclusion->treeSize);
  }
  KILN_ASSIGN(const auto newest, index::newestCheckpoint(*connection));
  if (!newest) return notYet;
  KILN_ASSIGN(const std::string origin, originOf(newest->note));
  KILN_ASSIGN(const auto seen, named(recalls, origin));
  if (seen) {
    signing::TileTree tree(*tiles_, seen->size);
    const auto root =
        seen->size > newest->size ? fail(Code::kNotFound, "") : signing::treeRoot(tree, seen->size);
    if (!root || *root != seen->root)
      return fail(Code::kDataLoss, "recalls.json names a checkpoint of " + std::to_string(seen->size) +
                                       " entries that this farm's log does not have");
    size = std::max(size, seen->size);
  }
  if (newest->size < size) return notYet;
  signing::TileTree tree(*tiles_, newest->size);
  KILN_ASSIGN(const signing::TreeHash root, signing::treeRoot(tree, newest->size));
  if (root != newest->root)
    return fail(Code::kDataLoss,
                "the log's tiles do not lead to the database's checkpoint; kiln-log reconciles "
                "them when it starts");
  for (signing::RecallLog::Entry& entry : log.entries) {
    KILN_ASSIGN(entry.proof, signing::inclusionProof(tree, entry.index, newest->size));
  }
  log.checkpoint = newest->note;
  KILN_ASSIGN(std::string text, signing::Recalls::prove(recalls.text, log));
  return std::optional(std::move(text));
}

Result<std::optional<std::string>> RecallLogger::loggedAlready(const signing::Recalls& recalls,
                                                               const signing::RecallKeys& keys) {
  KILN_TRY(takeIn(recalls, keys));
  return prove(recalls);
}

Result<std::string> RecallLogger::logged(const signing::Recalls& recalls, const signing::RecallKeys& keys) {
  KILN_TRY(takeIn(recalls, keys));
  return growth_.await(timeout_, [&] { return prove(recalls); });
}

Result<std::string> RecallLogger::checkpoint() {
  KILN_ASSIGN(auto connection, database_.acquire());
  KILN_ASSIGN(const auto newest, index::newestCheckpoint(*connection));
  return newest ? newest->note : std::string();
}

}  // namespace kiln::service
