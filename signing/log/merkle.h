// The Merkle tree of a log: hashes and proofs. Source: RFC 6962 section 2.1; the verifying algorithms are
// those of RFC 9162 sections 2.1.3.2 and 2.1.4.2.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::signing {

using TreeHash = std::array<std::uint8_t, 32>;

TreeHash emptyTreeHash();
TreeHash leafHash(std::string_view leaf);                        // SHA-256(0x00 || leaf)
TreeHash nodeHash(const TreeHash& left, const TreeHash& right);  // SHA-256(0x01 || left || right)

// Where the hashes of a tree come from.
class TreeHashes {
 public:
  virtual ~TreeHashes() = default;
  // The root of the full subtree of 2^level leaves that begins at leaf index * 2^level. Asked only for
  // subtrees of leaves that are there. kNotFound if it is missing all the same, kDataLoss if it is damaged.
  virtual Result<TreeHash> hash(int level, std::uint64_t index) = 0;
};

// The root of the tree of the first `size` leaves.
Result<TreeHash> treeRoot(TreeHashes& hashes, std::uint64_t size);
// kInvalidArgument unless index < size.
Result<std::vector<TreeHash>> inclusionProof(TreeHashes& hashes, std::uint64_t index, std::uint64_t size);
// kInvalidArgument unless from <= to. Empty if from is 0 or `to`.
Result<std::vector<TreeHash>> consistencyProof(TreeHashes& hashes, std::uint64_t from, std::uint64_t to);

// The root of leaves that come one after the other; keeps one hash per level. Not thread safe.
class GrowingRoot {
 public:
  void add(const TreeHash& leaf);
  TreeHash root() const;

 private:
  std::vector<std::pair<int, TreeHash>> full_;  // full subtrees by falling level, left to right
};

// kDataLoss unless `proof` shows that the tree of `size` leaves with this root holds `leaf` at `index`.
Status verifyInclusion(std::uint64_t index, std::uint64_t size, const TreeHash& leaf,
                       std::span<const TreeHash> proof, const TreeHash& root);
// kDataLoss unless `proof` shows that the tree `to` begins with the tree `from`. A tree of size 0 has the
// empty root and begins every tree.
Status verifyConsistency(std::uint64_t from, std::uint64_t to, const TreeHash& fromRoot,
                         const TreeHash& toRoot, std::span<const TreeHash> proof);

}  // namespace kiln::signing
