#include "signing/recall/recall_log.h"

#include <algorithm>
#include <array>

#include "manifest/json/reader.h"
#include "signing/log/leaf.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxProof = 64;
constexpr std::size_t kMaxCheckpointBytes = 64 << 10;
constexpr std::size_t kMaxSignature = 256;

Result<std::string> fromText(const std::string& text, const std::string& place) {
  auto bytes = fromBase64(text);
  if (!bytes) return badMember(place, "must be base64 with padding");
  return bytes;
}

Result<RecallLog::Entry> readEntry(const Json& json, const std::string& place) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
  RecallLog::Entry out;
  KILN_ASSIGN(out.index, reader.unsigned64("index"));
  KILN_ASSIGN(out.keyId, reader.string("keyid"));
  KILN_ASSIGN(const std::string signature, reader.string("sig"));
  KILN_ASSIGN(out.signature, fromText(signature, reader.path("sig")));
  if (out.signature.size() > kMaxSignature) return badMember(reader.path("sig"), "is no ECDSA signature");
  KILN_ASSIGN(const std::vector<std::string> hashes, reader.strings("hashes"));
  if (hashes.size() > kMaxProof) return badMember(reader.path("hashes"), "must be at most 64 hashes");
  for (const std::string& text : hashes) {
    KILN_ASSIGN(const std::string bytes, fromText(text, reader.path("hashes")));
    TreeHash hash;
    if (bytes.size() != hash.size()) return badMember(reader.path("hashes"), "must be SHA-256 hashes");
    std::copy(bytes.begin(), bytes.end(), hash.begin());
    out.proof.push_back(hash);
  }
  KILN_TRY(reader.finish());
  return out;
}

}  // namespace

Json RecallLog::toJson() const {
  Json list = Json::array();
  for (const Entry& entry : entries) {
    Json hashes = Json::array();
    for (const TreeHash& hash : entry.proof) hashes.push_back(toBase64(hash));
    list.push_back({{"index", std::to_string(entry.index)},
                    {"keyid", entry.keyId},
                    {"sig", toBase64(asBytes(entry.signature))},
                    {"hashes", std::move(hashes)}});
  }
  return {{"checkpoint", checkpoint}, {"entries", std::move(list)}};
}

Result<RecallLog> RecallLog::fromJson(const Json& json) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "recalls.log"));
  RecallLog out;
  KILN_ASSIGN(out.checkpoint, reader.string("checkpoint"));
  if (out.checkpoint.size() > kMaxCheckpointBytes)
    return badMember(reader.path("checkpoint"), "must be at most 64 KiB");
  KILN_ASSIGN(const Json* entries, reader.array("entries"));
  for (const Json& one : *entries) {
    KILN_ASSIGN(Entry entry,
                readEntry(one, reader.path("entries") + "[" + std::to_string(out.entries.size()) + "]"));
    out.entries.push_back(std::move(entry));
  }
  KILN_TRY(reader.finish());
  return out;
}

Result<RecallLeaf> leafOfRecall(const Envelope& recall, const std::vector<PublicKey>& keys) {
  for (const std::string& signature : recall.signatures) {
    const Envelope one{recall.payloadType, recall.payload, {signature}};
    const auto signers = verifyEnvelope(one, keys);
    if (!signers) continue;
    const auto key = std::ranges::find(keys, signers->front(), &PublicKey::id);
    KILN_ASSIGN(const Leaf leaf, leafOf(one, *key));
    return RecallLeaf{signers->front(), signature, leaf.text()};
  }
  return fail(Code::kDataLoss, "the recall is signed by none of the recall keys");
}

Status checkRecallLogged(const Envelope& recall, const RecallLog::Entry& entry, const Checkpoint& tree,
                         const std::vector<PublicKey>& keys) {
  const Envelope one{recall.payloadType, recall.payload, {entry.signature}};
  KILN_ASSIGN(const RecallLeaf leaf, leafOfRecall(one, keys));
  if (leaf.keyId != entry.keyId)
    return fail(Code::kDataLoss, "its leaf is signed by another key than it says");
  return verifyInclusion(entry.index, tree.size, leafHash(leaf.text), entry.proof, tree.root);
}

}  // namespace kiln::signing
