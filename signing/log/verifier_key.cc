#include "signing/log/verifier_key.h"

#include <algorithm>

#include "signing/keys/files.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxFileBytes = 1024;

tl::unexpected<Error> malformed(const char* what) {
  return fail(Code::kInvalidArgument, std::string("verifier key: ") + what);
}

std::string typedKey(const VerifierKey& key) {
  return static_cast<char>(key.kind) + key.key.raw();
}

}  // namespace

std::string VerifierKey::id() const {
  const auto hash = digestOf(name + "\n" + typedKey(*this)).hash;
  return {hash.begin(), hash.end()};
}

KeyHint VerifierKey::hint() const {
  KeyHint out;
  std::copy_n(id().begin(), out.size(), out.begin());
  return out;
}

std::string VerifierKey::text() const {
  return name + "+" + toHex(hint()) + "+" + toBase64(asBytes(typedKey(*this)));
}

Result<VerifierKey> VerifierKey::parse(std::string_view text) {
  const auto first = text.find('+');
  const auto second = first == text.npos ? text.npos : text.find('+', first + 1);
  if (second == text.npos) return malformed("must be name+hint+key");
  const std::string_view name = text.substr(0, first), encoded = text.substr(second + 1);
  if (!isKeyName(name)) return malformed("its name is not well formed");
  auto bytes = fromBase64(encoded);
  if (!bytes) return malformed("its key is not base64 with padding");
  if (bytes->empty() || ((*bytes)[0] != 0x01 && (*bytes)[0] != 0x04))
    return malformed("neither an Ed25519 key (1) nor a cosigner's (4)");
  auto key = Ed25519PublicKey::fromRaw(bytes->substr(1));
  if (!key) return fail(key.error().in("verifier key"));
  VerifierKey out{std::string(name), static_cast<NoteKeyKind>((*bytes)[0]), *key};
  if (out.text() != text) return malformed("its hint is not that of its key");
  return out;
}

Result<VerifierKey> loadVerifierKey(const std::string& path) {
  KILN_ASSIGN(std::string text, readTrustFile(path, kMaxFileBytes));
  if (text.ends_with('\n')) text.pop_back();
  auto key = VerifierKey::parse(text);
  if (!key) return fail(key.error().in(path));
  return key;
}

Status verifyNote(const Note& note, const VerifierKey& key) {
  bool signedByKey = false;
  for (const NoteSignature& one : note.signatures) {
    if (one.name != key.name || one.hint != key.hint()) continue;
    KILN_TRY(key.key.verify(asBytes(note.text), asBytes(one.signature)));
    signedByKey = true;
  }
  if (!signedByKey) return fail(Code::kDataLoss, "signed note: not signed by " + key.name);
  return {};
}

Result<NoteSignature> signNote(std::string_view text, const std::string& name, const Ed25519PrivateKey& key) {
  KILN_ASSIGN(std::string signature, key.sign(asBytes(text)));
  return NoteSignature{name, VerifierKey{name, NoteKeyKind::kEd25519, key.publicKey()}.hint(),
                       std::move(signature)};
}

}  // namespace kiln::signing
