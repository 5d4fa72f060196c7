#include "signing/log/cosignature.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace kiln::signing {
namespace {

constexpr std::size_t kTimeBytes = 8;
constexpr std::size_t kCosignatureBytes = kTimeBytes + 64;

std::string messageOf(const Note& note, std::uint64_t seconds) {
  return "cosignature/v1\ntime " + std::to_string(seconds) + "\n" + note.text;
}

Result<Cosigned> readOne(const Note& note, const NoteSignature& signature, const VerifierKey& witness) {
  const auto wrong = [&](const std::string& what) {
    return fail(Code::kDataLoss, "cosignature of " + witness.name + ": " + what);
  };
  if (signature.signature.size() != kCosignatureBytes) return wrong("must have 72 bytes");
  std::uint64_t seconds = 0;
  for (std::size_t i = 0; i < kTimeBytes; ++i)
    seconds = seconds << 8 | static_cast<std::uint8_t>(signature.signature[i]);
  constexpr std::uint64_t kLastSecond = 253402300799;  // of the year 9999
  if (seconds > kLastSecond) return wrong("its time is behind the year 9999");
  if (!witness.key.verify(asBytes(messageOf(note, seconds)),
                          asBytes(signature.signature).subspan(kTimeBytes)))
    return wrong("was not made by its key");
  return Cosigned{witness.name, TimePoint(std::chrono::seconds(seconds))};
}

}  // namespace

Result<NoteSignature> cosign(const Note& note, const std::string& witness, const Ed25519PrivateKey& key,
                             TimePoint time) {
  const auto seconds =
      static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count());
  KILN_ASSIGN(std::string signature, key.sign(asBytes(messageOf(note, seconds))));
  std::string bytes;
  for (std::size_t i = 0; i < kTimeBytes; ++i)
    bytes += static_cast<char>(seconds >> (8 * (kTimeBytes - 1 - i)));
  return NoteSignature{witness, VerifierKey{witness, NoteKeyKind::kCosignature, key.publicKey()}.hint(),
                       bytes + signature};
}

Result<std::vector<Cosigned>> readCosignatures(const Note& note, std::span<const VerifierKey> witnesses) {
  std::vector<Cosigned> out;
  for (const VerifierKey& witness : witnesses) {
    if (witness.kind != NoteKeyKind::kCosignature) continue;
    std::optional<Cosigned> first;
    for (const NoteSignature& signature : note.signatures) {
      if (signature.name != witness.name || signature.hint != witness.hint()) continue;
      KILN_ASSIGN(Cosigned one, readOne(note, signature, witness));
      if (!first || one.time < first->time) first = one;
    }
    const bool counted =
        std::any_of(out.begin(), out.end(), [&](const Cosigned& one) { return one.witness == witness.name; });
    if (first && !counted) out.push_back(*first);
  }
  std::sort(out.begin(), out.end(), [](const Cosigned& a, const Cosigned& b) {
    return std::tie(a.time, a.witness) < std::tie(b.time, b.witness);
  });
  return out;
}

}  // namespace kiln::signing
