#include "api/audit/auditor.h"

#include "api/audit/artifact_audit.h"

namespace kiln::audit {

Result<Counts> auditIndex(IndexSource& source, const BlobReader& blobs, const signing::TrustRoot& root,
                          TimePoint now, const AuditOptions& options) {
  Counts counts;
  const FindingSink found = [&](const Finding& finding) {
    ++counts.findings;
    options.found(finding);
  };
  const auto progress = [&] {
    if (options.progress) options.progress(counts);
  };
  KILN_ASSIGN(const Believed believed, Believed::of(root, now));
  const Audit audit{blobs, believed, found};
  KILN_ASSIGN(const KnownToolchains toolchains, auditToolchains(audit, source, options.pageSize));
  counts.toolchains = toolchains.count;
  progress();
  v1::ListIndexRequest request;
  request.set_page_size(options.pageSize);
  do {
    KILN_ASSIGN(const auto page, source.artifacts(request));
    for (const v1::IndexedArtifact& row : page.artifacts()) {
      KILN_TRY(auditArtifact(audit, source, row, toolchains, options.pageSize, counts.statements));
      ++counts.artifacts;
      progress();
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return counts;
}

}  // namespace kiln::audit
