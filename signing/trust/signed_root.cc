#include "signing/trust/signed_root.h"

#include "signing/keys/files.h"

namespace kiln::signing {
namespace {

Status checkThreshold(const RootFile& file, const ThresholdKeys& role, const std::string& whose) {
  const std::size_t made = file.signers(role.keys).size();
  if (made >= static_cast<std::size_t>(role.threshold)) return {};
  return fail(Code::kDataLoss, "root version " + std::to_string(file.root.version) + " is signed by " +
                                   std::to_string(made) + " of the " + std::to_string(role.threshold) +
                                   " root keys that " + whose + " wants; kiln trust sign adds one");
}

}  // namespace

Result<RootFile> RootFile::of(TrustRoot root) {
  RootFile file{std::move(root), {kRootPayload, "", {}}};
  KILN_ASSIGN(file.envelope.payload, toCanonicalJson(file.root.toJson()));
  return file;
}

Result<RootFile> RootFile::parse(std::string_view text) {
  KILN_ASSIGN(Json json, parseStrictJson(text, {.bytes = 2 * kMaxRootBytes, .depth = 8}));
  if (!json.is_object() || !json.contains("payloadType")) {
    KILN_ASSIGN(TrustRoot root, TrustRoot::parse(text));
    return of(std::move(root));
  }
  RootFile file;
  KILN_ASSIGN(file.envelope, readEnvelope(json, kRootPayload));
  KILN_TRY(parseCanonicalJson(file.envelope.payload, {.bytes = kMaxRootBytes, .depth = 8}));
  KILN_ASSIGN(file.root, TrustRoot::parse(file.envelope.payload));
  return file;
}

std::string RootFile::text() const {
  return (envelope.signatures.empty() ? envelope.payload : envelope.toJson().dump()) + "\n";
}

Status RootFile::sign(const PrivateKey& key) {
  if (!signers({key.publicKey()}).empty()) return {};
  KILN_ASSIGN(Envelope made, signEnvelope(kRootPayload, envelope.payload, key));
  envelope.signatures.push_back(std::move(made.signatures.front()));
  return {};
}

std::vector<std::string> RootFile::signers(const std::vector<PublicKey>& keys) const {
  return verifyEnvelope(envelope, keys).value_or(std::vector<std::string>());
}

Status checkSigned(const RootFile& file) {
  if (file.root.rootKeys) return checkThreshold(file, *file.root.rootKeys, "it");
  if (file.root.development) return {};
  return fail(Code::kDataLoss,
              "the root names no root keys and is not marked development; kiln trust init makes one");
}

Status checkSuccessor(const RootFile& old, const RootFile& next) {
  const std::string version = std::to_string(next.root.version);
  if (next.root.version <= old.root.version)
    return fail(Code::kDataLoss, "root version " + version + " is not after version " +
                                     std::to_string(old.root.version) + ", which was seen before");
  if (next.root.development && !old.root.development)
    return fail(Code::kDataLoss, "root version " + version +
                                     " is marked development, which the one before is not; a "
                                     "root for development is made anew, for a farm of its own");
  if (!old.root.rootKeys)
    return fail(Code::kDataLoss, "the root before version " + version + " names no keys for a successor");
  KILN_TRY(checkThreshold(next, *old.root.rootKeys, "version " + std::to_string(old.root.version)));
  return checkSigned(next);
}

Result<TrustRoot> TrustRoot::load(const std::string& path) {
  KILN_ASSIGN(std::string text, readTrustFile(path, 2 * kMaxRootBytes));
  auto file = RootFile::parse(text);
  if (!file) return fail(file.error().in(path));
  if (auto holds = checkSigned(*file); !holds) return fail(holds.error().in(path));
  return std::move(file->root);
}

}  // namespace kiln::signing
