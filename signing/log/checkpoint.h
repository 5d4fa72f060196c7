// Checkpoints: what a log says it holds. Source: C2SP tlog-checkpoint.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "signing/log/merkle.h"
#include "signing/log/verifier_key.h"

namespace kiln::signing {

struct Checkpoint {
  std::string origin;
  std::uint64_t size = 0;
  TreeHash root{};

  // "origin\nsize\nbase64(root)\n"
  std::string text() const;
  // Reads a note's text; extension lines are allowed and not kept. kInvalidArgument if it is malformed, or
  // the tree is empty and the root is not the empty tree's.
  static Result<Checkpoint> parse(std::string_view text);
  bool operator==(const Checkpoint&) const = default;
};

// The note, signed under the checkpoint's origin.
Result<Note> signCheckpoint(const Checkpoint& checkpoint, const Ed25519PrivateKey& key);

// The checkpoint in a note. kDataLoss unless the log signed it; kInvalidArgument if it is malformed or its
// origin is not the log's name.
Result<Checkpoint> openCheckpoint(const Note& note, const VerifierKey& log);
// The same of logs that may have several keys, as a log has whose key changed: one of those with the
// checkpoint's origin for a name signed it. Its other signatures prove nothing.
Result<Checkpoint> openCheckpoint(const Note& note, std::span<const VerifierKey> logs);

}  // namespace kiln::signing
