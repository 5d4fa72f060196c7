// Making and changing trust roots: what `kiln trust` does to one, without reading or writing files.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "signing/trust/signed_root.h"

namespace kiln::cli {

// The version after `root`, which lasts until `expires`.
signing::TrustRoot successorOf(const signing::TrustRoot& root, TimePoint expires);

enum class KeyRole { kSigner, kRoot, kRecall, kLog, kWitness };
// "signer", "root", "recall", "log", "witness".
Result<KeyRole> parseKeyRole(const std::string& text);

struct NewKey {
  KeyRole role = KeyRole::kSigner;
  std::string spki;  // DER
  std::string id;    // of a signer the builder or author, of a log its origin, of a witness its name
  TimePoint validFrom, validUntil;  // of signers and logs
};
// kAlreadyExists for a key that has the role, kInvalidArgument for one of another kind or a missing id.
Status addKey(signing::TrustRoot& root, const NewKey& key);

// Puts `key` beside the keys of the signer `key.id` and lets those end at `oldUntil`: until then both sign.
// kInvalidArgument without an id, kNotFound if nobody has it.
Status rotateSigner(signing::TrustRoot& root, const NewKey& key, TimePoint oldUntil);
// Puts `key` in the place of `oldKeyId` among the root keys or the recall keys. kNotFound if it is not there.
Status replaceKey(signing::TrustRoot& root, const NewKey& key, const std::string& oldKeyId);

// Adds a revocation, or has one begin earlier. kAlreadyExists if it began before; kNotFound if no key has
// this id, or for a log that the root does not list, naming those that it does.
Status revokeKey(signing::TrustRoot& root, signing::Revocation revocation);

}  // namespace kiln::cli
