#include "signing/server/check_claim.h"

#include <algorithm>

#include "manifest/artifact/media_types.h"
#include "signing/receipt/receipt.h"
#include "signing/server/action_check.h"

namespace kiln::signing {
namespace {

tl::unexpected<Error> refused(const std::string& why) {
  return fail(Code::kFailedPrecondition, why);
}

// A session of an artifact with kernels runs on a GPU, so its report names one.
Status checkGpu(const Json& report, const Closure& closure) {
  auto gpu = checkedGpu(report);
  if (!gpu) return refused(gpu.error().message);
  const bool wanted = std::ranges::any_of(closure.oci.layers, isKernelsMediaType, &ArtifactFile::mediaType);
  if (wanted && !*gpu) return refused("the artifact has kernels for a GPU, but the report names none");
  if (!wanted && *gpu) return refused("the report names a GPU, but the artifact has no kernels for one");
  return {};
}

}  // namespace

Status checkClaim(const Evidence& evidence, const CheckStatement& check, const Closure& closure) {
  const auto& [store, instance, receipts, authority, now] = evidence;
  if (receipts.size() != 1 || digestOf(receipts.front()) != check.receipt)
    return refused("a check statement comes with the one receipt that it names");
  auto verified = verifyReceiptDocument(receipts.front(), authority, now);
  if (!verified) return refused("receipt: " + verified.error().message);
  const Receipt& receipt = verified->receipt;
  if (receipt.worker != check.worker || receipt.operatorName != check.operatorName)
    return refused("the receipt is of another worker than the statement");
  if (receipt.action != check.action) return refused("the receipt is of another action than the statement");
  if (receipt.exitCode != 0) return refused("the check could not be made: its run failed");
  KILN_ASSIGN(const std::string report, toCanonicalJson(check.report));
  const ReceiptOutput wanted{std::string("output/") + kCheckReport, digestOf(report)};
  if (receipt.outputs.size() != 1 || receipt.outputs.front().path != wanted.path ||
      receipt.outputs.front().digest != wanted.digest)
    return refused("the receipt lists another report than the statement's");
  KILN_TRY(checkGpu(check.report, closure));
  KILN_TRY(loadBlob(store, instance, receipt.sandboxPolicy, kMaxSandboxPolicyBytes, "sandbox policy"));
  return checkCheckAction(store, instance, check.action, closure, check.plan, saysEmulated(check.report));
}

}  // namespace kiln::signing
