#include "signing/recall/recalls.h"

#include <algorithm>
#include <array>
#include <map>

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "manifest/statement/members.h"
#include "signing/trust/root_logs.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxEntries = 4096;
constexpr std::size_t kMaxPayload = 9u << 19;

std::size_t signersOf(const Envelope& envelope, const RecallKeys& keys) {
  const auto signers = verifyEnvelope(envelope, keys.issuers.keys);
  return signers ? signers->size() : 0;
}

Status checkSigners(const Envelope& envelope, const RecallKeys& keys, int wanted, const std::string& what) {
  const std::size_t made = signersOf(envelope, keys);
  if (made >= static_cast<std::size_t>(wanted)) return {};
  return fail(Code::kDataLoss, what + ": signed by " + std::to_string(made) + " of the " +
                                   std::to_string(wanted) + " recall keys that it needs");
}

// With the signatures of those of `keys` added that have not signed yet.
Result<Envelope> withSignatures(Envelope envelope, std::span<const PrivateKey> keys) {
  for (const PrivateKey& key : keys) {
    if (verifyEnvelope(envelope, std::array{key.publicKey()})) continue;
    KILN_ASSIGN(Envelope one, signEnvelope(envelope.payloadType, envelope.payload, key));
    envelope.signatures.push_back(std::move(one.signatures.front()));
  }
  return envelope;
}

// The file: an envelope, and beside its members the proofs.
struct RecallsFile {
  Envelope envelope;
  std::optional<RecallLog> log;

  static Result<RecallsFile> parse(std::string_view text) {
    KILN_ASSIGN(Json json, parseStrictJson(text, {.bytes = kMaxRecallsBytes, .depth = 8}));
    RecallsFile out;
    if (json.is_object() && json.contains("log")) {
      KILN_ASSIGN(out.log, RecallLog::fromJson(json["log"]));
      json.erase("log");
    }
    KILN_ASSIGN(out.envelope, readEnvelope(json, kRecallsPayload));
    return out;
  }
};

// What the proofs prove of `recalls`, whose signatures hold.
Status checkLogs(Recalls& recalls, const RecallLog& log, const RootLogs& logs, const RecallKeys& keys) {
  if (log.entries.size() != recalls.entries.size())
    return badMember("recalls.log.entries", "must be as many as there are recalls");
  KILN_ASSIGN(RootLogs::Seen tree, logs.open(log.checkpoint, recalls.issuedOn));
  for (std::size_t i = 0; i < log.entries.size(); ++i) {
    const Status held =
        checkRecallLogged(recalls.entries[i].envelope, log.entries[i], tree.checkpoint, keys.issuers.keys);
    if (!held) return fail(held.error().in("recalls.log.entries[" + std::to_string(i) + "]"));
  }
  std::vector<RootLogs::Seen> seen{std::move(tree)};
  if (!recalls.checkpoint.empty()) {
    auto named = logs.open(recalls.checkpoint, recalls.issuedOn);
    if (!named) return fail(named.error().in("recalls.checkpoint"));
    seen.push_back(std::move(*named));
  }
  for (RootLogs::Seen& one : seen) {
    if (!one.cosigned.empty()) recalls.cosigned = std::max(recalls.cosigned, one.cosigned.front().time);
    recalls.seen.push_back(std::move(one.checkpoint));
  }
  const Checkpoint &covering = recalls.seen.front(), &named = recalls.seen.back();
  if (covering.origin == named.origin && covering.size < named.size)
    return fail(Code::kDataLoss,
                "recalls.log: its checkpoint is older than the one that the issuers had seen");
  recalls.logged = true;
  return recalls.continuesLogs(recalls);
}

// Reads one entry and holds it against those before it.
Status readEntry(const Json& json, const RecallKeys& keys, std::map<Digest, std::size_t>& known,
                 std::vector<RecallEntry>& out) {
  const std::string place = "recalls.entries[" + std::to_string(out.size()) + "]";
  RecallEntry entry;
  auto envelope = readEnvelope(json, kRecallPayload);
  if (!envelope) return fail(envelope.error().in(place));
  entry.envelope = std::move(*envelope);
  auto payload = parseCanonicalJson(entry.envelope.payload, {.bytes = kMaxPayload, .depth = 4});
  if (!payload) return fail(payload.error().in(place));
  auto recall = Recall::fromJson(*payload);
  if (!recall) return fail(recall.error().in(place));
  entry.recall = std::move(*recall);
  bool wide = isWideRecall(entry.recall, keys);
  if (entry.recall.kind == RecallKind::kLift) {
    const auto lifted = known.find(Digest{Digest::parse(entry.recall.what, 0)->hash, 0});
    if (lifted == known.end() || out[lifted->second].recall.kind == RecallKind::kLift)
      return badMember(place, "lifts no recall that comes before it");
    out[lifted->second].lifted = true;
    wide = isWideRecall(out[lifted->second].recall, keys);
  }
  KILN_TRY(checkSigners(entry.envelope, keys, wide ? keys.wideThreshold : keys.issuers.threshold, place));
  if (!known.emplace(Digest{entry.id().hash, 0}, out.size()).second)
    return badMember(place, "is there twice");
  out.push_back(std::move(entry));
  return {};
}

bool lists(const Recall& recall, const Digest& digest) {
  return std::ranges::binary_search(recall.listed, digest.hash, {}, &Digest::hash);
}

// By its place in a log that the recall names, whatever it says of its time; or by what it says, wherever it
// stands, so that a range that was found too short takes nothing out. One that says nothing is taken to be in
// the window. A recall that gives no times leaves it to the logs that it names.
bool inWindow(const Recall& recall, const StatementPlace& place) {
  const bool timeless = !recall.since && !recall.until;
  if (place.logged)
    for (const Recall::LogRange& range : recall.logs) {
      if (range.origin != place.logged->origin) continue;
      const bool inside = range.from <= place.logged->index && place.logged->index < range.to;
      if (inside || timeless) return inside;
    }
  if (!place.madeAt) return true;
  return (!recall.since || *place.madeAt >= *recall.since) &&
         (!recall.until || *place.madeAt < *recall.until);
}

// The URL itself, whatever commit and path in it: "git+https://host/repo" of "git+https://host/repo@c#p".
bool isFrom(const std::string& uri, const std::string& url) {
  return uri.starts_with(url) &&
         (uri.size() == url.size() || uri[url.size()] == '@' || uri[url.size()] == '#');
}

bool contains(std::span<const std::string> list, const std::string& what) {
  return std::ranges::find(list, what) != list.end();
}

}  // namespace

bool isWideRecall(const Recall& recall, const RecallKeys& keys) {
  return recall.whole || recall.listed.size() > static_cast<std::size_t>(keys.scope);
}

Result<Recalls> Recalls::parse(std::string_view text, const TrustRoot& root, LogProofs proofs) {
  if (!root.recallKeys)
    return fail(Code::kPermissionDenied,
                "the trust root lets nobody recall; kiln trust add-key --role recall");
  KILN_ASSIGN(RecallsFile file, RecallsFile::parse(text));
  const Envelope& envelope = file.envelope;
  KILN_TRY(checkSigners(envelope, *root.recallKeys, root.recallKeys->issuers.threshold, "recalls.json"));
  KILN_ASSIGN(const Json json, parseCanonicalJson(envelope.payload, {.bytes = kMaxPayload, .depth = 8}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "recalls"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "Recalls"));
  Recalls out;
  KILN_ASSIGN(const std::int64_t version, reader.integer("version", 1, kMaxJsonInteger));
  out.version = static_cast<std::uint64_t>(version);
  KILN_ASSIGN(out.issuedOn, readTimeMember(reader, "issuedOn"));
  KILN_ASSIGN(out.expires, readTimeMember(reader, "expires"));
  if (out.expires <= out.issuedOn) return badMember(reader.path("expires"), "must be after issuedOn");
  KILN_ASSIGN(out.checkpoint, reader.string("checkpoint"));
  KILN_ASSIGN(const Json* entries, reader.array("entries"));
  if (entries->size() > kMaxEntries)
    return badMember(reader.path("entries"), "must hold at most 4096 recalls");
  std::map<Digest, std::size_t> known;
  for (const Json& entry : *entries) KILN_TRY(readEntry(entry, *root.recallKeys, known, out.entries));
  KILN_TRY(reader.finish());
  out.text = text;
  out.payload = std::move(file.envelope.payload);
  const RootLogs logs(root);
  if (!logs.empty() && file.log) {
    const Status proven = checkLogs(out, *file.log, logs, *root.recallKeys);
    // The root may have ended or dropped the log's key since.
    const bool ofNoLog = !proven && proven.error().code == Code::kPermissionDenied;
    if (!proven && !(ofNoLog && proofs == LogProofs::kIfAny)) return fail(proven.error());
  }
  if (!logs.empty() && !file.log && proofs == LogProofs::kWanted)
    return fail(Code::kDataLoss,
                "recalls.json: nothing proves that the log holds it; kiln recall --publish takes it in");
  return out;
}

Result<std::string> Recalls::issue(const Recalls* before, const std::optional<Recall>& recall,
                                   std::span<const PrivateKey> keys, TimePoint now, TimePoint expires,
                                   const std::string& checkpoint) {
  Json entries = Json::array();
  if (before)
    for (const RecallEntry& entry : before->entries) entries.push_back(entry.envelope.toJson());
  if (recall) {
    KILN_TRY(Recall::fromJson(recall->toJson()));
    KILN_ASSIGN(std::string payload, toCanonicalJson(recall->toJson()));
    KILN_ASSIGN(const Envelope entry, withSignatures({kRecallPayload, std::move(payload), {}}, keys));
    entries.push_back(entry.toJson());
  }
  KILN_ASSIGN(std::string payload, toCanonicalJson({{"apiVersion", "kiln/v1"},
                                                    {"kind", "Recalls"},
                                                    {"version", before ? before->version + 1 : 1},
                                                    {"issuedOn", rfc3339(now)},
                                                    {"expires", rfc3339(expires)},
                                                    {"checkpoint", checkpoint},
                                                    {"entries", std::move(entries)}}));
  KILN_ASSIGN(const Envelope file, withSignatures({kRecallsPayload, std::move(payload), {}}, keys));
  return file.toJson().dump() + "\n";
}

Result<std::string> Recalls::cosign(std::string_view text, std::span<const PrivateKey> keys) {
  KILN_ASSIGN(RecallsFile file, RecallsFile::parse(text));
  KILN_ASSIGN(Json json, parseCanonicalJson(file.envelope.payload, {.bytes = kMaxPayload, .depth = 8}));
  if (!json.is_object() || !json.contains("entries") || !json["entries"].is_array())
    return fail(Code::kInvalidArgument, "recalls.entries: must be an array");
  if (!json["entries"].empty()) {
    KILN_ASSIGN(Envelope entry, readEnvelope(json["entries"].back(), kRecallPayload));
    KILN_ASSIGN(entry, withSignatures(std::move(entry), keys));
    json["entries"].back() = entry.toJson();
  }
  KILN_ASSIGN(std::string payload, toCanonicalJson(json));
  if (payload != file.envelope.payload) file.envelope = {kRecallsPayload, std::move(payload), {}};
  KILN_ASSIGN(const Envelope done, withSignatures(std::move(file.envelope), keys));
  return done.toJson().dump() + "\n";
}

Result<std::string> Recalls::prove(std::string_view text, const RecallLog& log) {
  KILN_ASSIGN(const RecallsFile file, RecallsFile::parse(text));
  Json json = file.envelope.toJson();
  json["log"] = log.toJson();
  return json.dump() + "\n";
}

bool Recalls::extends(const Recalls& before) const {
  return version >= before.version && entries.size() >= before.entries.size() &&
         std::equal(before.entries.begin(), before.entries.end(), entries.begin(),
                    [](auto& a, auto& b) { return a.envelope.payload == b.envelope.payload; });
}

Status Recalls::continuesLogs(const Recalls& before) const {
  for (const Checkpoint& earlier : before.seen) {
    std::uint64_t longest = 0;
    bool known = false;
    for (const Checkpoint& now : seen) {
      if (now.origin != earlier.origin) continue;
      known = true;
      longest = std::max(longest, now.size);
      if (now.size == earlier.size && now.root != earlier.root)
        return fail(Code::kDataLoss, "two checkpoints of " + printable(now.origin) + " with " +
                                         std::to_string(now.size) + " entries contradict each other");
    }
    if (known && longest < earlier.size)
      return fail(Code::kDataLoss, "recalls.json names a checkpoint of " + printable(earlier.origin) +
                                       " with " + std::to_string(longest) + " entries; one with " +
                                       std::to_string(earlier.size) + " was seen before");
  }
  return {};
}

const RecallEntry* Recalls::condemns(const Digest& digest) const {
  for (const RecallEntry& entry : entries) {
    if (entry.lifted || !isContentRecall(entry.recall.kind)) continue;
    const bool itself = entry.recall.whole && entry.recall.what == digest.text();
    if (itself || lists(entry.recall, digest)) return &entry;
  }
  return nullptr;
}

const RecallEntry* Recalls::touches(const StatementPlace& place, const std::string& keyId,
                                    std::span<const std::string> sources,
                                    std::span<const std::string> devices) const {
  const auto named = [&](const Recall& recall) {
    if (recall.kind == RecallKind::kKey) return recall.what == keyId;
    if (recall.kind == RecallKind::kDevice) return contains(devices, recall.what);
    return recall.kind == RecallKind::kSourceUrl &&
           std::ranges::any_of(sources, [&](auto& uri) { return isFrom(uri, recall.what); });
  };
  for (const RecallEntry& entry : entries) {
    if (entry.lifted || !named(entry.recall)) continue;
    if (lists(entry.recall, place.payload) || (entry.recall.whole && inWindow(entry.recall, place)))
      return &entry;
  }
  return nullptr;
}

const RecallEntry* Recalls::touchesWorker(const StatementPlace& place, const std::string& worker,
                                          const std::string& operatorName) const {
  for (const RecallEntry& entry : entries) {
    const Recall& recall = entry.recall;
    const bool named = (recall.kind == RecallKind::kWorker && recall.what == worker) ||
                       (recall.kind == RecallKind::kOperator && recall.what == operatorName);
    if (entry.lifted || !named) continue;
    if (lists(recall, place.payload) || (recall.whole && inWindow(recall, place))) return &entry;
  }
  return nullptr;
}

std::string describe(const RecallEntry& entry) {
  return "recalled on " + rfc3339(entry.recall.issuedOn) + ": " + printable(entry.recall.reason, 400) + " (" +
         std::string(recallKindName(entry.recall.kind)) + " " + printable(entry.recall.what) + ")";
}

}  // namespace kiln::signing
