// libFuzzer: signed notes, checkpoints, cosignatures and verifier keys from outside.
#include "signing/log/checkpoint.h"
#include "signing/log/cosignature.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kiln::signing;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)Checkpoint::parse(text);
  if (auto key = VerifierKey::parse(text); key && key->text() != text) __builtin_trap();
  static const VerifierKey witness{"w", NoteKeyKind::kCosignature, Ed25519PrivateKey::create()->publicKey()};
  if (auto note = parseNote(text)) {
    if (note->toString() != text) __builtin_trap();
    if (auto checkpoint = Checkpoint::parse(note->text); checkpoint && verifyNote(*note, witness))
      __builtin_trap();
    (void)readCosignatures(*note, std::span(&witness, 1));
  }
  return 0;
}
