// The names and public keys that notes are signed under. Source: C2SP signed-note ("vkey") and
// tlog-cosignature.
#pragma once

#include <string>
#include <string_view>

#include "signing/keys/ed25519.h"
#include "signing/log/note.h"

namespace kiln::signing {

enum class NoteKeyKind : std::uint8_t {
  kEd25519 = 0x01,      // signs the text: a log's checkpoints
  kCosignature = 0x04,  // signs text and time: a witness
};

struct VerifierKey {
  std::string name;  // of a log: its origin
  NoteKeyKind kind;
  Ed25519PublicKey key;

  // SHA-256(name || "\n" || kind || key), 32 bytes; of a log, also the logId.keyId in Sigstore bundles.
  std::string id() const;
  KeyHint hint() const;      // the first 4 bytes of it
  std::string text() const;  // "name+hint in hex+base64(kind || key)"

  // Reads text(). kInvalidArgument if it is malformed or the hint is not the key's.
  static Result<VerifierKey> parse(std::string_view text);
};

// Reads a .vkey file: text() and a newline. Errors name the path.
Result<VerifierKey> loadVerifierKey(const std::string& path);

// kDataLoss if the note has a signature with the key's name and hint that the key did not make, or none.
// For NoteKeyKind::kEd25519.
Status verifyNote(const Note& note, const VerifierKey& key);
Result<NoteSignature> signNote(std::string_view text, const std::string& name, const Ed25519PrivateKey& key);

}  // namespace kiln::signing
