// Signatures and the log they go into: tables signatures, log, log_checkpoints. Digests here are SHA-256
// alone, their size is 0. Times come from the caller's clock.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

using LogHash = std::array<std::uint8_t, 32>;

// Where a signature stands in the log, under the first checkpoint that covers it.
struct LogInclusion {
  std::uint64_t index = 0;
  std::uint64_t treeSize = 0;
  LogHash root{};
  std::vector<LogHash> proof;
  std::string checkpoint;  // a signed note
};

struct SignatureRecord {
  std::string payload;  // empty for what only the log remembers
  std::string leaf;
  std::optional<LogInclusion> inclusion;  // none yet: no checkpoint covers it
};

struct NewSignature {
  std::string instance;
  Digest logDigest;  // of the DSSE pre-authentication encoding
  std::string payload;
  std::string leaf;
  TimePoint signedAt;
  std::string trace = {};  // a W3C traceparent that the log's span is part of; "" for none
};

// kDataLoss if the checkpoint that covers it is gone from the database.
Result<std::optional<SignatureRecord>> findSignature(postgres::Connection& connection,
                                                     const Digest& logDigest);
Result<std::optional<SignatureRecord>> findSignatureOfPayload(postgres::Connection& connection,
                                                              const Digest& payload);
// What was signed, by its digest, whatever became of the checkpoint that covers it.
Result<std::optional<std::string>> findSignedPayload(postgres::Connection& connection, const Digest& payload);
// The row of this payload: the new one, or the one that was there, which then learns the payload if it lacked
// it. Any number of signers may add the same at the same moment.
Result<SignatureRecord> addSignature(postgres::Connection& connection, const NewSignature& signature);

struct LogState {
  std::string origin;
  std::uint64_t epoch = 0;
  std::uint64_t size = 0;
  LogHash root{};
  std::string checkpoint;
};

struct LogCheckpoint {
  std::uint64_t size = 0;
  LogHash root{};
  std::string note;
};

// Opens a new epoch: every earlier sequencer's commits fail from now on. `empty` is the checkpoint that a new
// log begins with. kFailedPrecondition if the database holds a log of another origin.
Result<LogState> openLog(postgres::Connection& connection, const std::string& origin,
                         const LogCheckpoint& empty);

struct PlacedLeaf {
  std::uint64_t index = 0;
  std::string leaf;
  TimePoint signedAt = {};
  std::string trace = {};  // as it was taken in
};

// In a transaction. The leaves behind the log's size, in order: those that an earlier call placed and no
// commit has covered, else up to `limit` in order of intake, placed now. kFailedPrecondition if a later
// sequencer has opened the log.
Result<std::vector<PlacedLeaf>> placeLeaves(postgres::Connection& connection, std::uint64_t epoch,
                                            std::uint64_t limit);

// How many leaves behind the first `size` have their places.
Result<std::uint64_t> countPlaced(postgres::Connection& connection, std::uint64_t size);

// In a transaction. The log grows from `from` to the checkpoint's size; proofs[i] is that of leaf from + i.
// kFailedPrecondition if a later sequencer has opened the log or its size is not `from`.
Status commitCheckpoint(postgres::Connection& connection, std::uint64_t epoch, std::uint64_t from,
                        const LogCheckpoint& checkpoint, const std::vector<std::vector<LogHash>>& proofs);

struct AdoptedLeaf {
  Digest logDigest;
  PlacedLeaf placed;
};
// In a transaction. Rows for leaves that the log has and the database has lost. A row that is there and not
// logged takes the log's signature; kDataLoss if one stands elsewhere in the log.
Status adoptLeaves(postgres::Connection& connection, const std::vector<AdoptedLeaf>& leaves, TimePoint now);

// The root of the checkpoint of this size, if the log has published one.
Result<std::optional<LogHash>> checkpointRoot(postgres::Connection& connection, std::uint64_t size);

// Those of these sizes that are there, by size.
Result<std::vector<LogCheckpoint>> checkpointsOf(postgres::Connection& connection,
                                                 const std::vector<std::uint64_t>& sizes);
// The one row about the log, whether or not the checkpoint of its size is there; nothing before kiln-log has
// opened it.
struct LogRow {
  std::string origin;
  std::uint64_t size = 0;
};
Result<std::optional<LogRow>> findLog(postgres::Connection& connection);

// The newest published checkpoint; nothing before kiln-log has opened the log.
Result<std::optional<LogCheckpoint>> newestCheckpoint(postgres::Connection& connection);

// Leaves [begin, end) of the log. kDataLoss if one is missing.
Result<std::vector<std::string>> readLeaves(postgres::Connection& connection, std::uint64_t begin,
                                            std::uint64_t end);

}  // namespace kiln::index
