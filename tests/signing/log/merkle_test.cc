// Leaves, roots and proofs of the tree that RFC 6962 implementations share; the values are those of
// transparency-dev/merkle's verify_test.go.
#include "signing/log/merkle.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "manifest/base/digest.h"

namespace kiln::signing {
namespace {

TreeHash hex(const char* text) {
  return Digest::parse(text, 0).value().hash;
}

const std::vector<std::string>& leaves() {
  static const std::vector<std::string> all{
      "",
      std::string(1, '\0'),
      "\x10",
      "\x20\x21",
      "\x30\x31",
      "\x40\x41\x42\x43",
      "\x50\x51\x52\x53\x54\x55\x56\x57",
      "\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f"};
  return all;
}

constexpr const char* kRoots[] = {"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                                  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                                  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                                  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                                  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                                  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                                  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                                  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};

struct Vector {
  std::uint64_t first, size;  // leaf index or earlier size; size of the tree
  std::vector<const char*> proof;
};

const Vector kInclusion[] = {
    {0,
     8,
     {"96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
      "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
      "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"}},
    {5,
     8,
     {"bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
      "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"}},
    {2, 3, {"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"}},
    {1,
     5,
     {"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
      "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
      "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"}},
};

const Vector kConsistency[] = {
    {1, 1, {}},
    {1,
     8,
     {"96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
      "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
      "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"}},
    {6,
     8,
     {"0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
      "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"}},
    {2,
     5,
     {"5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
      "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"}},
    {6,
     7,
     {"0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
      "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"}},
};

std::vector<TreeHash> hashes(const Vector& vector) {
  std::vector<TreeHash> out;
  for (const char* text : vector.proof) out.push_back(hex(text));
  return out;
}

// The definition of RFC 6962, word for word: slow, and independent of what is tested.
TreeHash naiveRoot(std::span<const std::string> part) {
  if (part.empty()) return emptyTreeHash();
  if (part.size() == 1) return leafHash(part[0]);
  std::size_t left = std::bit_floor(part.size() - 1);
  return nodeHash(naiveRoot(part.first(left)), naiveRoot(part.subspan(left)));
}

class NaiveHashes final : public TreeHashes {
 public:
  explicit NaiveHashes(std::span<const std::string> all) : all_(all) {}
  Result<TreeHash> hash(int level, std::uint64_t index) override {
    std::size_t width = std::size_t{1} << level, begin = static_cast<std::size_t>(index) * width;
    EXPECT_LE(begin + width, all_.size());
    return naiveRoot(all_.subspan(begin, width));
  }

 private:
  std::span<const std::string> all_;
};

TEST(Merkle, KnownRoots) {
  EXPECT_EQ(emptyTreeHash(), hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
  for (std::size_t size = 1; size <= 8; ++size) {
    NaiveHashes tree(std::span(leaves()).first(size));
    EXPECT_EQ(treeRoot(tree, size).value(), hex(kRoots[size - 1])) << size;
  }
}

TEST(Merkle, KnownInclusionProofsAndWhatMustNotPass) {
  for (const Vector& vector : kInclusion) {
    NaiveHashes tree{std::span(leaves())};
    const auto proof = hashes(vector);
    EXPECT_EQ(inclusionProof(tree, vector.first, vector.size).value(), proof);
    const TreeHash root = hex(kRoots[vector.size - 1]), leaf = leafHash(leaves()[vector.first]);
    const auto holds = [&](std::uint64_t index, std::uint64_t size, const TreeHash& ofLeaf,
                           const std::vector<TreeHash>& path, const TreeHash& ofRoot) {
      return verifyInclusion(index, size, ofLeaf, path, ofRoot).has_value();
    };
    EXPECT_TRUE(holds(vector.first, vector.size, leaf, proof, root));
    for (std::uint64_t other : {vector.first - 1, vector.first + 1, vector.first ^ 2})
      EXPECT_FALSE(holds(other, vector.size, leaf, proof, root));
    EXPECT_FALSE(holds(vector.first, vector.size * 2, leaf, proof, root));
    EXPECT_FALSE(holds(vector.first, vector.size / 2, leaf, proof, root));
    EXPECT_FALSE(holds(vector.first, vector.size, root, proof, root));
    EXPECT_FALSE(holds(vector.first, vector.size, leaf, proof, emptyTreeHash()));
    auto longer = proof;
    longer.push_back(root);
    EXPECT_FALSE(holds(vector.first, vector.size, leaf, longer, root));
    longer = proof;
    longer.insert(longer.begin(), root);
    EXPECT_FALSE(holds(vector.first, vector.size, leaf, longer, root));
    EXPECT_FALSE(holds(vector.first, vector.size, leaf, {proof.begin(), proof.end() - 1}, root));
    for (std::size_t i = 0; i < proof.size(); ++i) {
      auto changed = proof;
      changed[i][0] ^= 8;
      EXPECT_FALSE(holds(vector.first, vector.size, leaf, changed, root));
    }
  }
  EXPECT_TRUE(verifyInclusion(0, 1, leafHash("data"), {}, leafHash("data")));
  EXPECT_FALSE(verifyInclusion(0, 0, leafHash("data"), {}, leafHash("data")));
  EXPECT_FALSE(verifyInclusion(1, 1, leafHash("data"), {}, leafHash("data")));
}

TEST(Merkle, KnownConsistencyProofsAndWhatMustNotPass) {
  for (const Vector& vector : kConsistency) {
    NaiveHashes tree{std::span(leaves())};
    const auto proof = hashes(vector);
    EXPECT_EQ(consistencyProof(tree, vector.first, vector.size).value(), proof);
    const TreeHash from = hex(kRoots[vector.first - 1]), to = hex(kRoots[vector.size - 1]);
    EXPECT_TRUE(verifyConsistency(vector.first, vector.size, from, to, proof));
    if (proof.empty()) continue;
    for (std::uint64_t other : {vector.first - 1, vector.first + 1, vector.first ^ 2})
      EXPECT_FALSE(verifyConsistency(other, vector.size, from, to, proof));
    EXPECT_FALSE(verifyConsistency(vector.first, vector.size * 2, from, to, proof));
    EXPECT_FALSE(verifyConsistency(vector.first, vector.size / 2, from, to, proof));
    EXPECT_FALSE(verifyConsistency(vector.first, vector.size, leafHash("x"), to, proof));
    EXPECT_FALSE(verifyConsistency(vector.first, vector.size, from, leafHash("x"), proof));
    EXPECT_FALSE(verifyConsistency(vector.first, vector.size, to, from, proof));
    EXPECT_FALSE(verifyConsistency(vector.first, vector.size, from, to, {}));
    for (const TreeHash& garbage : {from, to, proof[0]}) {
      auto longer = proof;
      longer.insert(longer.begin(), garbage);
      EXPECT_FALSE(verifyConsistency(vector.first, vector.size, from, to, longer));
      longer = proof;
      longer.push_back(garbage);
      EXPECT_FALSE(verifyConsistency(vector.first, vector.size, from, to, longer));
    }
    EXPECT_FALSE(
        verifyConsistency(vector.first, vector.size, from, to, std::span(proof).first(proof.size() - 1)));
    for (std::size_t i = 0; i < proof.size(); ++i) {
      auto changed = proof;
      changed[i][0] ^= 16;
      EXPECT_FALSE(verifyConsistency(vector.first, vector.size, from, to, changed));
    }
  }
  const TreeHash one = hex(kRoots[0]), empty = emptyTreeHash();
  EXPECT_TRUE(verifyConsistency(0, 0, empty, empty, {}));
  EXPECT_TRUE(verifyConsistency(0, 1, empty, one, {}));
  EXPECT_FALSE(verifyConsistency(0, 1, one, one, {}));
  EXPECT_FALSE(verifyConsistency(1, 0, one, empty, {}));
  EXPECT_FALSE(verifyConsistency(1, 1, one, empty, {}));
  EXPECT_FALSE(verifyConsistency(1, 2, one, hex(kRoots[1]), {}));
  EXPECT_FALSE(verifyConsistency(1, 1, one, one, std::vector{empty}));
}

TEST(Merkle, EveryProofOfEverySmallTree) {
  std::vector<std::string> all;
  for (int i = 0; i < 40; ++i) all.push_back("leaf " + std::to_string(i));
  NaiveHashes tree{std::span<const std::string>(all)};
  for (std::size_t size = 1; size <= all.size(); ++size) {
    const TreeHash root = naiveRoot(std::span(all).first(size));
    for (std::size_t index = 0; index < size; ++index)
      EXPECT_TRUE(verifyInclusion(index, size, leafHash(all[index]),
                                  inclusionProof(tree, index, size).value(), root));
    for (std::size_t from = 0; from <= size; ++from)
      EXPECT_TRUE(verifyConsistency(from, size, naiveRoot(std::span(all).first(from)), root,
                                    consistencyProof(tree, from, size).value()));
  }
  EXPECT_FALSE(inclusionProof(tree, 5, 5));
  EXPECT_FALSE(consistencyProof(tree, 6, 5));
}

}  // namespace
}  // namespace kiln::signing
