#include "signing/server/ir_claim.h"

#include "signing/receipt/receipt.h"
#include "signing/server/action_check.h"
#include "signing/server/receipt_check.h"

namespace kiln::signing {
namespace {

constexpr std::string_view kIrFolder = "output/ir/";

tl::unexpected<Error> refused(const std::string& why) {
  return fail(Code::kFailedPrecondition, why);
}

}  // namespace

Status checkIr(const Evidence& evidence, const IrStatement& ir, const Closure& closure) {
  const auto& [store, instance, receipts, authority, now] = evidence;
  if (receipts.size() != 1 || digestOf(receipts.front()) != ir.receipt)
    return refused("an IR statement comes with the one receipt that it names");
  auto verified = verifyReceiptDocument(receipts.front(), authority, now);
  if (!verified) return refused("receipt: " + verified.error().message);
  const Receipt& receipt = verified->receipt;
  if (receipt.worker != ir.worker || receipt.operatorName != ir.operatorName)
    return refused("the receipt is of another worker than the statement");
  if (receipt.action != ir.action) return refused("the receipt is of another action than the statement");
  if (receipt.exitCode != 0) return refused("receipt of " + receipt.worker + ": its run failed");
  if (const Status about = ir.checkAbout(closure.oci.digest, closure.manifest.spec); !about)
    return refused(about.error().message);
  KILN_TRY(checkOutputs(receipt, closure, "output/artifact/"));
  std::vector<ModelFile> listed;
  for (const ReceiptOutput& output : receipt.outputs)
    if (output.path.starts_with(kIrFolder))
      listed.push_back({output.path.substr(kIrFolder.size()), output.digest});
  if (listed != ir.files) return refused("the receipt lists another IR than the statement");
  for (const ModelFile& file : ir.files) KILN_TRY(checkBlob(store, instance, file.digest, "IR " + file.path));
  KILN_TRY(loadBlob(store, instance, receipt.sandboxPolicy, kMaxSandboxPolicyBytes, "sandbox policy"));
  return checkIrAction(store, instance, ir.action, closure.manifest.spec);
}

}  // namespace kiln::signing
