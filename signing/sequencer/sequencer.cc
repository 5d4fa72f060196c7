#include "signing/sequencer/sequencer.h"

#include "signing/sequencer/reconcile.h"

namespace kiln::signing {
namespace {

using postgres::Connection;

constexpr std::int64_t kLockKey = 0x6b6c6f67;  // "klog"; any number that every release uses

Status holdLock(Connection& connection) {
  KILN_ASSIGN(postgres::Rows rows,
              connection.execute("SELECT pg_try_advisory_lock($1::bigint) AS held", {kLockKey}));
  KILN_ASSIGN(auto held, rows.first([](const postgres::Row& row) { return row.get<bool>("held"); }));
  if (!held.value_or(false)) return fail(Code::kUnavailable, "another kiln-log sequences this log");
  return {};
}

Result<index::LogCheckpoint> emptyLog(const std::string& origin, const Ed25519PrivateKey& key) {
  KILN_ASSIGN(Note note, signCheckpoint({origin, 0, emptyTreeHash()}, key));
  return index::LogCheckpoint{0, emptyTreeHash(), note.toString()};
}

}  // namespace

Result<std::unique_ptr<Sequencer>> Sequencer::open(const SequencerSettings& settings,
                                                   const Ed25519PrivateKey& key, TileWriter& tiles,
                                                   const Clock& clock) {
  KILN_ASSIGN(Connection connection, Connection::open(settings.database));
  KILN_TRY(holdLock(connection));
  KILN_TRY(tiles.takeOver());
  KILN_ASSIGN(index::LogCheckpoint empty, emptyLog(settings.origin, key));
  KILN_ASSIGN(index::LogState state, index::openLog(connection, settings.origin, empty));
  std::vector<VerifierKey> keys{{settings.origin, NoteKeyKind::kEd25519, key.publicKey()}};
  keys.insert(keys.end(), settings.earlierKeys.begin(), settings.earlierKeys.end());
  KILN_TRY(reconcile(connection, tiles, keys, state, clock.now()));
  // A witness that has seen more ends it here, before anything new is signed. Leaves that have their places
  // already (from the tiles, or from an append that was cut off) may be what it saw: the next append asks it.
  KILN_ASSIGN(const std::uint64_t placed, index::countPlaced(connection, state.size));
  if (state.size > 0 && placed == 0) {
    KILN_ASSIGN(Note note, signCheckpoint({settings.origin, state.size, state.root}, key));
    TileTree tree(tiles, state.size);
    KILN_TRY(settings.witness(note, state.size, tree));
  }
  return std::unique_ptr<Sequencer>(
      new Sequencer(settings, key, tiles, std::move(connection), std::move(state)));
}

Result<std::uint64_t> Sequencer::append() {
  KILN_ASSIGN(auto placed, connection_.transact([&](Connection& c) {
    return index::placeLeaves(c, state_.epoch, settings_.batch);
  }));
  if (placed.empty()) return 0;
  settings_.reached(kPointPlaced);
  std::vector<std::string> leaves;
  Appended appended;
  for (index::PlacedLeaf& one : placed) {
    if (one.index != state_.size + leaves.size())
      return fail(Code::kDataLoss, "the database has a gap behind leaf " + std::to_string(state_.size));
    leaves.push_back(std::move(one.leaf));
    appended.signedAt.push_back(one.signedAt);
    appended.traces.push_back(std::move(one.trace));
  }

  KILN_ASSIGN(TileMap grown, grow(tiles_, state_.size, leaves));
  OverlaidTiles overlaid(grown, tiles_);
  TileTree tree(overlaid, state_.size + leaves.size());
  KILN_ASSIGN(TreeHash before, treeRoot(tree, state_.size));
  if (before != state_.root)
    return fail(Code::kDataLoss, "the tiles no longer lead to the last checkpoint; restart to reconcile");
  KILN_ASSIGN(TreeHash root, treeRoot(tree, tree.size()));
  std::vector<std::vector<TreeHash>> proofs;
  for (std::uint64_t index = state_.size; index < tree.size(); ++index) {
    KILN_ASSIGN(auto proof, inclusionProof(tree, index, tree.size()));
    proofs.push_back(std::move(proof));
  }
  KILN_TRY(tiles_.write(grown));
  settings_.reached(kPointTilesWritten);

  KILN_ASSIGN(Note note, signCheckpoint({settings_.origin, tree.size(), root}, key_));
  KILN_TRY(tiles_.stage(note.toString()));
  settings_.reached(kPointStaged);
  KILN_TRY(settings_.witness(note, state_.size, tree));

  const index::LogCheckpoint checkpoint{tree.size(), root, note.toString()};
  KILN_TRY(connection_.transact([&](Connection& c) {
    return index::commitCheckpoint(c, state_.epoch, state_.size, checkpoint, proofs);
  }));
  state_.size = checkpoint.size;
  state_.root = checkpoint.root;
  state_.checkpoint = checkpoint.note;
  settings_.reached(kPointCommitted);
  KILN_TRY(tiles_.publish(checkpoint.note));
  settings_.reached(kPointVisible);
  appended.size = state_.size;
  settings_.appended(appended);
  tiles_.prune(grown);
  return leaves.size();
}

}  // namespace kiln::signing
