#include "signing/model/model_signature.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "manifest/base/printable.h"
#include "signing/bundle/bundle.h"
#include "signing/model/model_files.h"
#include "signing/model/signed_envelope.h"

namespace kiln::signing {
namespace fs = std::filesystem;
namespace {

// The signature's own path, as the model's files are called; "" if it lies elsewhere.
std::string ownPath(const std::string& model, const std::string& signature) {
  if (signature.empty()) return {};
  std::error_code error;
  const auto root = fs::weakly_canonical(fs::absolute(model, error), error);
  const auto folder = fs::weakly_canonical(fs::absolute(signature, error).parent_path(), error);
  const auto relative = (folder / fs::path(signature).filename()).lexically_relative(root);
  const std::string name = relative.generic_string();
  return isResourceName(name) ? name : std::string();
}

ModelRules rulesOf(const std::string& path, const ModelScope& scope, std::vector<std::string> ignored) {
  ModelRules rules{false, std::move(ignored)};
  rules.ignored.insert(rules.ignored.end(), scope.ignored.begin(), scope.ignored.end());
  if (std::string own = ownPath(path, scope.signature); !own.empty()) rules.ignored.push_back(std::move(own));
  return rules;
}

// "changed: "a", "b", ..."; "" for none.
std::string listed(const char* what, const std::vector<std::string>& names) {
  constexpr std::size_t kMaxNamed = 4;
  if (names.empty()) return {};
  std::string out = std::string(what) + " ";
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNamed); ++i)
    out += (i > 0 ? ", " : "") + inQuotes(names[i]);
  if (names.size() > kMaxNamed) out += " and " + std::to_string(names.size() - kMaxNamed) + " more";
  return out;
}

constexpr std::uint64_t kWhole = std::numeric_limits<std::uint64_t>::max();

// Whether these are the bytes that were signed.
bool hold(const ModelResource& said, const FileDigests& found) {
  if (said.shards.empty()) return found.whole.hash == said.digest.hash;
  return std::ranges::equal(found.shards, said.shards, {}, &Digest::hash, &Digest::hash);
}

Status differ(const std::string& path, const std::vector<std::string>& changed,
              const std::vector<std::string>& missing, const std::vector<std::string>& added) {
  std::string what;
  for (const std::string& part :
       {listed("changed is", changed), listed("missing is", missing), listed("not signed is", added)})
    if (!part.empty()) what += (what.empty() ? "" : "; ") + part;
  if (what.empty()) return {};
  return fail(Code::kDataLoss, path + ": is not the model that was signed: " + what);
}

}  // namespace

Result<SignedModel> openModelSignature(std::string_view text, const AcceptedSigners& signers) {
  const auto evidence = [](const Error& error) { return error.asEvidence("model signature"); };
  KILN_ASSIGN(SignedEnvelope opened,
              openSignedEnvelope(text, signers, EnvelopeForm::kBundle).map_error(evidence));
  KILN_ASSIGN(ModelManifest manifest,
              ModelManifest::fromStatement(opened.envelope.payload).map_error(evidence));
  return SignedModel{std::move(manifest), std::move(opened.signer)};
}

Status checkFile(const std::string& path, const ModelManifest& said, const ModelResource& resource,
                 const Digest& digest) {
  if (resource.shards.size() < 2 && resource.digest.hash == digest.hash) return {};
  if (resource.shards.size() >= 2) {
    KILN_ASSIGN(const ModelFiles files, ModelFiles::open(path, {said.allowSymlinks, {}}));
    KILN_ASSIGN(const FileDigests found, files.digests(files.name(), said.shardBytes));
    if (found.whole.hash == digest.hash && hold(resource, found)) return {};
  }
  return fail(Code::kDataLoss, path + ": has changed since the model's signature was checked");
}

Status checkModel(const std::string& path, const ModelManifest& said, const ModelScope& scope) {
  ModelRules rules = rulesOf(path, scope, said.ignorePaths);
  rules.followLinks = said.allowSymlinks;
  KILN_ASSIGN(const ModelFiles files, ModelFiles::open(path, rules));
  std::vector<ModelResource> resources = said.resources;
  if (files.isFile() && resources[0].name == kWholeModel) resources[0].name = files.name();
  std::vector<std::string> changed, missing, added;
  for (const ModelResource& resource : resources)
    if (!std::ranges::binary_search(files.names(), resource.name)) missing.push_back(resource.name);
  if (!scope.allowUnsigned)
    for (const std::string& name : files.names())
      if (!std::ranges::binary_search(resources, name, {}, &ModelResource::name)) {
        KILN_ASSIGN(const std::uint64_t size, files.size(name));
        if (size > 0 || said.shardBytes == 0) added.push_back(name);
      }
  if (!missing.empty() || !added.empty()) return differ(path, changed, missing, added);
  for (const ModelResource& resource : resources) {
    if (said.shardBytes > 0) {
      KILN_ASSIGN(const std::uint64_t size, files.size(resource.name));
      if (size != resource.digest.size) {
        changed.push_back(resource.name);
        continue;
      }
    }
    KILN_ASSIGN(const FileDigests found,
                files.digests(resource.name, said.shardBytes > 0 ? said.shardBytes : kWhole));
    if (!hold(resource, found)) changed.push_back(resource.name);
  }
  return differ(path, changed, missing, added);
}

Result<std::string> signModel(const std::string& path, const ModelSigner& signer, const ModelScope& scope) {
  KILN_ASSIGN(const ModelFiles files, ModelFiles::open(path, rulesOf(path, scope, {})));
  if (files.names().empty()) return fail(Code::kInvalidArgument, path + ": there is no file to sign");
  ModelManifest manifest{files.name(), {}, false, files.ignored(), scope.shardBytes};
  for (const std::string& name : files.names()) {
    if (scope.shardBytes == 0) {
      KILN_ASSIGN(const Digest digest, files.digest(name));
      manifest.resources.push_back({name, {digest.hash, 0}});
      continue;
    }
    KILN_ASSIGN(FileDigests found, files.digests(name, scope.shardBytes));
    if (!found.shards.empty()) manifest.resources.push_back({name, found.whole, std::move(found.shards)});
  }
  if (manifest.resources.empty())
    return fail(Code::kInvalidArgument, path + ": no file has a byte, and shards have some");
  KILN_ASSIGN(const std::string statement, manifest.statement());
  // What is too large to be read again is not signed.
  if (const auto read = ModelManifest::fromStatement(statement); !read) return fail(read.error().in(path));
  KILN_ASSIGN(std::string signature,
              signer.sign(asBytes(preAuthenticationEncoding(kInTotoPayload, statement))));
  const Envelope envelope{kInTotoPayload, statement, {std::move(signature)}};
  return toCanonicalJson({{"mediaType", kBundleMediaType},
                          {"verificationMaterial", signer.material()},
                          {"dsseEnvelope", envelope.toJson()}});
}

std::string modelSignaturePath(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) ? (fs::path(path) / "model.sig").string() : path + ".sig";
}

}  // namespace kiln::signing
