#include "api/cli/trust/recall_resolve.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "api/audit/page_walk.h"
#include "api/client/artifact_ref.h"
#include "api/client/audit_client.h"
#include "manifest/base/printable.h"
#include "manifest/base/short_digest.h"
#include "manifest/statement/check_statement.h"
#include "manifest/statement/ir_statement.h"
#include "manifest/statement/provenance.h"
#include "manifest/statement/reproduction.h"
#include "manifest/statement/tombstone.h"
#include "manifest/statement/vsa.h"
#include "signing/bundle/bundle.h"
#include "signing/log/checkpoint.h"
#include "storage/tree/digest_proto.h"

namespace kiln::cli {
namespace {

using signing::Recall;
using signing::RecallKind;

constexpr int kPage = 500;
constexpr std::uint64_t kMaxBundleBytes = 12u << 20;
constexpr std::size_t kMaxListed = signing::kMaxRecallListed;

void setTime(google::protobuf::Timestamp* out, TimePoint time) {
  out->set_seconds(std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count());
}

Result<v1::ListAffectedRequest> questionOf(const Recall& recall) {
  v1::ListAffectedRequest out;
  out.set_page_size(kPage);
  // What was made at a time was recorded then or later; the end of the window is for the statements to say.
  if (recall.since) setTime(out.mutable_since(), *recall.since);
  switch (recall.kind) {
    case RecallKind::kArtifact:
      return out.set_artifact(recall.what), out;
    case RecallKind::kToolchain:
      return out.set_toolchain(recall.what), out;
    case RecallKind::kComponent:
      return out.set_component(recall.what), out;
    case RecallKind::kSource:
    case RecallKind::kSourceUrl:
    case RecallKind::kRecord:  // an input, as the index sees it
      return out.set_source(recall.what), out;
    case RecallKind::kWorker:
      return out.set_worker(recall.what), out;
    case RecallKind::kOperator:
      return out.set_operator_(recall.what), out;
    case RecallKind::kKey:
      return out.set_key(recall.what), out;
    case RecallKind::kDevice:
      return out.set_device(recall.what), out;
    default:
      return fail(Code::kInternal, "nobody asks what a recall of kind " +
                                       std::string(signing::recallKindName(recall.kind)) + " has touched");
  }
}

// When it says that it was made; nothing for what says none.
Result<std::optional<TimePoint>> madeAt(const Statement& statement) {
  std::optional<TimePoint> out;
  const std::string& type = statement.predicateType;
  if (type == kProvenanceType) {
    KILN_ASSIGN(const auto said, Provenance::fromJson(statement.predicate));
    out = said.finishedOn;
  } else if (type == kCheckType) {
    KILN_ASSIGN(const auto said, CheckStatement::fromJson(statement.predicate));
    out = said.finishedOn;
  } else if (type == kReproductionType) {
    KILN_ASSIGN(const auto said, Reproduction::fromJson(statement.predicate));
    out = said.finishedOn;
  } else if (type == kIrType) {
    KILN_ASSIGN(const auto said, IrStatement::fromJson(statement.predicate));
    out = said.finishedOn;
  } else if (type == kTombstoneType) {
    KILN_ASSIGN(const auto said, Tombstone::fromJson(statement.predicate));
    out = said.issuedOn;
  } else if (type == kVsaType) {
    KILN_ASSIGN(const auto said, VerificationSummary::fromJson(statement.predicate));
    out = said.timeVerified;
  }
  return out;
}

std::string textOf(const build::bazel::remote::execution::v2::Digest& digest) {
  return "sha256:" + digest.hash();
}

Status forEachToolchain(client::AuditClient& audits,
                        const std::function<Status(const v1::IndexedToolchain&)>& use) {
  v1::ListIndexRequest request;
  request.set_page_size(kPage);
  audit::PageWalk walk("toolchains");
  do {
    KILN_ASSIGN(const auto page, audits.indexedToolchains(request));
    for (const v1::IndexedToolchain& toolchain : page.toolchains()) KILN_TRY(use(toolchain));
    KILN_TRY(walk.check(page.next_page_token(), page.toolchains_size()));
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return {};
}

// The digest that a name, or the first digits of one, stands for.
Status oneOf(const std::set<std::string>& found, Recall& recall) {
  if (found.size() > 1) {
    std::string all;
    for (const std::string& digest : found) all += " " + digest;
    return fail(Code::kInvalidArgument,
                inQuotes(recall.what) + " stands for several; recall them one by one:" + all);
  }
  if (!found.empty()) recall.what = *found.begin();
  return {};
}

class Resolution {
 public:
  Resolution(client::Client& client, Recall& recall) : client_(client), audits_(client), recall_(recall) {}

  Result<ResolvedRecall> run() {
    KILN_ASSIGN(v1::ListAffectedRequest request, questionOf(recall_));
    if (recall_.kind == RecallKind::kComponent) KILN_TRY(addToolchains());
    ResolvedRecall out;
    audit::PageWalk walk("what is affected", audit::kSearchedPages);
    do {
      KILN_ASSIGN(const auto page, audits_.affected(request));
      for (const v1::Affected& one : page.affected())
        if (Status added = add(one); !added) return fail(client_.unreadable(added.error()));
      out.unread = page.unread();
      if (const Status leads = walk.check(page.next_page_token(), page.affected_size()); !leads)
        return fail(client_.unreadable(leads.error()));
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    if (shortDigestRange(recall_.what)) KILN_TRY(oneOf(inputs_, recall_));
    for (const auto& [origin, range] : ranges_) out.logs.push_back({origin, range.first, range.second});
    out.listed.assign(listed_.begin(), listed_.end());
    return out;
  }

 private:
  Status list(const Digest& digest) {
    listed_.insert({digest.hash, 0});
    if (listed_.size() <= kMaxListed) return {};
    return fail(
        Code::kResourceExhausted,
        "it touches more than " + std::to_string(kMaxListed) +
            " artifacts or statements, which no recall can list; recall it in shorter windows, or with "
            "--listed /dev/null, which lists none and reaches all");
  }

  // A part condemns each toolchain that it is in: what they make later, too.
  Status addToolchains() {
    return forEachToolchain(audits_, [&](const v1::IndexedToolchain& toolchain) -> Status {
      const bool holds = std::ranges::any_of(toolchain.parts(), [&](const v1::ToolchainPart& part) {
        return textOf(part.digest()) == recall_.what;
      });
      if (!holds) return {};
      const auto digest = fromProto(toolchain.toolchain_digest());
      return digest ? list(*digest) : fail(client_.unreadable(digest.error()));
    });
  }

  Status add(const v1::Affected& one) {
    KILN_ASSIGN(const Digest artifact, Digest::parse(one.artifact(), 0));
    KILN_ASSIGN(const Digest payload, Digest::parse(one.statement().payload(), 0));
    KILN_ASSIGN(const Digest digest, fromProto(one.statement().bundle()));
    const auto text = storage::getBlob(client_.blobs(), client_.instance(), digest, kMaxBundleBytes);
    // That a bundle is gone is no word about what was asked.
    if (!text && text.error().code == Code::kNotFound)
      return fail(Code::kDataLoss,
                  "has lost the bundle " + digest.text() + "; kiln audit finds what is gone");
    if (!text) return fail(client_.explain(text.error()));
    KILN_ASSIGN(const signing::Bundle bundle, signing::parseBundle(*text));
    KILN_ASSIGN(const Statement statement, parseStatement(bundle.envelope.payload));
    const bool about = std::ranges::any_of(
        statement.subjects, [&](const Subject& subject) { return subject.sha256 == artifact.hash; });
    if (!about || digestOf(bundle.envelope.payload).hash != payload.hash)
      return fail(Code::kDataLoss,
                  "the index names " + payload.text() + " for " + artifact.text() +
                      ", but its bundle says something else; kiln audit finds what is wrong");
    KILN_TRY(noteInputs(statement));
    if (signing::isContentRecall(recall_.kind)) return list(artifact);
    KILN_ASSIGN(const auto made, madeAt(statement));
    const bool inside =
        !made || ((!recall_.since || *made >= *recall_.since) && (!recall_.until || *made < *recall_.until));
    if (!inside) return {};
    KILN_TRY(list(payload));
    return (recall_.since || recall_.until) && bundle.logEntry ? extend(*bundle.logEntry) : Status{};
  }

  Status noteInputs(const Statement& statement) {
    if (!shortDigestRange(recall_.what) || statement.predicateType != kProvenanceType) return {};
    KILN_ASSIGN(const auto said, Provenance::fromJson(statement.predicate));
    for (const Material& material : said.resolvedDependencies)
      if (material.digest.text().starts_with(recall_.what)) inputs_.insert(material.digest.text());
    return {};
  }

  Status extend(const signing::LogEntry& entry) {
    KILN_ASSIGN(const signing::Note note, signing::parseNote(entry.checkpoint));
    KILN_ASSIGN(const signing::Checkpoint checkpoint, signing::Checkpoint::parse(note.text));
    const std::uint64_t end = recall_.until ? entry.index + 1 : signing::kRecallWithoutEnd;
    auto [at, isNew] = ranges_.try_emplace(checkpoint.origin, entry.index, end);
    at->second.first = std::min(at->second.first, entry.index);
    at->second.second = std::max(at->second.second, end);
    return {};
  }

  client::Client& client_;
  client::AuditClient audits_;
  Recall& recall_;
  std::set<Digest> listed_;
  std::set<std::string> inputs_;  // that begin as a source or a record does which is named by fewer digits
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> ranges_;
};

Status nameToolchainPart(client::Client& client, Recall& recall) {
  const bool isTree = recall.kind == RecallKind::kToolchain;
  client::AuditClient audits(client);
  std::set<std::string> found;
  const auto take = [&](const std::string& digest, const std::string& name, const std::string& version) {
    const bool byDigest = recall.what.starts_with("sha256:") && digest.starts_with(recall.what);
    if (byDigest || name == recall.what || (!isTree && name + "@" + version == recall.what))
      found.insert(digest);
  };
  KILN_TRY(forEachToolchain(audits, [&](const v1::IndexedToolchain& toolchain) -> Status {
    if (isTree) take(textOf(toolchain.toolchain_digest()), toolchain.label(), "");
    for (const v1::ToolchainPart& part : toolchain.parts())
      if (!isTree) take(textOf(part.digest()), part.name(), part.version());
    return {};
  }));
  if (found.empty())
    return fail(Code::kNotFound, "the farm knows no " + std::string(signing::recallKindName(recall.kind)) +
                                     " " + inQuotes(recall.what));
  return oneOf(found, recall);
}

}  // namespace

Status nameDigest(client::Client& client, Recall& recall) {
  switch (recall.kind) {
    case RecallKind::kToolchain:
    case RecallKind::kComponent:
      return nameToolchainPart(client, recall);
    case RecallKind::kArtifact: {
      KILN_ASSIGN(const auto entry, client::indexEntry(client, recall.what));
      recall.what = textOf(entry.manifest());
      return {};
    }
    default:
      return {};
  }
}

Result<ResolvedRecall> resolveRecall(client::Client& client, Recall& recall) {
  return Resolution(client, recall).run();
}

}  // namespace kiln::cli
