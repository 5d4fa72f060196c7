#include "api/client/trusted_artifact.h"

#include <algorithm>
#include <set>

#include "api/client/artifact_ref.h"
#include "api/node/fetch.h"
#include "manifest/base/printable.h"
#include "signing/verify/admission.h"
#include "storage/tree/digest_proto.h"

namespace kiln::client {
namespace {

constexpr std::uint64_t kMaxBundleBytes = 12u << 20;
constexpr char kLabelParameter[] = "toolchainLabel";

// Whatever is signed and not recalled.
signing::Policy anyPolicy() {
  signing::Policy policy = node::defaultPolicy();
  policy.allowDevelopment = true;
  return policy;
}

bool isOutage(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kDeadlineExceeded;
}

Result<std::string> readAdmission(Client& client, const v1::Toolchain& toolchain) {
  if (!toolchain.has_admission()) return fail(Code::kNotFound, "no statement says that it was admitted");
  KILN_ASSIGN(const Digest digest, fromProto(toolchain.admission()));
  return storage::getBlob(client.blobs(), client.instance(), digest, kMaxBundleBytes);
}

// That the label was admitted for this tree, and signed by somebody whom the root lets say so.
Status checkLabel(Client& client, const std::string& label, const Digest& tree, const node::Trust& trust,
                  TimePoint now) {
  const auto refused = [&](const std::string& why) {
    return fail(Error{Code::kDataLoss,
                      "it was built with toolchain " + tree.text() +
                          ", and no signed admission says that this is " + printable(label) + ": " + why,
                      R"({"exitCode":5})"});
  };
  const auto toolchain = client.toolchain(label);
  if (!toolchain && toolchain.error().code != Code::kNotFound) return fail(toolchain.error());
  if (!toolchain) return refused(toolchain.error().message);
  const auto bundle = readAdmission(client, *toolchain);
  if (!bundle && isOutage(bundle.error())) return fail(client.explain(bundle.error()));
  if (!bundle) return refused(bundle.error().message);
  const auto admission = signing::verifyAdmission(*bundle, tree, client.instance(), trust.root, now);
  if (!admission) return refused(admission.error().message);
  if (admission->label != label) return refused("its admission is that of " + printable(admission->label));
  return {};
}

Status checkArtifact(Client& client, const std::string& toolchain, const std::string& artifact,
                     node::Trust& trust, const Clock& clock) {
  KILN_ASSIGN(const node::ArtifactRef ref, findArtifact(client, artifact));
  const auto verdict = node::examineArtifact(client.blobs(), ref, trust, clock);
  if (!verdict) return fail(isOutage(verdict.error()) ? client.explain(verdict.error()) : verdict.error());
  std::set<std::string> labels;
  for (const Provenance& provenance : verdict->statements)
    if (const auto stated = provenance.externalParameters.find(kLabelParameter);
        stated != provenance.externalParameters.end())
      labels.insert(stated->second);
  if (!toolchain.empty() && !toolchain.starts_with("sha256:")) labels.insert(toolchain);
  const TimePoint now = std::max(clock.now(), trust.latestSeen);
  for (const std::string& label : labels)
    KILN_TRY(checkLabel(client, label, verdict->manifest.spec.toolchainDigest, trust, now));
  return {};
}

}  // namespace

Status checkTrusted(Client& client, const std::string& toolchain, const v1::Job& job, node::Trust trust,
                    const Clock& clock) {
  trust.policy = anyPolicy();
  for (const v1::JobArtifact& artifact : job.artifacts())
    if (Status trusted = checkArtifact(client, toolchain, artifact.digest(), trust, clock); !trusted)
      return fail(trusted.error().in("artifact " + artifact.digest()));
  return {};
}

}  // namespace kiln::client
