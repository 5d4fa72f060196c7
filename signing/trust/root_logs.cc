#include "signing/trust/root_logs.h"

#include <algorithm>

#include "manifest/base/printable.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kRawKey = 32;  // at the end of an Ed25519 SubjectPublicKeyInfo

VerifierKey verifierKey(const std::string& name, NoteKeyKind kind, const std::string& spki) {
  // The root was parsed: these are Ed25519 keys.
  return {name, kind, *Ed25519PublicKey::fromRaw(std::string_view(spki).substr(spki.size() - kRawKey))};
}

bool isSignedBy(const Note& note, const VerifierKey& key) {
  return std::ranges::any_of(note.signatures, [&](const NoteSignature& one) {
    return one.name == key.name && one.hint == key.hint();
  });
}

}  // namespace

RootLogs::RootLogs(const TrustRoot& root) {
  for (const TrustedLog& log : root.logs) {
    keys_.push_back(verifierKey(log.origin, NoteKeyKind::kEd25519, log.spki));
    logs_.push_back({keys_.back().id(), log.validFrom, log.validUntil});
  }
  for (const TrustedWitness& witness : root.witnesses)
    witnesses_.push_back(verifierKey(witness.name, NoteKeyKind::kCosignature, witness.spki));
}

bool RootLogs::isValid(std::string_view logId, TimePoint at) const {
  const auto log = std::ranges::find(logs_, logId, &Validity::id);
  return log != logs_.end() && log->from <= at && at < log->until;
}

Result<RootLogs::Seen> RootLogs::open(std::string_view text, TimePoint named) const {
  KILN_ASSIGN(const Note note, parseNote(text));
  KILN_ASSIGN(std::vector<Cosigned> cosigned, readCosignatures(note, witnesses_));
  bool known = false;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (!isSignedBy(note, keys_[i])) continue;
    KILN_ASSIGN(Checkpoint checkpoint, openCheckpoint(note, keys_[i]));
    known = true;
    const TimePoint seen = cosigned.empty() ? std::max(named, logs_[i].from) : cosigned.front().time;
    if (isValid(logs_[i].id, seen)) return Seen{std::move(checkpoint), std::move(cosigned)};
  }
  const std::string origin = printable(note.text.substr(0, note.text.find('\n')));
  return fail(Error{Code::kPermissionDenied,
                    "checkpoint of " + origin +
                        (known ? ": its key was not valid then, says the trust root"
                               : ": of a log that the trust root does not list"),
                    R"({"exitCode":5})"});
}

}  // namespace kiln::signing
