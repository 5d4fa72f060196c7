#include "api/audit/auditor.h"

#include "api/audit/artifact_audit.h"
#include "api/audit/page_walk.h"
#include "api/audit/recalls_audit.h"
#include "api/audit/tuning_audit.h"

namespace kiln::audit {
namespace {

constexpr std::uint64_t kMaxFindings = 100'000;  // that are told

// Nothing, and a finding, if the log is not what it has signed.
Result<std::optional<LogHistory>> openHistory(const AuditOptions& options, const AuditTrust& trust,
                                              const FindingSink& found) {
  if (!options.log) return std::optional<LogHistory>();
  auto history = LogHistory::open(*options.log, trust.logs, options.seenCheckpoint);
  if (history) return std::optional(std::move(*history));
  if (history.error().code != Code::kDataLoss) return fail(history.error());
  found({FindingKind::kDamagedLog, "log", "checkpoint", history.error().message});
  return std::optional<LogHistory>();
}

}  // namespace

Result<Audited> auditIndex(IndexSource& source, const BlobReader& blobs, const signing::TrustRoot& root,
                           TimePoint now, const AuditOptions& options) {
  Audited out;
  Counts& counts = out.counts;
  const FindingSink found = [&](const Finding& finding) {
    if (++counts.findings <= kMaxFindings) options.found(finding);
  };
  const auto progress = [&] {
    if (options.progress) options.progress(counts);
  };
  KILN_ASSIGN(AuditTrust trust, AuditTrust::of(root, now));
  KILN_ASSIGN(auto history, openHistory(options, trust, found));
  const Audit audit{blobs, trust, found};
  if (history) {
    out.checkpoint = history->note();
    KILN_ASSIGN(counts.log,
                auditLog(audit, source, *history, options.fromEntry, [&](const LogCounts& walked) {
                  counts.log = walked;
                  progress();
                }));
    trust.history = &*history;
  }
  if (options.recalls) KILN_TRY(auditKnownRecalls(audit, source, *options.recalls));
  KILN_ASSIGN(const KnownToolchains toolchains, auditToolchains(audit, source, options.pageSize));
  counts.toolchains = toolchains.count;
  out.withoutInstance = toolchains.withoutInstance;
  KILN_TRY(auditTuning(audit, source, options.pageSize));
  progress();
  v1::ListIndexRequest request;
  request.set_page_size(options.pageSize);
  PageWalk walk("artifacts");
  do {
    KILN_ASSIGN(const auto page, source.artifacts(request));
    for (const v1::IndexedArtifact& row : page.artifacts()) {
      KILN_TRY(walk.takeInOrder(row.manifest().hash()));
      if (counts.findings > kMaxFindings) return out;  // nobody reads on in what may be invented without end
      KILN_TRY(auditArtifact(audit, source, row, toolchains, options.pageSize, counts.statements));
      ++counts.artifacts;
      progress();
    }
    KILN_TRY(walk.check(page.next_page_token(), page.artifacts_size()));
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return out;
}

}  // namespace kiln::audit
