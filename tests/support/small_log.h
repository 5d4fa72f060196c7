// A log in memory with a key of its own, for tests of proofs.
#pragma once

#include <map>

#include "signing/log/checkpoint.h"
#include "signing/log/cosignature.h"
#include "signing/recall/recalls.h"

namespace kiln::testing_support {

class SmallLog final : public signing::TreeHashes {
 public:
  explicit SmallLog(std::string origin) : origin_(std::move(origin)) {}

  std::uint64_t add(const std::string& leaf) {
    leaves_.push_back(signing::leafHash(leaf));
    return leaves_.size() - 1;
  }
  std::uint64_t size() const { return leaves_.size(); }
  Result<signing::TreeHash> hash(int level, std::uint64_t index) override {
    if (level == 0) return leaves_.at(index);
    KILN_ASSIGN(const auto left, hash(level - 1, 2 * index));
    KILN_ASSIGN(const auto right, hash(level - 1, 2 * index + 1));
    return signing::nodeHash(left, right);
  }
  signing::Note checkpoint(std::uint64_t size) {
    return signing::signCheckpoint({origin_, size, signing::treeRoot(*this, size).value()}, key_).value();
  }
  signing::TrustedLog trusted(TimePoint from, TimePoint until) const {
    return {origin_, key_.publicKey().der(), from, until};
  }
  // The file of these recalls with the proofs of the log as it is, which takes in what it lacks.
  std::string prove(const std::string& text, const signing::TrustRoot& root) {
    const auto recalls = signing::Recalls::parse(text, root, signing::LogProofs::kIfAny).value();
    signing::RecallLog log;
    for (const signing::RecallEntry& entry : recalls.entries) {
      auto [at, isNew] = recalls_.try_emplace(entry.envelope.payload);
      if (isNew) {
        const auto leaf = signing::leafOfRecall(entry.envelope, root.recallKeys->issuers.keys).value();
        at->second = {add(leaf.text), leaf.keyId, leaf.signature, {}};
      }
      log.entries.push_back(at->second);
    }
    for (auto& entry : log.entries) entry.proof = signing::inclusionProof(*this, entry.index, size()).value();
    log.checkpoint = checkpoint(size()).toString();
    return signing::Recalls::prove(text, log).value();
  }

 private:
  const std::string origin_;
  const signing::Ed25519PrivateKey key_ = signing::Ed25519PrivateKey::create().value();
  std::vector<signing::TreeHash> leaves_;
  std::map<std::string, signing::RecallLog::Entry> recalls_;
};

}  // namespace kiln::testing_support
