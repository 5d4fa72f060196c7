// A log in memory that two witnesses cosign, for bundles with entries.
#pragma once

#include "signing/bundle/bundle.h"
#include "signing/log/checkpoint.h"
#include "signing/log/cosignature.h"
#include "signing/log/leaf.h"
#include "signing/log/tiles.h"
#include "signing/trust/trust_root.h"
#include "tests/signing/log/memory_tiles.h"

namespace kiln::testing_support {

// Names log.example, witness.example and second.example.
class WitnessedLog {
 public:
  void trust(signing::TrustRoot& root) const {
    root.logs = {{"log.example", key_.publicKey().der(), root.keys[0].validFrom, root.expires}};
    root.witnesses = {{"witness.example", witness_.publicKey().der()},
                      {"second.example", second_.publicKey().der()}};
  }
  // The bundle with its entry, which is the log's next; seen by the witnesses at these times, if at all.
  std::string add(const std::string& text, const signing::PublicKey& signer, std::optional<TimePoint> seen,
                  std::optional<TimePoint> seenBySecond = std::nullopt) {
    using namespace signing;
    const Bundle bundle = parseBundle(text).value();
    leaves_.push_back(leafOf(bundle.envelope, signer)->text());
    MemoryTiles tiles;
    tiles.put(grow(tiles, 0, leaves_).value());
    TileTree tree(tiles, leaves_.size());
    const TreeHash root = treeRoot(tree, leaves_.size()).value();
    Note note = signCheckpoint({"log.example", leaves_.size(), root}, key_).value();
    if (seen) note.signatures.push_back(cosign(note, "witness.example", witness_, *seen).value());
    if (seenBySecond)
      note.signatures.push_back(cosign(note, "second.example", second_, *seenBySecond).value());
    const VerifierKey log{"log.example", NoteKeyKind::kEd25519, key_.publicKey()};
    const std::size_t index = leaves_.size() - 1;
    const LogEntry entry{log.id(),
                         index,
                         leaves_.size(),
                         root,
                         inclusionProof(tree, index, leaves_.size()).value(),
                         note.toString(),
                         leaves_.back()};
    return makeBundle(bundle.envelope, signer, entry).value();
  }

 private:
  const signing::Ed25519PrivateKey key_ = signing::Ed25519PrivateKey::create().value();
  const signing::Ed25519PrivateKey witness_ = signing::Ed25519PrivateKey::create().value(),
                                   second_ = signing::Ed25519PrivateKey::create().value();
  std::vector<std::string> leaves_;
};

}  // namespace kiln::testing_support
