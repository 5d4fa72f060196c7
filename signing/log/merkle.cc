#include "signing/log/merkle.h"

#include <algorithm>
#include <bit>
#include <string>

#include "manifest/base/digest.h"

namespace kiln::signing {
namespace {

// The largest power of two below n, n > 1.
std::uint64_t splitOf(std::uint64_t n) {
  return std::bit_floor(n - 1);
}

// The root of leaves [begin, begin + count), where begin is a multiple of the power of two at or above count.
Result<TreeHash> rangeRoot(TreeHashes& hashes, std::uint64_t begin, std::uint64_t count) {
  if (std::has_single_bit(count)) {
    int level = std::countr_zero(count);
    return hashes.hash(level, begin >> level);
  }
  std::uint64_t left = splitOf(count);
  KILN_ASSIGN(TreeHash first, rangeRoot(hashes, begin, left));
  KILN_ASSIGN(TreeHash second, rangeRoot(hashes, begin + left, count - left));
  return nodeHash(first, second);
}

Status addPath(TreeHashes& hashes, std::uint64_t index, std::uint64_t begin, std::uint64_t count,
               std::vector<TreeHash>& proof) {
  if (count == 1) return {};
  std::uint64_t left = splitOf(count);
  bool inLeft = index < left;
  if (inLeft)
    KILN_TRY(addPath(hashes, index, begin, left, proof));
  else
    KILN_TRY(addPath(hashes, index - left, begin + left, count - left, proof));
  KILN_ASSIGN(TreeHash sibling,
              inLeft ? rangeRoot(hashes, begin + left, count - left) : rangeRoot(hashes, begin, left));
  proof.push_back(sibling);
  return {};
}

// SUBPROOF of RFC 6962 section 2.1.2; `known`: the verifier has the root of [begin, begin + from).
Status addSubproof(TreeHashes& hashes, std::uint64_t from, std::uint64_t begin, std::uint64_t count,
                   bool known, std::vector<TreeHash>& proof) {
  if (from == count) {
    if (known) return {};
    KILN_ASSIGN(TreeHash root, rangeRoot(hashes, begin, count));
    proof.push_back(root);
    return {};
  }
  std::uint64_t left = splitOf(count);
  bool inLeft = from <= left;
  if (inLeft)
    KILN_TRY(addSubproof(hashes, from, begin, left, known, proof));
  else
    KILN_TRY(addSubproof(hashes, from - left, begin + left, count - left, false, proof));
  KILN_ASSIGN(TreeHash sibling,
              inLeft ? rangeRoot(hashes, begin + left, count - left) : rangeRoot(hashes, begin, left));
  proof.push_back(sibling);
  return {};
}

tl::unexpected<Error> wrong(const char* what) {
  return fail(Code::kDataLoss, what);
}

}  // namespace

TreeHash emptyTreeHash() {
  return digestOf(std::string_view()).hash;
}

TreeHash leafHash(std::string_view leaf) {
  std::string bytes(1, '\0');
  bytes += leaf;
  return digestOf(bytes).hash;
}

TreeHash nodeHash(const TreeHash& left, const TreeHash& right) {
  std::array<std::uint8_t, 65> bytes{1};
  std::copy(left.begin(), left.end(), bytes.begin() + 1);
  std::copy(right.begin(), right.end(), bytes.begin() + 33);
  return digestOf(Bytes(bytes)).hash;
}

Result<TreeHash> treeRoot(TreeHashes& hashes, std::uint64_t size) {
  if (size == 0) return emptyTreeHash();
  return rangeRoot(hashes, 0, size);
}

Result<std::vector<TreeHash>> inclusionProof(TreeHashes& hashes, std::uint64_t index, std::uint64_t size) {
  if (index >= size)
    return fail(Code::kInvalidArgument,
                "leaf " + std::to_string(index) + " is not in a tree of " + std::to_string(size) + " leaves");
  std::vector<TreeHash> proof;
  KILN_TRY(addPath(hashes, index, 0, size, proof));
  return proof;
}

Result<std::vector<TreeHash>> consistencyProof(TreeHashes& hashes, std::uint64_t from, std::uint64_t to) {
  if (from > to)
    return fail(Code::kInvalidArgument,
                "a tree of " + std::to_string(to) + " leaves does not begin with " + std::to_string(from));
  std::vector<TreeHash> proof;
  if (from == 0 || from == to) return proof;
  KILN_TRY(addSubproof(hashes, from, 0, to, true, proof));
  return proof;
}

void GrowingRoot::add(const TreeHash& leaf) {
  std::pair<int, TreeHash> last{0, leaf};
  for (; !full_.empty() && full_.back().first == last.first; full_.pop_back())
    last = {last.first + 1, nodeHash(full_.back().second, last.second)};
  full_.push_back(last);
}

TreeHash GrowingRoot::root() const {
  if (full_.empty()) return emptyTreeHash();
  TreeHash hash = full_.back().second;
  for (auto left = full_.rbegin() + 1; left != full_.rend(); ++left) hash = nodeHash(left->second, hash);
  return hash;
}

Status verifyInclusion(std::uint64_t index, std::uint64_t size, const TreeHash& leaf,
                       std::span<const TreeHash> proof, const TreeHash& root) {
  if (index >= size) return wrong("inclusion proof: the leaf is behind the end of the tree");
  std::uint64_t at = index, last = size - 1;
  TreeHash hash = leaf;
  for (const TreeHash& sibling : proof) {
    if (last == 0) return wrong("inclusion proof: too many hashes");
    if ((at & 1) || at == last) {
      hash = nodeHash(sibling, hash);
      while (!(at & 1) && at != 0) at >>= 1, last >>= 1;
    } else {
      hash = nodeHash(hash, sibling);
    }
    at >>= 1, last >>= 1;
  }
  if (last != 0) return wrong("inclusion proof: hashes are missing");
  if (hash != root) return wrong("inclusion proof: the leaf is not at this place of this tree");
  return {};
}

Status verifyConsistency(std::uint64_t from, std::uint64_t to, const TreeHash& fromRoot,
                         const TreeHash& toRoot, std::span<const TreeHash> proof) {
  if (from > to) return wrong("consistency proof: the tree has become smaller");
  if (from == 0 || from == to) {
    if (!proof.empty()) return wrong("consistency proof: too many hashes");
    if (from == 0 && fromRoot != emptyTreeHash())
      return wrong("consistency proof: an empty tree has another root");
    if (from == to && fromRoot != toRoot) return wrong("consistency proof: two different trees of one size");
    return {};
  }
  // A power of two is a node of the later tree; the verifier has its root.
  const bool whole = std::has_single_bit(from);
  if (!whole && proof.empty()) return wrong("consistency proof: hashes are missing");
  std::uint64_t at = from - 1, last = to - 1;
  while (at & 1) at >>= 1, last >>= 1;
  TreeHash before = whole ? fromRoot : proof.front(), after = before;
  for (const TreeHash& hash : proof.subspan(whole ? 0 : 1)) {
    if (last == 0) return wrong("consistency proof: too many hashes");
    if ((at & 1) || at == last) {
      before = nodeHash(hash, before);
      after = nodeHash(hash, after);
      while (!(at & 1) && at != 0) at >>= 1, last >>= 1;
    } else {
      after = nodeHash(after, hash);
    }
    at >>= 1, last >>= 1;
  }
  if (last != 0) return wrong("consistency proof: hashes are missing");
  if (before != fromRoot || after != toRoot)
    return wrong("consistency proof: the later tree does not begin with the earlier one");
  return {};
}

}  // namespace kiln::signing
