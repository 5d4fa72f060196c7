// A log in memory that grows, signs, and can be made to lie.
#pragma once

#include "signing/follow/log_source.h"
#include "signing/log/checkpoint.h"
#include "signing/log/tiles.h"
#include "signing/trust/trust_root.h"
#include "tests/signing/log/memory_tiles.h"

namespace kiln::testing_support {

class GrowingLog final : public signing::LogSource {
 public:
  void trust(signing::TrustRoot& root) const {
    root.logs = {{"log.example", key_.publicKey().der(), root.keys[0].validFrom, root.expires}};
  }
  void grow(std::size_t entries, const std::string& what = "entry") {
    for (std::size_t i = 0; i < entries; ++i) leaves_.push_back(what + " " + std::to_string(leaves_.size()));
    tiles_.put(signing::grow(tiles_, size_, std::span(leaves_).subspan(size_)).value());
    size_ = leaves_.size();
    signing::TileTree tree(tiles_, size_);
    note_ = signing::signCheckpoint({"log.example", size_, signing::treeRoot(tree, size_).value()}, key_)
                .value()
                .toString();
  }
  // Another history under the same key.
  void forget(std::size_t keep) {
    leaves_.resize(keep);
    tiles_ = {};
    size_ = 0;
    grow(0);
  }
  std::uint64_t size() const { return size_; }
  const std::string& note() const { return note_; }
  void show(std::string note) { note_ = std::move(note); }
  void damage(const std::string& path) {
    std::string& bytes = tiles_.tiles.at(signing::TilePath::parse(path).value());
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  }

  const std::string& where() const override { return where_; }
  Result<std::string> read(const signing::TilePath& path) override {
    ++reads;
    return tiles_.read(path);
  }
  Result<std::string> checkpoint() override { return note_; }

  int reads = 0;

 private:
  const signing::Ed25519PrivateKey key_ = signing::Ed25519PrivateKey::create().value();
  const std::string where_ = "https://log.example";
  MemoryTiles tiles_;
  std::vector<std::string> leaves_;
  std::uint64_t size_ = 0;
  std::string note_;
};

}  // namespace kiln::testing_support
