#include "signing/sequencer/reconcile.h"

#include <algorithm>

#include "signing/log/leaf.h"

namespace kiln::signing {
namespace {

using index::LogState;
using postgres::Connection;

constexpr std::uint64_t kChunk = 4096;  // leaves at a time

struct Signed {
  Checkpoint checkpoint;
  std::string note;
};

tl::unexpected<Error> refused(const std::string& what, const char* next) {
  return fail(Code::kDataLoss, "the log's tiles: " + what + "; nothing is appended. " + next);
}

Result<Signed> open(const std::string& text, std::span<const VerifierKey> keys) {
  auto note = parseNote(text);
  const auto checkpoint = note ? openCheckpoint(*note, keys) : Result<Checkpoint>(fail(note.error()));
  if (!checkpoint)
    return refused("the checkpoint there is not this log's: " + checkpoint.error().message,
                   "Use the log's own key and directory; after a change of keys, name the old one with "
                   "--earlier-key");
  return Signed{*checkpoint, text};
}

// The largest checkpoint in the directory, staged ones included: their tiles are there.
Result<Signed> newest(TileWriter& tiles, std::span<const VerifierKey> keys) {
  Signed out{{keys.front().name, 0, emptyTreeHash()}, ""};
  auto published = tiles.checkpoint();
  if (!published && published.error().code != Code::kNotFound) return fail(published.error());
  if (published) {
    KILN_ASSIGN(out, open(*published, keys));
  }
  if (auto staged = tiles.staged()) {
    KILN_ASSIGN(Signed next, open(*staged, keys));
    if (next.checkpoint.size > out.checkpoint.size) out = std::move(next);
  }
  return out;
}

// The tree of the tiles, if its root is that of the checkpoint.
Status check(TileTree& tree, const Checkpoint& checkpoint) {
  auto root = treeRoot(tree, checkpoint.size);
  if (root && *root == checkpoint.root) return {};
  return refused(root ? "they do not lead to the root of their checkpoint" : root.error().message,
                 "Restore the directory, or move it away: it is written again from the database");
}

// The root of the database's first `size` leaves, whether or not a checkpoint of theirs was published.
Result<TreeHash> rootInDatabase(Connection& connection, std::uint64_t size) {
  KILN_ASSIGN(auto published, index::checkpointRoot(connection, size));
  if (published) return *published;
  GrowingRoot root;
  for (std::uint64_t at = 0; at < size; at += kChunk) {
    KILN_ASSIGN(auto leaves, index::readLeaves(connection, at, std::min(size, at + kChunk)));
    for (const std::string& leaf : leaves) root.add(leafHash(leaf));
  }
  return root.root();
}

// Whether the smaller of the two is the beginning of the larger.
Result<bool> agree(Connection& connection, TileTree& tree, const Checkpoint& onDisk, const LogState& state) {
  if (onDisk.size < state.size) {
    KILN_ASSIGN(const TreeHash root, rootInDatabase(connection, onDisk.size));
    return root == onDisk.root;
  }
  KILN_ASSIGN(TreeHash root, treeRoot(tree, state.size));
  return root == state.root;
}

// Gives the rows of the entries their places again; the next append covers them.
Status adopt(Connection& connection, TileWriter& tiles, TileTree& tree, std::uint64_t from, TimePoint now) {
  KILN_ASSIGN(auto leaves, readEntries(tiles, tree.size(), from, tree.size()));
  std::vector<index::AdoptedLeaf> adopted;
  for (std::string& text : leaves) {
    const std::uint64_t index = from + adopted.size();
    KILN_ASSIGN(TreeHash hash, tree.hash(0, index));
    auto leaf = Leaf::parse(text);
    if (hash != leafHash(text) || !leaf)
      return refused("entry " + std::to_string(index) + " is damaged", "Restore the directory");
    adopted.push_back({Digest{leaf->digest, 0}, {index, std::move(text)}});
  }
  return connection.transact([&](Connection& c) { return index::adoptLeaves(c, adopted, now); });
}

Status writeAgain(Connection& connection, TileWriter& tiles, std::uint64_t from, const LogState& state) {
  for (std::uint64_t at = from; at < state.size;) {
    const std::uint64_t end = std::min(state.size, at + kChunk);
    KILN_ASSIGN(auto leaves, index::readLeaves(connection, at, end));
    KILN_ASSIGN(TileMap grown, grow(tiles, at, leaves));
    KILN_TRY(tiles.write(grown));
    at = end;
  }
  TileTree tree(tiles, state.size);
  KILN_ASSIGN(TreeHash root, treeRoot(tree, state.size));
  if (root == state.root) return {};
  return refused("the database's leaves do not lead to the root of its checkpoint",
                 "Restore the database and the directory from one backup");
}

}  // namespace

Status reconcile(Connection& connection, TileWriter& tiles, std::span<const VerifierKey> keys,
                 const LogState& state, TimePoint now) {
  KILN_ASSIGN(Signed onDisk, newest(tiles, keys));
  TileTree tree(tiles, onDisk.checkpoint.size);
  KILN_TRY(check(tree, onDisk.checkpoint));
  KILN_ASSIGN(bool oneHistory, agree(connection, tree, onDisk.checkpoint, state));
  if (!oneHistory)
    return refused("they and the database tell two histories", "Keep both and find out which is the log's");
  if (onDisk.checkpoint.size < state.size)
    KILN_TRY(writeAgain(connection, tiles, onDisk.checkpoint.size, state));
  if (onDisk.checkpoint.size > state.size) return adopt(connection, tiles, tree, state.size, now);
  auto published = tiles.checkpoint();
  return published && *published == state.checkpoint ? Status{} : tiles.publish(state.checkpoint);
}

}  // namespace kiln::signing
