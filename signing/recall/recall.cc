#include "signing/recall/recall.h"

#include <algorithm>
#include <array>

#include "manifest/json/reader.h"
#include "manifest/statement/members.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxWhat = 2048;
constexpr std::array<std::string_view, 11> kNames{"artifact",   "toolchain", "component", "source",
                                                  "record",     "worker",    "operator",  "key",
                                                  "source-url", "device",    "lift"};

bool isDigest(const std::string& text) {
  return text.starts_with("sha256:") && Digest::parse(text, 0).has_value();
}

Result<RecallKind> readKind(ObjectReader& reader) {
  KILN_ASSIGN(const std::string name, reader.string("recalls"));
  const auto at = std::ranges::find(kNames, name);
  if (at == kNames.end()) return badMember(reader.path("recalls"), "is no kind of recall");
  return static_cast<RecallKind>(at - kNames.begin());
}

Result<std::vector<Digest>> readListed(ObjectReader& reader) {
  std::vector<Digest> out;
  KILN_ASSIGN(const std::vector<std::string> list, reader.strings("listed"));
  if (list.size() > kMaxRecallListed)
    return badMember(reader.path("listed"), "must hold at most 50000 digests");
  for (const std::string& text : list) {
    if (!isDigest(text)) return badMember(reader.path("listed"), "must hold \"sha256:\" digests");
    out.push_back(*Digest::parse(text, 0));
    if (out.size() > 1 && !(out[out.size() - 2].hash < out.back().hash))
      return badMember(reader.path("listed"), "must be sorted, each once");
  }
  return out;
}

Result<std::vector<Recall::LogRange>> readLogs(ObjectReader& reader) {
  std::vector<Recall::LogRange> out;
  KILN_ASSIGN(const Json* list, reader.array("logs"));
  for (const Json& element : *list) {
    KILN_ASSIGN(ObjectReader one, ObjectReader::open(element, reader.path("logs")));
    Recall::LogRange range;
    KILN_ASSIGN(range.origin, one.string("origin"));
    KILN_ASSIGN(range.from, one.unsigned64("from"));
    KILN_ASSIGN(range.to, one.unsigned64("to"));
    if (range.to <= range.from) return badMember(one.path("to"), "must be after from");
    KILN_TRY(one.finish());
    out.push_back(std::move(range));
  }
  return out;
}

Status readWindow(ObjectReader& reader, Recall& recall) {
  if (reader.has("since")) {
    KILN_ASSIGN(recall.since, readTimeMember(reader, "since"));
  }
  if (reader.has("until")) {
    KILN_ASSIGN(recall.until, readTimeMember(reader, "until"));
    if (recall.since && *recall.until <= *recall.since)
      return badMember(reader.path("until"), "must be after since");
  }
  if (reader.has("logs")) {
    KILN_ASSIGN(recall.logs, readLogs(reader));
  }
  return {};
}

}  // namespace

std::string_view recallKindName(RecallKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

bool isContentRecall(RecallKind kind) {
  return kind <= RecallKind::kRecord;
}

Json Recall::toJson() const {
  Json out{{"apiVersion", "kiln/v1"},
           {"kind", "Recall"},
           {"recalls", recallKindName(kind)},
           {"what", what},
           {"reason", reason},
           {"issuedOn", rfc3339(issuedOn)}};
  if (kind == RecallKind::kLift) return out;
  out["whole"] = whole;
  out["listed"] = Json::array();
  for (const Digest& digest : listed) out["listed"].push_back(digest.text());
  if (since) out["since"] = rfc3339(*since);
  if (until) out["until"] = rfc3339(*until);
  for (const LogRange& range : logs)
    out["logs"].push_back(
        {{"origin", range.origin}, {"from", std::to_string(range.from)}, {"to", std::to_string(range.to)}});
  return out;
}

Result<Recall> Recall::fromJson(const Json& json) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "recall"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "Recall"));
  Recall recall;
  KILN_ASSIGN(recall.kind, readKind(reader));
  KILN_ASSIGN(recall.what, reader.string("what"));
  const bool bytes = isContentRecall(recall.kind) || recall.kind == RecallKind::kLift;
  if (bytes ? !isDigest(recall.what) : recall.what.empty() || recall.what.size() > kMaxWhat)
    return badMember(reader.path("what"), bytes ? "must be \"sha256:<hex>\"" : "must have 1 to 2048 bytes");
  KILN_ASSIGN(recall.reason, reader.string("reason"));
  if (recall.reason.empty() || recall.reason.size() > kMaxRecallReason)
    return badMember(reader.path("reason"), "must have 1 to 1000 bytes");
  KILN_ASSIGN(recall.issuedOn, readTimeMember(reader, "issuedOn"));
  if (recall.kind != RecallKind::kLift) {
    KILN_ASSIGN(recall.whole, reader.boolean("whole"));
    KILN_ASSIGN(recall.listed, readListed(reader));
    if (!recall.whole && recall.listed.empty())
      return badMember(reader.path("listed"),
                       "lists nothing, and the recall is not whole: it recalls nothing");
    if (!isContentRecall(recall.kind)) KILN_TRY(readWindow(reader, recall));
  }
  KILN_TRY(reader.finish());
  return recall;
}

}  // namespace kiln::signing
