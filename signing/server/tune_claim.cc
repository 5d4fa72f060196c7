#include "signing/server/tune_claim.h"

#include "manifest/tuning/record.h"
#include "signing/receipt/receipt.h"
#include "signing/server/action_check.h"
#include "signing/server/closure.h"

namespace kiln::signing {
namespace {

tl::unexpected<Error> refused(const std::string& why) {
  return fail(Code::kFailedPrecondition, "tuning: " + why);
}

// A document of manifest/tuning among the blobs.
template <class Document>
Result<Document> load(storage::BlobStore& store, const std::string& instance, const Digest& digest,
                      std::uint64_t limit, const char* what) {
  KILN_ASSIGN(const std::string text, loadBlob(store, instance, digest, limit, what));
  auto json = parseCanonicalJson(text, {.bytes = limit});
  if (!json) return refused(std::string(what) + ": " + json.error().message);
  auto document = Document::fromJson(*json);
  if (!document) return refused(std::string(what) + ": " + document.error().message);
  return std::move(*document);
}

Status checkSummary(const TuneStatement& tune, const TuningRecord& record) {
  const bool same = tune.target == record.target && tune.deviceKind == record.device.kind &&
                    tune.deviceName == record.device.name && tune.kernels == record.kernels.size() &&
                    tune.faster == fasterKernels(record);
  if (!same) return refused("the statement does not sum up the record");
  return {};
}

}  // namespace

Status checkTune(const Evidence& evidence, const TuneStatement& tune, const Digest& recordDigest) {
  const auto& [store, instance, receipts, authority, now] = evidence;
  if (receipts.size() != 1 || digestOf(receipts.front()) != tune.receipt)
    return refused("the statement comes with the one receipt that it names");
  KILN_ASSIGN(const auto record,
              load<TuningRecord>(store, instance, recordDigest, kMaxTuningRecordBytes, kTuningRecordFile));
  KILN_ASSIGN(const auto plan,
              load<KernelPlan>(store, instance, tune.plan, kMaxKernelPlanBytes, kKernelPlanFile));
  if (auto of = checkRecord(record, plan); !of) return refused(of.error().message);
  KILN_TRY(checkSummary(tune, record));
  auto verified = verifyReceiptDocument(receipts.front(), authority, now);
  if (!verified) return refused("receipt: " + verified.error().message);
  const Receipt& receipt = verified->receipt;
  if (receipt.worker != tune.worker || receipt.operatorName != tune.operatorName)
    return refused("the receipt is of another worker than the statement");
  if (receipt.action != tune.action) return refused("the receipt is of another action than the statement");
  if (receipt.exitCode != 0) return refused("its run failed");
  if (receipt.outputs.size() != 1 ||
      receipt.outputs.front().path != std::string("output/") + kTuningRecordFile ||
      receipt.outputs.front().digest != recordDigest)
    return refused("the receipt lists another record");
  KILN_TRY(loadBlob(store, instance, receipt.sandboxPolicy, kMaxSandboxPolicyBytes, "sandbox policy"));
  return checkTuneAction(store, instance, tune.action, tune.plan);
}

}  // namespace kiln::signing
