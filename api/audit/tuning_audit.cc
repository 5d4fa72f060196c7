#include "api/audit/tuning_audit.h"

#include <algorithm>

#include "api/audit/page_walk.h"
#include "manifest/statement/tune_statement.h"
#include "manifest/tuning/decided.h"
#include "storage/tree/digest_proto.h"

namespace kiln::audit {
namespace {

constexpr char kRecords[] = "tuning_records", kEntries[] = "tuning_history";

Status checkStatement(const Audit& audit, const v1::IndexedTuningRecord& row, const Digest& record) {
  const auto tampered = [&](std::string what) {
    audit.report(FindingKind::kTamperedRow, kRecords, record.text(), std::move(what));
    return Status();
  };
  KILN_ASSIGN(const auto said, openStatement(audit, row.statement(), kRecords));
  if (!said) return {};
  const auto tune = TuneStatement::fromJson(said->statement.predicate);
  if (!tune) return tampered("its statement is none of a tuner: " + tune.error().message);
  const auto& subjects = said->statement.subjects;
  if (subjects.size() != 1 || subjects[0].sha256 != record.hash)
    return tampered("its statement is about another record");
  if (tune->worker != row.worker() || tune->operatorName != row.operator_())
    return tampered("it was measured by " + tune->worker + " of " + tune->operatorName);
  if (tune->target != row.target()) return tampered("its target is " + tune->target);
  if (tune->invocationId != row.job()) return tampered("its job is " + tune->invocationId);
  const auto finished =
      std::chrono::duration_cast<std::chrono::seconds>(tune->finishedOn.time_since_epoch()).count();
  if (row.statement().recorded().seconds() != finished)
    return tampered("it was recorded at another time than the measuring ended");
  return {};
}

// The entries that name the record are what it decides; that some are gone says that later records of those
// kernels were made.
Status checkEntries(const Audit& audit, const v1::IndexedTuningRecord& row, const Digest& digest) {
  KILN_ASSIGN(const auto text, readFor(audit, digest, kMaxTuningRecordBytes,
                                       {FindingKind::kTamperedRow, kRecords, digest.text(), "the record"}));
  if (!text) return {};
  const auto json = parseCanonicalJson(*text, {.bytes = kMaxTuningRecordBytes});
  const auto record = json ? TuningRecord::fromJson(*json) : fail(json.error());
  const auto decided = record ? decidedBy(*record) : fail(record.error());
  if (!decided) {
    audit.report(FindingKind::kTamperedRow, kRecords, digest.text(),
                 "its record is none: " + decided.error().message);
    return {};
  }
  for (const v1::IndexedTuningEntry& entry : row.entries())
    if (entry.target() != record->target ||
        std::ranges::find(*decided, DecidedKernel{entry.signature(), entry.entry()}) == decided->end())
      audit.report(
          FindingKind::kTamperedRow, kEntries, entry.signature(),
          "it, or what tuning_entries has of it, is not what the record " + digest.text() + " decides");
  return {};
}

}  // namespace

Status auditTuning(const Audit& audit, IndexSource& source, int pageSize) {
  v1::ListIndexRequest request;
  request.set_page_size(pageSize);
  PageWalk walk("tuning records");
  do {
    KILN_ASSIGN(const auto page, source.tuning(request));
    for (const v1::IndexedTuningRecord& row : page.records()) {
      KILN_TRY(walk.takeInOrder(row.record().hash()));
      const Digest record = fromProto(row.record()).value_or(Digest{});
      KILN_TRY(checkStatement(audit, row, record));
      KILN_TRY(checkEntries(audit, row, record));
    }
    KILN_TRY(walk.check(page.next_page_token(), page.records_size()));
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return {};
}

}  // namespace kiln::audit
