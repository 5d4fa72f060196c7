#include "signing/server/receipt_check.h"

#include <algorithm>

#include "manifest/statement/sandbox_policy.h"

namespace kiln::signing {
namespace {

constexpr std::uint64_t kMaxDissentBytes = 16u << 20;

tl::unexpected<Error> refused(const std::string& why) {
  return fail(Code::kFailedPrecondition, why);
}

Status checkInternal(const Provenance& provenance, const std::string& name, const std::string& value) {
  auto named = provenance.internalParameters.find(name);
  if (named != provenance.internalParameters.end() && named->second == value) return {};
  return refused("internalParameters." + name + " is not what the receipts say, " + value);
}

// A worker's name is one under its operator.
std::string fullName(const std::string& operatorName, const std::string& worker) {
  return operatorName + "/" + worker;
}

}  // namespace

Status checkOutputs(const Receipt& receipt, const Closure& closure, const std::string& folder) {
  auto lists = [&](const std::string& path, const Digest& digest) {
    auto found = std::lower_bound(
        receipt.outputs.begin(), receipt.outputs.end(), path,
        [](const ReceiptOutput& output, const std::string& name) { return output.path < name; });
    return found != receipt.outputs.end() && found->path == path && found->digest == digest;
  };
  if (!lists(folder + "manifest.json", closure.oci.config))
    return refused("receipt of " + receipt.worker + ": lists another manifest.json than the artifact's");
  for (const ArtifactFile& layer : closure.oci.layers)
    if (!lists(folder + layer.path, layer.digest))
      return refused("receipt of " + receipt.worker + ": does not list " + layer.path +
                     " as the artifact has it");
  return {};
}

Result<ReceiptSummary> checkReceipts(const std::vector<std::string>& documents, const Provenance& provenance,
                                     const Closure& closure, const Certificate& authority, TimePoint now) {
  if (documents.size() != provenance.builders.size())
    return refused(std::to_string(documents.size()) + " receipts for " +
                   std::to_string(provenance.builders.size()) + " builders");
  ReceiptSummary said;
  std::set<std::string> workers, keys;
  for (const std::string& document : documents) {
    auto verified = verifyReceiptDocument(document, authority, now);
    if (!verified) return refused("receipt: " + verified.error().message);
    const Receipt& receipt = verified->receipt;
    if (!workers.insert(fullName(receipt.operatorName, receipt.worker)).second ||
        !keys.insert(verified->keyId).second)
      return refused("two receipts of worker " + receipt.worker + ": one worker counts once");
    if (receipt.exitCode != 0) return refused("receipt of " + receipt.worker + ": its run failed");
    if (workers.size() == 1) said.action = receipt.action;
    said.sandboxPolicies.insert(receipt.sandboxPolicy);
    if (receipt.action != said.action) return refused("the receipts are of different actions");
    const Digest name = digestOf(document);
    said.policyOf.emplace(name, receipt.sandboxPolicy);
    const bool named = std::ranges::any_of(provenance.builders, [&](const Builder& builder) {
      return builder.worker == receipt.worker && builder.operatorName == receipt.operatorName &&
             builder.receipt == name;
    });
    if (!named) return refused("receipt of " + receipt.worker + ": the provenance does not name it");
    KILN_TRY(checkOutputs(receipt, closure));
  }
  KILN_TRY(checkInternal(provenance, "action", said.action.text()));
  KILN_TRY(checkInternal(provenance, "sandboxPolicy", sandboxPolicyText(said.sandboxPolicies)));
  return said;
}

Status checkSandboxes(storage::BlobStore& store, const std::string& instance, const Provenance& provenance,
                      const ReceiptSummary& said) {
  std::map<Digest, std::string> names;
  for (const Digest& policy : said.sandboxPolicies) {
    KILN_ASSIGN(names[policy], sandboxOf(store, instance, policy));
  }
  for (const Builder& builder : provenance.builders) {
    const auto policy = said.policyOf.find(builder.receipt);
    if (policy == said.policyOf.end() || names[policy->second] != builder.sandbox)
      return refused("receipt of " + builder.worker +
                     ": the provenance names another sandbox than its policy");
  }
  return {};
}

Result<std::string> sandboxOf(storage::BlobStore& store, const std::string& instance, const Digest& policy) {
  KILN_ASSIGN(const std::string text,
              loadBlob(store, instance, policy, kMaxSandboxPolicyBytes, "sandbox policy"));
  auto name = foreignSandbox(text);
  if (!name) return refused("sandbox policy " + policy.text() + ": " + name.error().message);
  return name;
}

Status checkDissent(storage::BlobStore& store, const std::string& instance, const Provenance& provenance,
                    const Digest& action, const Certificate& authority, TimePoint now) {
  std::set<std::string> workers;
  for (const Builder& builder : provenance.builders)
    workers.insert(fullName(builder.operatorName, builder.worker));
  for (const Material& material : provenance.byproducts) {
    if (material.name != kDissentByproduct) continue;
    KILN_ASSIGN(std::string document,
                loadBlob(store, instance, material.digest, kMaxDissentBytes, "dissenting receipt"));
    auto verified = verifyReceiptDocument(document, authority, now);
    if (!verified) return refused("dissenting receipt: " + verified.error().message);
    const Receipt& receipt = verified->receipt;
    const std::map<std::string, std::string> named{{"worker", receipt.worker},
                                                   {"operator", receipt.operatorName}};
    if (material.annotations != named || receipt.action != action)
      return refused("dissenting receipt of " + receipt.worker +
                     ": the provenance names another worker, or it is of another action");
    if (!workers.insert(fullName(receipt.operatorName, receipt.worker)).second)
      return refused("worker " + receipt.worker + " both agrees and dissents, or dissents twice");
  }
  return {};
}

}  // namespace kiln::signing
