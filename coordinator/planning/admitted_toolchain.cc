#include "coordinator/planning/admitted_toolchain.h"

#include <algorithm>
#include <optional>

#include "manifest/base/exit_code.h"
#include "signing/bundle/bundle.h"
#include "signing/keys/files.h"
#include "signing/trust/signed_root.h"
#include "signing/verify/admission.h"
#include "storage/blob/blob_store.h"
#include "storage/index/toolchains/toolchain_repository.h"

namespace kiln::service {
namespace {

constexpr std::uint64_t kMaxBundleBytes = 12u << 20;

// What the farm's own key says, as no root need say it.
Result<signing::TrustRoot> ownRoot(const Admissions& admissions) {
  KILN_ASSIGN(const std::string pem, admissions.signatory.signer.publicKeyPem());
  KILN_ASSIGN(const signing::PublicKey key, signing::PublicKey::fromPem(pem));
  return signing::developmentRoot(key, admissions.signatory.builder.id, admissions.stores.clock.now());
}

// The farm's root as its file is now; "" if it was given none.
Result<std::string> rootText(const Admissions& admissions) {
  if (admissions.trustRoot.empty()) return std::string();
  auto text = signing::readTextFile(admissions.trustRoot, 2 * signing::kMaxRootBytes);
  if (!text) return fail(Code::kUnavailable, "the farm's trust root: " + text.error().message);
  return text;
}

Result<signing::TrustRoot> farmsRoot(const std::string& text) {
  KILN_ASSIGN(signing::RootFile file, signing::RootFile::parse(text));
  KILN_TRY(signing::checkSigned(file));
  return std::move(file.root);
}

bool isRevoked(const signing::TrustRoot& root, const std::string& keyId) {
  return std::ranges::any_of(root.revocations, [&](const auto& gone) { return gone.keyId == keyId; });
}

// What the root has revoked does not count because it is this farm's own.
bool isByRevoked(const signing::TrustRoot& root, const std::string& bundle) {
  const auto read = signing::parseBundle(bundle);
  return read && isRevoked(root, read->keyId);
}

Result<ToolchainAdmission> admissionOf(const Admissions& admissions, const std::string& text,
                                       const index::ToolchainRecord& toolchain) {
  KILN_ASSIGN(const std::string bundle, storage::getBlob(admissions.stores.blobs, toolchain.instance,
                                                         *toolchain.admission, kMaxBundleBytes));
  const auto verified = [&](const signing::TrustRoot& root) {
    return signing::verifyAdmission(bundle, toolchain.toolchainDigest, toolchain.instance, root,
                                    admissions.stores.clock.now());
  };
  std::optional<Error> byRoot;  // why the root does not do, if there is one
  if (!text.empty()) {
    KILN_ASSIGN(const signing::TrustRoot root, farmsRoot(text));
    auto admission = verified(root);
    if (admission || isByRevoked(root, bundle)) return admission;
    byRoot = admission.error();
  }
  KILN_ASSIGN(const signing::TrustRoot own, ownRoot(admissions));
  auto admission = verified(own);
  if (!admission && byRoot) return fail(*byRoot);
  return admission;
}

// The same, once under each root: what was admitted stays so until the root says otherwise, and the signer
// need not be there for each submission.
Result<std::shared_ptr<const ToolchainAdmission>> cachedAdmission(const Admissions& admissions,
                                                                  const index::ToolchainRecord& toolchain) {
  KILN_ASSIGN(const std::string root, rootText(admissions));
  const Digest evidence = digestOf(toolchain.admission->hex() + toolchain.toolchainDigest.hex() +
                                   digestOf(root).hex() + toolchain.instance);
  if (auto known = admissions.cache.find(evidence)) return known;
  KILN_ASSIGN(ToolchainAdmission admission, admissionOf(admissions, root, toolchain));
  auto read = std::make_shared<const ToolchainAdmission>(std::move(admission));
  admissions.cache.insert(evidence, read);
  return read;
}

// The row says what no signed statement does.
Error unproven(std::string what) {
  return {Code::kDataLoss, std::move(what), "{\"exitCode\":" + std::to_string(kExitVerification) + "}"};
}

}  // namespace

Result<std::optional<Error>> doubtOf(const Admissions& admissions, const index::ToolchainRecord& toolchain) {
  const auto admission = cachedAdmission(admissions, toolchain);
  if (!admission) {
    const Code code = admission.error().code;
    if (code == Code::kDataLoss || code == Code::kPermissionDenied || code == Code::kNotFound)
      return std::optional(admission.error());
    return fail(admission.error());
  }
  if ((*admission)->label == toolchain.label) return std::optional<Error>();
  return std::optional(Error{Code::kDataLoss, "it admits " + (*admission)->label, {}});
}

Result<bool> namesInstance(const Admissions& admissions, const index::ToolchainRecord& toolchain) {
  KILN_ASSIGN(const auto admission, cachedAdmission(admissions, toolchain));
  return admission->instance.has_value();
}

Status checkMayAdmit(const Admissions& admissions) {
  KILN_ASSIGN(const std::string text, rootText(admissions));
  if (text.empty()) return {};
  KILN_ASSIGN(const signing::TrustRoot root, farmsRoot(text));
  KILN_ASSIGN(const std::string pem, admissions.signatory.signer.publicKeyPem());
  KILN_ASSIGN(const signing::PublicKey key, signing::PublicKey::fromPem(pem));
  if (!isRevoked(root, key.id())) return {};
  return fail(Code::kFailedPrecondition,
              "the farm's trust root has revoked the key of its signer, so that nobody would believe the "
              "admission; start kiln-signer with a key that the root lists, and add the toolchain again");
}

Result<index::ToolchainRecord> admittedToolchain(const Admissions& admissions,
                                                 postgres::Connection& connection,
                                                 const std::string& instance, const std::string& name) {
  KILN_ASSIGN(index::ToolchainRecord toolchain, index::findToolchain(connection, instance, name));
  if (!toolchain.admission)
    return fail(unproven("no statement says that toolchain " + toolchain.label +
                         " was admitted here; add it once more: kiln toolchain add"));
  KILN_ASSIGN(const std::optional<Error> doubt, doubtOf(admissions, toolchain));
  if (!doubt) return toolchain;
  return fail(unproven("toolchain " + toolchain.label + " is " + toolchain.toolchainDigest.text() +
                       " in the farm's database, and its signed admission does not say so: " +
                       doubt->message + "; whoever has that tree may admit it again: kiln toolchain add"));
}

}  // namespace kiln::service
