#include "signing/sigstore/rekor_entry.h"

#include <algorithm>

#include "manifest/json/reader.h"
#include "signing/log/note.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxHashes = 64, kMaxBodyBytes = 12u << 20;

tl::unexpected<Error> refused(const std::string& why) {
  return fail(Code::kDataLoss, "log entry: " + why);
}

Result<std::string> readBytes(ObjectReader& reader, const char* name) {
  KILN_ASSIGN(const std::string text, reader.string(name));
  auto bytes = fromBase64(text);
  if (!bytes) return badMember(reader.path(name), "must be base64 with padding");
  return bytes;
}

Result<TreeHash> hashFrom(const std::string& text, const std::string& place) {
  const auto bytes = fromBase64(text);
  TreeHash out;
  if (!bytes || bytes->size() != out.size()) return badMember(place, "must be a SHA-256 in base64");
  std::ranges::copy(*bytes, out.begin());
  return out;
}

Result<std::uint64_t> readNumber(ObjectReader& reader, const char* name) {
  KILN_ASSIGN(const std::uint64_t number, reader.unsigned64(name));
  if (number > static_cast<std::uint64_t>(kMaxJsonInteger))
    return badMember(reader.path(name), "must be at most 2^53-1");
  return number;
}

// In this form of JSON a member may be null where it is left out.
bool states(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && !found->is_null();
}

Result<RekorProof> readProof(ObjectReader& reader) {
  RekorProof out;
  if (reader.has("logIndex")) {  // 0 may be left out, as numbers and lists may in this form
    KILN_ASSIGN(out.index, readNumber(reader, "logIndex"));
  }
  KILN_ASSIGN(out.size, readNumber(reader, "treeSize"));
  KILN_ASSIGN(const std::string root, reader.string("rootHash"));
  KILN_ASSIGN(out.root, hashFrom(root, reader.path("rootHash")));
  if (reader.has("hashes")) {
    KILN_ASSIGN(const std::vector<std::string> hashes, reader.strings("hashes"));
    if (hashes.size() > kMaxHashes) return badMember(reader.path("hashes"), "must be at most 64 hashes");
    for (const std::string& text : hashes) {
      KILN_ASSIGN(const TreeHash hash, hashFrom(text, reader.path("hashes")));
      out.hashes.push_back(hash);
    }
  }
  KILN_ASSIGN(ObjectReader checkpoint, reader.object("checkpoint"));
  KILN_ASSIGN(out.checkpoint, checkpoint.string("envelope"));
  return out;
}

// The log signed the tree that the proof is of. Rekor's first version has origins with spaces, which
// Checkpoint refuses, so that the lines are read here.
Status checkCheckpoint(const RekorProof& proof, const KnownLog& log) {
  KILN_ASSIGN(const Note note, parseNote(proof.checkpoint));
  const auto byLog = [&](const NoteSignature& one) {
    return std::equal(one.hint.begin(), one.hint.end(),
                      reinterpret_cast<const std::uint8_t*>(log.id.data())) &&
           log.key->verifies(asBytes(note.text), asBytes(one.signature));
  };
  if (!std::ranges::any_of(note.signatures, byLog)) return refused("its log did not sign the checkpoint");
  const std::size_t origin = note.text.find('\n');
  const std::string wanted = "\n" + std::to_string(proof.size) + "\n" + toBase64(proof.root) + "\n";
  if (origin == 0 || origin == note.text.npos || note.text.compare(origin, wanted.size(), wanted) != 0)
    return refused("its checkpoint is of another tree");
  return {};
}

Status checkProof(const RekorEntry& entry, const KnownLog& log) {
  KILN_TRY(checkCheckpoint(*entry.proof, log));
  return verifyInclusion(entry.proof->index, entry.proof->size, leafHash(entry.body), entry.proof->hashes,
                         entry.proof->root);
}

Status checkPromise(const RekorEntry& entry, const KnownLog& log) {
  KILN_ASSIGN(const std::string said, toCanonicalJson({{"body", toBase64(asBytes(entry.body))},
                                                       {"integratedTime", entry.integrated},
                                                       {"logID", toHex(asBytes(entry.logId))},
                                                       {"logIndex", entry.index}}));
  if (log.key->verifies(asBytes(said), asBytes(entry.promise))) return {};
  return refused("its log did not sign the promise");
}

}  // namespace

Result<RekorEntry> readRekorEntry(const Json& json, const std::string& place) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
  RekorEntry out;
  KILN_ASSIGN(ObjectReader log, reader.object("logId"));
  KILN_ASSIGN(out.logId, readBytes(log, "keyId"));
  if (out.logId.size() != 32) return badMember(log.path("keyId"), "must have 32 bytes");
  KILN_ASSIGN(ObjectReader kind, reader.object("kindVersion"));
  KILN_ASSIGN(out.kind, kind.string("kind"));
  KILN_ASSIGN(out.version, kind.string("version"));
  if (reader.has("logIndex")) {
    KILN_ASSIGN(out.index, readNumber(reader, "logIndex"));
  }
  if (reader.has("integratedTime")) {
    KILN_ASSIGN(const std::uint64_t seconds, readNumber(reader, "integratedTime"));
    if (seconds > 253402300799)  // the year 9999
      return badMember(reader.path("integratedTime"), "must be before the year 10000");
    out.integrated = static_cast<std::int64_t>(seconds);
  }
  KILN_ASSIGN(out.body, readBytes(reader, "canonicalizedBody"));
  if (out.body.size() > kMaxBodyBytes) return badMember(reader.path("canonicalizedBody"), "is too long");
  if (states(json, "inclusionPromise")) {
    KILN_ASSIGN(ObjectReader promise, reader.object("inclusionPromise"));
    KILN_ASSIGN(out.promise, readBytes(promise, "signedEntryTimestamp"));
  }
  if (states(json, "inclusionProof")) {
    KILN_ASSIGN(ObjectReader proof, reader.object("inclusionProof"));
    KILN_ASSIGN(out.proof, readProof(proof));
  }
  return out;
}

Result<LoggedAt> checkRekorEntry(const RekorEntry& entry, std::span<const KnownLog> logs) {
  if (entry.promise.empty() && !entry.proof) return refused("it brings neither a promise nor a proof");
  std::string why = "no log that is believed has its id";
  for (const KnownLog& log : logs) {
    if (log.id != entry.logId || !log.key) continue;
    LoggedAt out{{}, log.validFor};
    Status good;
    if (entry.proof) good = checkProof(entry, log);
    if (good && !entry.promise.empty()) {
      good = checkPromise(entry, log);
      out.time = TimePoint(std::chrono::seconds(entry.integrated));
      if (good && !log.validFor.holds(*out.time)) good = refused("its log's key was not in use at its time");
    }
    if (good) return out;
    why = good.error().message;
  }
  return fail(Code::kDataLoss, why.starts_with("log entry: ") ? why : "log entry: " + why);
}

}  // namespace kiln::signing
