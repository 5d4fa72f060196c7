#include "coordinator/audit/affected.h"

#include <algorithm>

#include "coordinator/jobs/git_url.h"
#include "coordinator/tuning/tuning_traces.h"
#include "coordinator/view/audit_view.h"
#include "coordinator/view/page_token.h"
#include "kiln/v1/worker.pb.h"
#include "manifest/base/nearest.h"
#include "manifest/base/printable.h"
#include "manifest/base/short_digest.h"
#include "manifest/spec/target.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/artifacts/mention_repository.h"
#include "storage/index/audit/affected.h"
#include "storage/index/audit/audit_repository.h"
#include "storage/index/audit/known_names.h"
#include "storage/index/fleet/worker_repository.h"
#include "storage/index/toolchains/toolchain_parts.h"
#include "storage/index/toolchains/toolchain_repository.h"
#include "storage/index/tuning/tuning_repository.h"

namespace kiln::service {
namespace {

using index::AnyOf;
using index::MentionKind;

constexpr std::size_t kMaxText = 4096;
constexpr int kMaxTrees = 256;      // toolchains that one part may be in
constexpr int kUnreadLimit = 1000;  // counted to here

// What a condition names, in the words of the request.
struct Name {
  const char* what;
  std::string text;
  MentionKind kind;
};

// The conditions of a request, and the toolchains that they come to.
struct Conditions {
  index::AffectedQuery query;
  std::vector<Name> names;  // of query.all, one by one
  std::vector<Digest> trees;

  void add(Name name, AnyOf any) {
    names.push_back(std::move(name));
    query.all.push_back(std::move(any));
  }
};

Status addText(const char* member, const std::string& text, MentionKind kind, Conditions& out) {
  if (text.empty()) return {};
  if (text.size() > kMaxText)
    return fail(Code::kInvalidArgument, std::string(member) + ": must have at most 4096 bytes");
  out.add({member, text, kind}, {{kind, index::textValue(text)}});
  return {};
}

using FindIn = Result<std::vector<Digest>> (*)(postgres::Connection&, const std::string&, const DigestRange&);

// A whole digest, or the one that its first digits stand for.
Result<Digest> readDigest(postgres::Connection& connection, const std::string& instance, const char* member,
                          const std::string& text, FindIn findIn) {
  const auto range = shortDigestRange(text);
  if (!range) return digestMember(member, text, true);
  KILN_ASSIGN(const auto found, findIn(connection, instance, *range));
  if (found.empty())
    return fail(Code::kNotFound, std::string("this farm has never seen a digest of ") +
                                     (member == std::string_view("component") ? "a part" : member) +
                                     " that begins with " + inQuotes(text));
  if (found.size() > 1) return fail(severalMeant(text, "digests", found).in(member));
  return Digest{found.front().hash, 0};
}

Status addArtifact(postgres::Connection& connection, const std::string& text, Conditions& out) {
  if (text.empty()) return {};
  KILN_ASSIGN(const Digest digest,
              readDigest(connection, out.query.instance, "artifact", text, index::findArtifactsIn));
  out.add({"artifact", text, MentionKind::kArtifact}, {{MentionKind::kArtifact, digest}});
  return {};
}

// Widens the condition that was added last by what was compiled with what these tuning records chose.
Status addTunings(storage::BlobStore& blobs, postgres::Connection& connection,
                  const std::vector<Digest>& records, Conditions& out) {
  if (records.empty()) return {};
  KILN_ASSIGN(const auto tunings, tuningsFrom(blobs, connection, out.query.instance, records));
  for (const Digest& tuning : tunings)
    out.query.all.back().push_back({MentionKind::kInput, {tuning.hash, 0}});
  return {};
}

// A digest, or a text; of a "git+" URL also what follows.
Status addSource(storage::BlobStore& blobs, postgres::Connection& connection, const std::string& text,
                 Conditions& out) {
  if (text.empty()) return {};
  if (!text.starts_with("sha256:")) {
    KILN_TRY(addText("source", text, MentionKind::kSource, out));
    if (text.starts_with("git+"))
      out.query.all.back().push_back(
          {MentionKind::kSource, index::textValue(std::string_view(text).substr(4))});
    return {};
  }
  KILN_ASSIGN(const Digest digest,
              readDigest(connection, out.query.instance, "source", text, index::findInputsIn));
  out.add({"source", digest.text(), MentionKind::kInput}, {{MentionKind::kInput, digest}});
  KILN_ASSIGN(const auto record, index::findTuningRecord(connection, out.query.instance, digest));
  return record ? addTunings(blobs, connection, {*record}, out) : Status{};
}

AnyOf anyTree(const std::vector<Digest>& trees) {
  AnyOf out;
  for (const Digest& tree : trees) out.push_back({MentionKind::kToolchain, {tree.hash, 0}});
  return out;
}

Status addToolchain(postgres::Connection& connection, const std::string& text, Conditions& out) {
  if (text.empty()) return {};
  Digest tree;
  if (auto digest = Digest::parse(text, 0); digest && text.starts_with("sha256:")) {
    tree = *digest;
  } else {
    KILN_ASSIGN(const auto toolchain, index::findToolchain(connection, out.query.instance, text));
    tree = toolchain.toolchainDigest;
  }
  out.add({"toolchain", text, MentionKind::kToolchain}, anyTree({tree}));
  out.trees.push_back(tree);
  return {};
}

Status addComponent(postgres::Connection& connection, const std::string& text, Conditions& out) {
  if (text.empty()) return {};
  if (text.size() > kMaxText) return fail(Code::kInvalidArgument, "component: must have at most 4096 bytes");
  std::string part = text;
  if (shortDigestRange(text)) {
    KILN_ASSIGN(const Digest digest,
                readDigest(connection, out.query.instance, "component", text, index::findPartsIn));
    part = digest.text();
  }
  KILN_ASSIGN(const auto trees, index::treesWithPart(connection, out.query.instance, part, kMaxTrees));
  if (trees.empty()) {
    KILN_ASSIGN(const auto names, index::partNames(connection, out.query.instance));
    return fail(Code::kNotFound, "no toolchain here has a part " + inQuotes(text) + orNearest(text, names) +
                                     "; kiln toolchain show LABEL lists the parts of one");
  }
  if (trees.size() > kMaxTrees)
    return fail(Code::kInvalidArgument, "component: more than " + std::to_string(kMaxTrees) +
                                            " toolchains have it; name a version or a digest");
  out.add({"component", text, MentionKind::kToolchain}, anyTree(trees));
  out.trees.insert(out.trees.end(), trees.begin(), trees.end());
  return {};
}

Status addKey(const std::string& text, Conditions& out) {
  if (text.empty()) return {};
  auto key = index::keyValue(text);
  if (!key) return fail(key.error().in("key"));
  out.add({"key", text, MentionKind::kKey}, {{MentionKind::kKey, *key}});
  return {};
}

Result<TimePoint> timeOf(const google::protobuf::Timestamp& stamp, const char* member) {
  constexpr std::int64_t kYear10000 = 253'402'300'800;
  if (stamp.seconds() < 0 || stamp.seconds() >= kYear10000 || stamp.nanos() < 0 ||
      stamp.nanos() > 999'999'999)
    return fail(Code::kInvalidArgument, std::string(member) + ": must be a time from 1970 to 9999");
  return TimePoint(std::chrono::seconds(stamp.seconds()) + std::chrono::microseconds(stamp.nanos() / 1000));
}

Status addMeasured(storage::BlobStore& blobs, postgres::Connection& connection, index::RecordsBy by,
                   const std::string& name, Conditions& out) {
  if (name.empty()) return {};
  KILN_ASSIGN(const auto records, index::listTuningRecords(connection, out.query.instance, by, name));
  return addTunings(blobs, connection, records, out);
}

Result<Conditions> readConditions(storage::BlobStore& blobs, postgres::Connection& connection,
                                  const v1::ListAffectedRequest& request) {
  Conditions out;
  out.query.instance = request.instance();
  KILN_TRY(addArtifact(connection, request.artifact(), out));
  KILN_TRY(addSource(blobs, connection, request.source(), out));
  KILN_TRY(addToolchain(connection, request.toolchain(), out));
  KILN_TRY(addComponent(connection, request.component(), out));
  KILN_TRY(addText("worker", request.worker(), MentionKind::kWorker, out));
  KILN_TRY(addMeasured(blobs, connection, index::RecordsBy::kWorker, request.worker(), out));
  KILN_TRY(addText("operator", request.operator_(), MentionKind::kOperator, out));
  KILN_TRY(addMeasured(blobs, connection, index::RecordsBy::kOperator, request.operator_(), out));
  KILN_TRY(addKey(request.key(), out));
  KILN_TRY(addText("target", request.target(), MentionKind::kTarget, out));
  KILN_TRY(addText("submitter", request.submitter(), MentionKind::kSubmitter, out));
  KILN_TRY(addText("device", request.device(), MentionKind::kDevice, out));
  if (request.has_since()) {
    KILN_ASSIGN(out.query.since, timeOf(request.since(), "since"));
  }
  if (request.has_until()) {
    KILN_ASSIGN(out.query.until, timeOf(request.until(), "until"));
  }
  if (out.query.all.empty() && !out.query.since && !out.query.until)
    return fail(Code::kInvalidArgument,
                "name what is to be looked for: artifact, source, toolchain, component, worker, operator, "
                "key, target, submitter, device, since or until");
  return out;
}

// A repository that no job can have named like this, since jobs spell URLs in one way only.
Status checkSpelling(std::string_view source) {
  if (source.starts_with("git+")) {  // git+URL@COMMIT#PATH
    source = source.substr(4, source.find('#') - 4);
    const std::size_t commit = source.rfind('@');
    if (commit != source.npos && source.find('/', commit) == source.npos) source = source.substr(0, commit);
  }
  if (!source.starts_with("https://") && !source.starts_with("ssh://")) return {};
  if (Status spelled = jobs::checkGitUrl(source); !spelled) return fail(spelled.error().in("source"));
  return {};
}

// The names of a kind that the farm knows without a statement; none of a kind that has no list.
Result<std::vector<std::string>> knownNames(postgres::Connection& connection, const std::string& instance,
                                            MentionKind kind) {
  std::vector<std::string> out;
  if (kind == MentionKind::kTarget) return servedTargets();
  if (kind != MentionKind::kWorker && kind != MentionKind::kOperator && kind != MentionKind::kDevice)
    return out;
  KILN_ASSIGN(const auto all, index::listWorkersOf(connection, instance));
  for (const index::WorkerRecord& worker : all) {
    if (kind == MentionKind::kWorker) out.push_back(worker.name);
    if (kind == MentionKind::kOperator) out.push_back(worker.operatorName);
    v1::WorkerDescription described;
    if (kind != MentionKind::kDevice || !described.ParseFromString(worker.description)) continue;
    for (const v1::Device& device : described.devices()) {
      out.push_back(device.name());
      out.push_back(device.arch());
    }
  }
  std::erase(out, "");
  return out;
}

// Whether it has come to the farm, though no statement mentions it: its jobs failed, or nothing was done with
// it yet.
Result<bool> isKnown(postgres::Connection& connection, const std::string& instance, const Name& name,
                     const std::vector<std::string>& known) {
  switch (name.kind) {
    case MentionKind::kToolchain: {
      // Parts, labels and first digits were found by their name; a whole digest was not looked up.
      if (name.what == std::string_view("component") || !Digest::parse(name.text, 0)) return true;
      const auto found = index::findToolchain(connection, instance, name.text);
      if (!found && found.error().code != Code::kNotFound) return fail(found.error());
      return found.has_value();
    }
    case MentionKind::kInput: {
      KILN_ASSIGN(const Digest digest, Digest::parse(name.text, 0));
      KILN_ASSIGN(const auto record, index::findTuningRecord(connection, instance, digest));
      if (record) return true;
      return index::isSubmittedBlob(connection, instance, digest);
    }
    case MentionKind::kSource:
      return index::isSubmittedOrigin(connection, instance,
                                      name.text.starts_with("git+") ? name.text.substr(4) : name.text);
    case MentionKind::kSubmitter:
      return index::hasSubmitted(connection, instance, name.text);
    default:
      return std::ranges::find(known, name.text) != known.end();
  }
}

// Where nothing is affected: whether that is because a name means nothing here.
Status checkNames(postgres::Connection& connection, const Conditions& conditions) {
  const std::string& instance = conditions.query.instance;
  for (std::size_t i = 0; i < conditions.names.size(); ++i) {
    const Name& name = conditions.names[i];
    if (name.kind == MentionKind::kSource) KILN_TRY(checkSpelling(name.text));
    KILN_ASSIGN(const auto names, knownNames(connection, instance, name.kind));
    KILN_ASSIGN(bool seen, isKnown(connection, instance, name, names));
    for (const index::Mention& mention : conditions.query.all[i]) {
      if (seen) break;
      KILN_ASSIGN(seen, index::isMentioned(connection, instance, mention));
    }
    if (!seen)
      return fail(
          Code::kNotFound,
          std::string("this farm has never seen ") +
              (std::string_view("aeiou").find(name.what[0]) == std::string_view::npos ? "a " : "an ") +
              name.what + " " + inQuotes(name.text) + orNearest(name.text, names));
  }
  return {};
}

}  // namespace

Result<v1::ListAffectedResponse> listAffected(storage::BlobStore& blobs, postgres::Connection& connection,
                                              const v1::ListAffectedRequest& request) {
  KILN_ASSIGN(const int limit, pageSize(request.page_size()));
  KILN_ASSIGN(Conditions conditions, readConditions(blobs, connection, request));
  const std::string question = questionOf(request);
  KILN_ASSIGN(const std::string position, readPageToken(question, request.page_token()));
  if (!position.empty()) {
    KILN_ASSIGN(conditions.query.after, readPosition(position));
  }
  KILN_ASSIGN(const index::AffectedPage page, index::findAffected(connection, conditions.query, limit));
  v1::ListAffectedResponse out;
  KILN_ASSIGN(const std::uint64_t unread,
              index::countUnread(connection, conditions.query.instance, kUnreadLimit));
  out.set_unread(unread);
  if (page.entries.empty() && !page.next && !conditions.query.after && unread == 0)
    KILN_TRY(checkNames(connection, conditions));
  for (const index::AffectedRecord& entry : page.entries) {
    v1::Affected& added = *out.add_affected();
    added.set_artifact(entry.artifact.text());
    added.set_target(entry.target);
    *added.mutable_statement() = toProto(entry.statement);
  }
  if (!conditions.trees.empty()) {
    KILN_ASSIGN(const auto admissions,
                index::listAdmissions(connection, conditions.query.instance, conditions.trees));
    for (const index::AdmissionRecord& admission : admissions) *out.add_admissions() = toProto(admission);
  }
  if (page.next) out.set_next_page_token(makePageToken(question, positionText(*page.next)));
  return out;
}

}  // namespace kiln::service
