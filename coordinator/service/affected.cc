#include "coordinator/service/affected.h"

#include <algorithm>

#include "coordinator/jobs/git_url.h"
#include "coordinator/service/audit_view.h"
#include "coordinator/service/page_token.h"
#include "coordinator/service/tuning_traces.h"
#include "manifest/base/nearest.h"
#include "manifest/base/printable.h"
#include "manifest/spec/target.h"
#include "storage/index/affected.h"
#include "storage/index/audit_repository.h"
#include "storage/index/mention_repository.h"
#include "storage/index/toolchain_parts.h"
#include "storage/index/toolchain_repository.h"
#include "storage/index/tuning_repository.h"
#include "storage/index/worker_repository.h"

namespace kiln::service {
namespace {

using index::AnyOf;
using index::MentionKind;

constexpr std::size_t kMaxText = 4096;
constexpr int kMaxTrees = 256;      // toolchains that one part may be in
constexpr int kUnreadLimit = 1000;  // counted to here

// The conditions of a request, and the toolchains that they come to.
struct Conditions {
  index::AffectedQuery query;
  std::vector<Digest> trees;
};

Status addText(const std::string& member, const std::string& text, MentionKind kind, Conditions& out) {
  if (text.empty()) return {};
  if (text.size() > kMaxText) return fail(Code::kInvalidArgument, member + ": must have at most 4096 bytes");
  out.query.all.push_back({{kind, index::textValue(text)}});
  return {};
}

Status addArtifact(const std::string& text, Conditions& out) {
  if (text.empty()) return {};
  auto digest = Digest::parse(text, 0);
  if (!digest) return fail(digest.error().in("artifact"));
  out.query.all.push_back({{MentionKind::kArtifact, *digest}});
  return {};
}

// A digest, or a text; of a "git+" URL also what follows.
Status addSource(const std::string& text, Conditions& out) {
  if (text.empty()) return {};
  if (text.starts_with("sha256:")) {
    auto digest = Digest::parse(text, 0);
    if (!digest) return fail(digest.error().in("source"));
    out.query.all.push_back({{MentionKind::kInput, *digest}});
    return {};
  }
  KILN_TRY(addText("source", text, MentionKind::kSource, out));
  if (text.starts_with("git+"))
    out.query.all.back().push_back(
        {MentionKind::kSource, index::textValue(std::string_view(text).substr(4))});
  return {};
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
    tree = toolchain.tree;
  }
  out.query.all.push_back(anyTree({tree}));
  out.trees.push_back(tree);
  return {};
}

Status addComponent(postgres::Connection& connection, const std::string& text, Conditions& out) {
  if (text.empty()) return {};
  if (text.size() > kMaxText) return fail(Code::kInvalidArgument, "component: must have at most 4096 bytes");
  KILN_ASSIGN(const auto trees, index::treesWithPart(connection, out.query.instance, text, kMaxTrees));
  if (trees.empty()) {
    KILN_ASSIGN(const auto names, index::partNames(connection, out.query.instance));
    return fail(Code::kNotFound, "no toolchain here has a part " + inQuotes(text) + orNearest(text, names) +
                                     "; kiln toolchain show LABEL lists the parts of one");
  }
  if (trees.size() > kMaxTrees)
    return fail(Code::kInvalidArgument, "component: more than " + std::to_string(kMaxTrees) +
                                            " toolchains have it; name a version or a digest");
  out.query.all.push_back(anyTree(trees));
  out.trees.insert(out.trees.end(), trees.begin(), trees.end());
  return {};
}

Status addKey(const std::string& text, Conditions& out) {
  if (text.empty()) return {};
  auto key = index::keyValue(text);
  if (!key) return fail(key.error().in("key"));
  out.query.all.push_back({{MentionKind::kKey, *key}});
  return {};
}

Result<TimePoint> timeOf(const google::protobuf::Timestamp& stamp, const char* member) {
  constexpr std::int64_t kYear10000 = 253'402'300'800;
  if (stamp.seconds() < 0 || stamp.seconds() >= kYear10000 || stamp.nanos() < 0 ||
      stamp.nanos() > 999'999'999)
    return fail(Code::kInvalidArgument, std::string(member) + ": must be a time from 1970 to 9999");
  return TimePoint(std::chrono::seconds(stamp.seconds()) + std::chrono::microseconds(stamp.nanos() / 1000));
}

// Widens the condition that was added last by what was compiled with what these tuning records chose.
Status addTunings(const Farm& farm, postgres::Connection& connection, const std::vector<Digest>& records,
                  Conditions& out) {
  if (records.empty()) return {};
  KILN_ASSIGN(const auto tunings, tuningsFrom(farm, connection, out.query.instance, records));
  for (const Digest& tuning : tunings)
    out.query.all.back().push_back({MentionKind::kInput, {tuning.hash, 0}});
  return {};
}

Status addMeasured(const Farm& farm, postgres::Connection& connection, index::RecordsBy by,
                   const std::string& name, Conditions& out) {
  if (name.empty()) return {};
  KILN_ASSIGN(const auto records, index::listTuningRecords(connection, out.query.instance, by, name));
  return addTunings(farm, connection, records, out);
}

Result<Conditions> readConditions(const Farm& farm, postgres::Connection& connection,
                                  const v1::ListAffectedRequest& request) {
  Conditions out;
  out.query.instance = request.instance();
  KILN_TRY(addArtifact(request.artifact(), out));
  KILN_TRY(addSource(request.source(), out));
  if (request.source().starts_with("sha256:")) {
    KILN_ASSIGN(const Digest digest, Digest::parse(request.source(), 0));
    KILN_ASSIGN(const auto record, index::findTuningRecord(connection, request.instance(), digest));
    if (record) KILN_TRY(addTunings(farm, connection, {*record}, out));
  }
  KILN_TRY(addToolchain(connection, request.toolchain(), out));
  KILN_TRY(addComponent(connection, request.component(), out));
  KILN_TRY(addText("worker", request.worker(), MentionKind::kWorker, out));
  KILN_TRY(addMeasured(farm, connection, index::RecordsBy::kWorker, request.worker(), out));
  KILN_TRY(addText("operator", request.operator_(), MentionKind::kOperator, out));
  KILN_TRY(addMeasured(farm, connection, index::RecordsBy::kOperator, request.operator_(), out));
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

// Where nothing is affected: whether that is because a name means nothing here.
Status checkNames(postgres::Connection& connection, const v1::ListAffectedRequest& request) {
  KILN_TRY(checkSpelling(request.source()));
  std::vector<std::string> workers, operators;
  if (!request.worker().empty() || !request.operator_().empty()) {
    KILN_ASSIGN(const auto all, index::listWorkersOf(connection, request.instance()));
    for (const index::WorkerRecord& worker : all) {
      workers.push_back(worker.name);
      operators.push_back(worker.operatorName);
    }
  }
  const struct {
    const char* what;
    const std::string& name;
    MentionKind kind;
    const std::vector<std::string> known;
  } names[] = {{"worker", request.worker(), MentionKind::kWorker, workers},
               {"operator", request.operator_(), MentionKind::kOperator, operators},
               {"target", request.target(), MentionKind::kTarget, servedTargets()},
               {"submitter", request.submitter(), MentionKind::kSubmitter, {}},
               {"device", request.device(), MentionKind::kDevice, {}}};
  for (const auto& [what, name, kind, known] : names) {
    if (name.empty() || std::ranges::find(known, name) != known.end()) continue;
    KILN_ASSIGN(const bool seen,
                index::isMentioned(connection, request.instance(), {kind, index::textValue(name)}));
    if (!seen)
      return fail(Code::kNotFound, std::string("this farm has never seen a ") + what + " " + inQuotes(name) +
                                       orNearest(name, known));
  }
  return {};
}

}  // namespace

Result<v1::ListAffectedResponse> listAffected(const Farm& farm, postgres::Connection& connection,
                                              const v1::ListAffectedRequest& request) {
  KILN_ASSIGN(const int limit, pageSize(request.page_size()));
  KILN_ASSIGN(Conditions conditions, readConditions(farm, connection, request));
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
    KILN_TRY(checkNames(connection, request));
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
