#include "signing/bundle/log_entry.h"

#include <algorithm>

#include "manifest/json/reader.h"

namespace kiln::signing {
namespace {

using Hash = std::array<std::uint8_t, 32>;

constexpr std::size_t kMaxProof = 64;
constexpr std::size_t kMaxCheckpointBytes = 64 << 10;
constexpr std::size_t kMaxLeafBytes = 64 << 10;

Result<std::string> fromText(const std::string& text, const std::string& place) {
  auto bytes = fromBase64(text);
  if (!bytes) return badMember(place, "must be base64 with padding");
  return bytes;
}

Result<std::string> readBytes(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(std::string text, reader.string(name));
  return fromText(text, reader.path(name));
}

Result<Hash> toHash(const std::string& text, const std::string& place) {
  KILN_ASSIGN(std::string bytes, fromText(text, place));
  Hash out;
  if (bytes.size() != out.size()) return badMember(place, "must be a SHA-256");
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

Result<std::uint64_t> readNumber(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(std::string text, reader.string(name));
  auto number = parseDecimal(text);
  if (!number || *number > INT64_MAX) return badMember(reader.path(name), "must be a decimal int64");
  return *number;
}

Status readProof(ObjectReader& reader, LogEntry& entry) {
  KILN_ASSIGN(std::uint64_t index, readNumber(reader, "logIndex"));
  if (index != entry.index) return badMember(reader.path("logIndex"), "is not the entry's logIndex");
  KILN_ASSIGN(entry.treeSize, readNumber(reader, "treeSize"));
  KILN_ASSIGN(std::string root, reader.string("rootHash"));
  KILN_ASSIGN(entry.root, toHash(root, reader.path("rootHash")));
  if (reader.has("hashes")) {  // an empty list may be left out
    KILN_ASSIGN(std::vector<std::string> hashes, reader.strings("hashes"));
    if (hashes.size() > kMaxProof) return badMember(reader.path("hashes"), "must be at most 64 hashes");
    for (const std::string& text : hashes) {
      KILN_ASSIGN(Hash hash, toHash(text, reader.path("hashes")));
      entry.proof.push_back(hash);
    }
  }
  KILN_ASSIGN(ObjectReader checkpoint, reader.object("checkpoint"));
  KILN_ASSIGN(entry.checkpoint, checkpoint.string("envelope"));
  if (entry.checkpoint.size() > kMaxCheckpointBytes)
    return badMember(checkpoint.path("envelope"), "must be at most 64 KiB");
  KILN_TRY(checkpoint.finish());
  return reader.finish();
}

}  // namespace

Json LogEntry::toJson() const {
  Json hashes = Json::array();
  for (const Hash& hash : proof) hashes.push_back(toBase64(hash));
  return {{"logIndex", std::to_string(index)},
          {"logId", {{"keyId", toBase64(asBytes(logId))}}},
          {"kindVersion", {{"kind", "hashedrekord"}, {"version", "0.0.2"}}},
          {"inclusionProof",
           {{"logIndex", std::to_string(index)},
            {"rootHash", toBase64(root)},
            {"treeSize", std::to_string(treeSize)},
            {"hashes", std::move(hashes)},
            {"checkpoint", {{"envelope", checkpoint}}}}},
          {"canonicalizedBody", toBase64(asBytes(leaf))}};
}

Result<LogEntry> readLogEntry(const Json& json, const std::string& place) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
  LogEntry entry;
  KILN_ASSIGN(entry.index, readNumber(reader, "logIndex"));
  KILN_ASSIGN(ObjectReader logId, reader.object("logId"));
  KILN_ASSIGN(entry.logId, readBytes(logId, "keyId"));
  if (entry.logId.size() != 32) return badMember(logId.path("keyId"), "must have 32 bytes");
  KILN_TRY(logId.finish());
  KILN_ASSIGN(ObjectReader kind, reader.object("kindVersion"));
  KILN_TRY(kind.expect("kind", "hashedrekord"));
  KILN_TRY(kind.expect("version", "0.0.2"));
  KILN_TRY(kind.finish());
  KILN_ASSIGN(ObjectReader proof, reader.object("inclusionProof"));
  KILN_TRY(readProof(proof, entry));
  KILN_ASSIGN(entry.leaf, readBytes(reader, "canonicalizedBody"));
  if (entry.leaf.size() > kMaxLeafBytes)
    return badMember(reader.path("canonicalizedBody"), "must be at most 64 KiB");
  KILN_TRY(reader.finish());
  return entry;
}

}  // namespace kiln::signing
