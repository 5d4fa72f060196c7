#include "coordinator/planning/proof.h"

#include <algorithm>
#include <set>
#include <span>

#include "coordinator/farm/log.h"
#include "coordinator/jobs/evidence.h"
#include "coordinator/jobs/executed_outputs.h"
#include "coordinator/recall/recalls.h"
#include "manifest/artifact/bundle_limit.h"
#include "manifest/artifact/oci.h"
#include "signing/receipt/receipt.h"
#include "signing/trust/trust_root.h"
#include "signing/verify/verify.h"

namespace kiln::service {
namespace {

const signing::Policy& anyPolicy() {
  static const signing::Policy policy{
      .name = "cache", .allowDevelopment = true, .builderIds = {"*"}, .targets = {"*"}, .toolchains = {"*"}};
  return policy;
}

// All that the verdict on an artifact rests on.
Digest evidenceOf(const index::ArtifactRecord& artifact, const std::string& signer,
                  const signing::Recalls* recalls) {
  std::string all =
      digestOf(signer).hex() + digestOf(recalls ? recalls->text : "").hex() + artifact.digest.hex();
  for (const index::BundleRecord& record : artifact.bundles) all += record.bundle.hex();
  return digestOf(all);
}

// The store vouches for each: hashed now, or lately and untouched since.
Status checkBytes(storage::BlobStore& store, const std::string& instance, std::span<const Digest> blobs) {
  for (const Digest& blob : blobs) KILN_TRY(store.read(instance, blob, 0, 1, [](Bytes) { return Status(); }));
  return {};
}

Result<std::shared_ptr<const ProvenArtifact>> verified(const Planning& planning,
                                                       const index::ArtifactRecord& artifact) {
  KILN_ASSIGN(const std::string pem, planning.signatory.signer.publicKeyPem());
  KILN_ASSIGN(const auto recalls, recallsInForce(planning.recalls));
  const std::string& instance = artifact.instance;
  const Digest evidence = evidenceOf(artifact, pem, recalls.get());
  if (auto known = planning.proofs.find(evidence)) {
    KILN_TRY(checkBytes(planning.stores.blobs, instance, known->blobs));
    return known;
  }
  KILN_ASSIGN(const signing::PublicKey key, signing::PublicKey::fromPem(pem));
  KILN_ASSIGN(const std::string text,
              storage::getBlob(planning.stores.blobs, instance, artifact.digest, kMaxOciManifestBytes));
  signing::VerifyRequest request{.artifactJson = text, .artifact = artifact.digest};
  std::vector<Digest> blobs{artifact.digest};
  request.read = [&](const ArtifactFile& file, const std::function<Status(Bytes)>& sink) {
    blobs.push_back(file.digest);
    return planning.stores.blobs.read(instance, file.digest, 0, 0, sink);
  };
  BundleCount count;
  for (const index::BundleRecord& record : artifact.bundles) {
    KILN_TRY(count.add(record.bundle.size));
    KILN_ASSIGN(std::string bundle,
                storage::getBlob(planning.stores.blobs, instance, record.bundle, kMaxBundleBytes));
    request.bundles.push_back(std::move(bundle));
    blobs.push_back(record.bundle);
  }
  const signing::TrustRoot root =
      signing::developmentRoot(key, planning.signatory.builder.id, planning.stores.clock.now());
  signing::Verdict verdict =
      signing::verifyArtifact(request, root, anyPolicy(), planning.stores.clock, {.recalls = recalls.get()});
  KILN_TRY(verdict.status());
  auto proven = std::make_shared<const ProvenArtifact>(std::move(verdict.manifest.spec),
                                                       std::move(verdict.statements), std::move(blobs));
  planning.proofs.insert(evidence, proven);
  return proven;
}

std::string originOf(const Material& material) {
  auto claimed = material.annotations.find("claimedOrigin");
  return material.uri.empty() && claimed != material.annotations.end() ? claimed->second : material.uri;
}

bool names(const Provenance& provenance, const index::MaterialRecord& wanted) {
  return std::any_of(provenance.resolvedDependencies.begin(), provenance.resolvedDependencies.end(),
                     [&](const Material& material) {
                       return material.name == wanted.name && material.digest == wanted.digest &&
                              originOf(material) == wanted.uri;
                     });
}

bool answers(const Provenance& provenance, const WantedProof& wanted) {
  std::set<std::string> operators;
  for (const Builder& builder : provenance.builders) operators.insert(builder.operatorName);
  const bool unanimous =
      std::none_of(provenance.byproducts.begin(), provenance.byproducts.end(),
                   [](const Material& material) { return material.name == kDissentByproduct; });
  return provenance.builders.size() >= static_cast<std::size_t>(wanted.delivery.builders) &&
         operators.size() >= static_cast<std::size_t>(wanted.delivery.operators) && unanimous &&
         std::all_of(wanted.materials.begin(), wanted.materials.end(),
                     [&](const index::MaterialRecord& material) {
                       // Components are parts of the toolchain's tree, which has its digest.
                       return material.kind == "component" || names(provenance, material);
                     });
}

// As the receipt lists them.
Result<jobs::Outputs> namedBy(const index::ResultRecord& result, MadeBy madeBy) {
  if (madeBy == MadeBy::kBuild) {
    KILN_ASSIGN(jobs::Outputs outputs, jobs::readOutputs(result));
    return outputs;
  }
  reapi::ActionResult read;
  if (!read.ParseFromString(result.result))
    return fail(Code::kDataLoss, "a stored action result does not parse");
  KILN_ASSIGN(jobs::ExecutedOutputs executed, jobs::readExecuted(read));
  return std::move(executed.named);
}

Status provesItself(const Planning& planning, const signing::Recalls* recalls,
                    const index::ResultRecord& result, MadeBy madeBy) {
  KILN_ASSIGN(signing::Certificate certificate, signing::Certificate::fromPem(result.certificate));
  KILN_ASSIGN(signing::Receipt receipt,
              signing::verifyReceipt(result.receipt, certificate, planning.workerAuthority,
                                     planning.stores.clock.now()));
  KILN_ASSIGN(const jobs::Outputs outputs, namedBy(result, madeBy));
  const std::string prefix = madeBy == MadeBy::kBuild ? "output/" : "";
  const bool same =
      receipt.action == result.action && receipt.lease == result.runId && receipt.epoch == result.epoch &&
      receipt.worker == result.worker && receipt.operatorName == result.operatorName &&
      receipt.exitCode == result.exitCode && jobs::outputsDigest(outputs).hash == result.outputs.hash &&
      std::equal(receipt.outputs.begin(), receipt.outputs.end(), outputs.files.begin(), outputs.files.end(),
                 [&](const signing::ReceiptOutput& a, const jobs::OutputFile& b) {
                   return a.path == prefix + b.path && a.digest == b.digest;
                 });
  if (!same) return fail(Code::kDataLoss, "the stored result is not what its receipt says");
  if (!recalls) return {};
  const signing::StatementPlace place{digestOf(result.receipt), result.recorded, nullptr};
  const auto* recall =
      touchesMaker(*recalls, place, {result.worker, result.operatorName, certificate.publicKey().id()});
  return recall ? fail(Code::kPermissionDenied, describe(*recall)) : Status{};
}

}  // namespace

Result<std::optional<std::vector<std::string>>> provenBuilders(const Planning& planning,
                                                               const index::ArtifactRecord& artifact,
                                                               const WantedProof& wanted) {
  const std::optional<std::vector<std::string>> none;
  const auto proven = verified(planning, artifact);
  if (!proven) {
    logWarning("a cached artifact does not prove itself",
               {{"artifact", artifact.digest.text()}, {"error", proven.error().message}});
    return none;
  }
  if (!((*proven)->spec == wanted.spec)) return none;
  for (const Provenance& provenance : (*proven)->statements) {
    if (!answers(provenance, wanted)) continue;
    std::vector<std::string> workers;
    for (const Builder& builder : provenance.builders) workers.push_back(builder.worker);
    return std::optional(std::move(workers));
  }
  return none;
}

void dropUnproven(const Planning& planning, const std::string& job, std::vector<index::ResultRecord>& results,
                  MadeBy madeBy) {
  if (std::ranges::all_of(results, [&](auto& result) { return result.jobId == job; })) return;
  const auto recalls = recallsInForce(planning.recalls);
  std::erase_if(results, [&](const index::ResultRecord& result) {
    if (result.jobId == job) return false;
    // What cannot be known to be unrecalled is built again.
    Status proven = recalls ? provesItself(planning, recalls->get(), result, madeBy) : fail(recalls.error());
    if (!proven)
      logWarning("an earlier result does not prove itself",
                 {{"job", result.jobId}, {"worker", result.worker}, {"error", proven.error().message}});
    return !proven;
  });
}

}  // namespace kiln::service
