#include "signing/server/reproduction_claim.h"

#include "signing/receipt/receipt.h"
#include "signing/server/action_check.h"
#include "signing/server/receipt_check.h"

namespace kiln::signing {
namespace {

tl::unexpected<Error> refused(const std::string& why) {
  return fail(Code::kFailedPrecondition, why);
}

}  // namespace

Status checkReproduction(const Evidence& evidence, const Reproduction& again, const Closure& closure) {
  const auto& [store, instance, receipts, authority, now] = evidence;
  if (!again.receipt || receipts.size() != 1 || digestOf(receipts.front()) != *again.receipt)
    return refused("a reproduction statement comes with the one receipt that it names");
  if (again.reference || !again.absent.empty())
    return refused("the receipt of a compile proves neither fixtures nor that files may be absent");
  auto verified = verifyReceiptDocument(receipts.front(), authority, now);
  if (!verified) return refused("receipt: " + verified.error().message);
  const Receipt& receipt = verified->receipt;
  if (receipt.worker != again.worker || receipt.operatorName != again.operatorName)
    return refused("the receipt is of another worker than the statement");
  if (receipt.action != again.compile) return refused("the receipt is of another action than the statement");
  if (receipt.exitCode != 0) return refused("receipt of " + receipt.worker + ": its run failed");
  if (receipt.sandboxPolicy != again.sandboxPolicy)
    return refused("the receipt states another sandbox policy than the statement");
  if (again.manifest != closure.oci.config)
    return refused("the statement reproduces another Manifest than the artifact's");
  KILN_TRY(checkOutputs(receipt, closure));
  KILN_ASSIGN(const std::string sandbox, sandboxOf(store, instance, receipt.sandboxPolicy));
  if (sandbox != again.sandbox)
    return refused("the statement names another sandbox than the receipt's policy");
  return checkAction(store, instance, again.compile, closure.manifest.spec);
}

}  // namespace kiln::signing
