#include "coordinator/policy/instance_policies.h"

#include "coordinator/farm/instances.h"
#include "coordinator/recall/recalls.h"
#include "manifest/artifact/oci.h"
#include "signing/bundle/bundle.h"
#include "signing/keys/files.h"
#include "signing/trust/signed_root.h"
#include "storage/index/artifacts/artifact_repository.h"

namespace kiln::service {
namespace {

constexpr std::uint64_t kMaxBundleBytes = 12u << 20;

class StoppedClock final : public Clock {
 public:
  explicit StoppedClock(TimePoint now) : now_(now) {}
  TimePoint now() const override { return now_; }

 private:
  const TimePoint now_;
};

// A policy may ask for the verdict of another verifier, never for the one that is being made.
bool isOwnVerdict(const std::string& text, const std::string& id) {
  const auto bundle = signing::parseBundle(text);
  const auto statement = bundle ? parseStatement(bundle->envelope.payload) : fail(bundle.error());
  if (!statement || statement->predicateType != kVsaType) return false;
  const auto summary = VerificationSummary::fromJson(statement->predicate);
  return summary && summary->verifierId == id;
}

Result<std::vector<std::string>> bundlesOf(const Judging& judging, const index::ArtifactRecord& artifact) {
  std::vector<std::string> out;
  for (const index::BundleRecord& record : artifact.bundles) {
    KILN_ASSIGN(std::string text,
                storage::getBlob(judging.stores.blobs, artifact.instance, record.bundle, kMaxBundleBytes));
    if (record.predicateType != kVsaType || !isOwnVerdict(text, judging.signatory.builder.id))
      out.push_back(std::move(text));
  }
  return out;
}

}  // namespace

Result<InstancePolicies> InstancePolicies::load(const std::string& trustRoot,
                                                const std::vector<std::string>& options) {
  InstancePolicies out;
  out.trustRoot_ = trustRoot;
  if (!options.empty() && trustRoot.empty())
    return fail(Code::kInvalidArgument, "--policy: verdicts are given under a trust root; give --trust-root");
  for (const std::string& option : options) {
    const std::size_t equals = option.find('=');
    const bool named = equals != std::string::npos;
    auto policy = signing::Policy::load(named ? option.substr(equals + 1) : option);
    if (!policy) return fail(policy.error().in("--policy"));
    const std::string instance = named ? option.substr(0, equals) : kDefaultInstance;
    if (!out.policies_.emplace(instance, std::move(*policy)).second)
      return fail(Code::kInvalidArgument, "--policy: instance " + instance + " has two");
  }
  return out;
}

const signing::Policy* InstancePolicies::find(const std::string& instance) const {
  const auto found = policies_.find(instance);
  return found == policies_.end() ? nullptr : &found->second;
}

Result<signing::TrustRoot> InstancePolicies::root() const {
  KILN_ASSIGN(const std::string text, signing::readTrustFile(trustRoot_, 2 * signing::kMaxRootBytes));
  KILN_ASSIGN(signing::RootFile file, signing::RootFile::parse(text));
  KILN_TRY(signing::checkSigned(file));
  return std::move(file.root);
}

Result<std::optional<signing::Verdict>> InstancePolicies::judge(const Judging& judging,
                                                                const std::string& instance,
                                                                const Digest& artifact, TimePoint now) const {
  const signing::Policy* policy = find(instance);
  if (!policy) return std::optional<signing::Verdict>();
  KILN_ASSIGN(const signing::TrustRoot trusted, root());
  std::optional<index::ArtifactRecord> record;
  {
    KILN_ASSIGN(auto connection, judging.stores.database.acquire());
    KILN_ASSIGN(record, index::findArtifact(*connection, instance, artifact));
    if (!record) return fail(Code::kNotFound, "no artifact " + artifact.text() + " is published here");
    KILN_TRY(index::loadEvidence(*connection, *record));
  }
  KILN_ASSIGN(const std::string text,
              storage::getBlob(judging.stores.blobs, instance, record->digest, kMaxOciManifestBytes));
  signing::VerifyRequest request{.artifactJson = text, .artifact = record->digest, .statementsOnly = true};
  request.read = [&](const ArtifactFile& file, const std::function<Status(Bytes)>& sink) {
    return judging.stores.blobs.read(instance, file.digest, 0, 0, sink);
  };
  KILN_ASSIGN(request.bundles, bundlesOf(judging, *record));
  KILN_ASSIGN(const auto recalls, recallsInForce(judging.recalls));
  return std::optional(
      signing::verifyArtifact(request, trusted, *policy, StoppedClock(now), {.recalls = recalls.get()}));
}

}  // namespace kiln::service
