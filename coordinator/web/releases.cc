#include "coordinator/web/releases.h"

#include "coordinator/recall/recalls.h"
#include "manifest/artifact/manifest.h"
#include "manifest/artifact/oci.h"
#include "manifest/base/printable.h"
#include "storage/index/artifacts/referrer_repository.h"

namespace kiln::server {
namespace {

using service::Judging;

constexpr std::uint64_t kMaxManifestBytes = 64u << 20;

// All that a verdict rests on, the policy aside, which stays while the program runs.
Result<Digest> factsOf(const service::Stores& stores, const service::InstancePolicies& policies,
                       const std::string& instance, const Digest& artifact, const signing::Recalls* recalls) {
  std::string all;
  if (policies.find(instance)) {
    KILN_ASSIGN(const signing::TrustRoot root, policies.root());
    KILN_ASSIGN(all, toCanonicalJson(root.toJson()));
  }
  all += digestOf(recalls ? recalls->text : "").hex() + instance + "\n" + artifact.hex();
  KILN_ASSIGN(auto connection, stores.database.acquire());
  KILN_ASSIGN(const auto found, index::loadReferrers(*connection, instance, artifact));
  if (!found) return fail(Code::kNotFound, "no such artifact is published");
  for (const Digest& bundle : found->bundles) all += bundle.hex();
  const auto minute = std::chrono::floor<std::chrono::minutes>(stores.clock.now()).time_since_epoch().count();
  return digestOf(all + std::to_string(minute));
}

Status statusOf(const signing::Verdict& verdict, const signing::Policy& policy) {
  if (verdict.passed) return {};
  std::string failed;
  for (const signing::VerdictLine& line : verdict.lines)
    if (!line.ok) failed += (failed.empty() ? "" : "; ") + line.check + ": " + line.detail;
  return fail(Code::kPermissionDenied,
              "the policy " + inQuotes(policy.name) + " of this instance refuses the artifact: " + failed);
}

// The artifact and what it was made of, by its Manifest.
Result<Status> checkRecalled(storage::BlobStore& blobs, const std::string& instance, const Digest& artifact,
                             const signing::Recalls& recalls) {
  KILN_ASSIGN(const std::string text, storage::getBlob(blobs, instance, artifact, kMaxOciManifestBytes));
  KILN_ASSIGN(const OciManifest oci, parseOciManifest(text));
  KILN_ASSIGN(const std::string config, storage::getBlob(blobs, instance, oci.config, kMaxManifestBytes));
  KILN_ASSIGN(const Json json, parseCanonicalJson(config));
  KILN_ASSIGN(const Manifest manifest, Manifest::fromJson(json));
  std::vector<Digest> made{artifact};
  for (const Material& material : dependencies(manifest.spec)) made.push_back(material.digest);
  for (const Digest& digest : made)
    if (const auto* recall = recalls.condemns(digest))
      return Status(fail(Code::kPermissionDenied,
                         (digest == artifact ? "" : digest.text() + " in it was ") + describe(*recall)));
  return Status();
}

}  // namespace

Result<Status> Releases::judge(const std::string& instance, const Digest& artifact,
                               const signing::Recalls* recalls) const {
  if (const signing::Policy* policy = policies_.find(instance)) {
    KILN_ASSIGN(const auto verdict,
                policies_.judge(judging_, instance, artifact, judging_.stores.clock.now()));
    return verdict ? statusOf(*verdict, *policy) : Status();
  }
  KILN_ASSIGN(auto connection, judging_.stores.database.acquire());
  KILN_ASSIGN(const auto found, index::loadReferrers(*connection, instance, artifact));
  if (!found) return fail(Code::kNotFound, "no such artifact is published");
  return checkRecalled(judging_.stores.blobs, instance, found->artifact, *recalls);
}

Status Releases::check(const std::string& instance, const Digest& artifact) {
  KILN_ASSIGN(const auto recalls, service::recallsInForce(judging_.recalls));
  if (!recalls && !policies_.find(instance)) return {};
  KILN_ASSIGN(const Digest facts, factsOf(judging_.stores, policies_, instance, artifact, recalls.get()));
  if (const auto known = verdicts_.find(facts)) return *known;
  KILN_ASSIGN(Status status, judge(instance, artifact, recalls.get()));
  verdicts_.insert(facts, std::make_shared<const Status>(status));
  return status;
}

}  // namespace kiln::server
