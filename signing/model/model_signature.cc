#include "signing/model/model_signature.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "signing/model/model_files.h"

namespace kiln::signing {
namespace fs = std::filesystem;
namespace {

constexpr char kMediaType[] = "application/vnd.dev.sigstore.bundle.v0.3+json";

// A bundle is a few long strings; with many values it is none, and costs much memory to be read.
Status checkValues(std::string_view text) {
  constexpr std::ptrdiff_t kMaxValues = 4096;
  const auto separates = [](char c) { return c == '[' || c == '{' || c == ','; };
  if (std::ranges::count_if(text, separates) <= kMaxValues) return {};
  return fail(Code::kInvalidArgument, "bundle: holds more than " + std::to_string(kMaxValues) + " values");
}

// The key's hint is not read: it says which key to try, and those to try are named by whoever checks.
Status checkMaterial(ObjectReader& reader) {
  KILN_ASSIGN(ObjectReader material, reader.object("verificationMaterial"));
  for (const char* other : {"x509CertificateChain", "certificate"})
    if (material.has(other))
      return fail(Code::kUnimplemented,
                  material.path(other) + ": signatures by certificate are not served; have it signed by key");
  return material.object("publicKey").map([](const ObjectReader&) {});
}

// Early signers wrote "keyid": null where others leave it out.
Json withoutKeyIds(Json envelope) {
  const auto signatures = envelope.find("signatures");
  if (signatures == envelope.end() || !signatures->is_array()) return envelope;
  for (Json& signature : *signatures)
    if (signature.is_object()) signature.erase("keyid");
  return envelope;
}

Result<Envelope> parseSignature(std::string_view text) {
  KILN_TRY(checkValues(text));
  KILN_ASSIGN(const Json json, parseJson(text, {.bytes = kMaxModelSignatureBytes, .depth = 16}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "bundle"));
  KILN_TRY(reader.expect("mediaType", kMediaType));
  KILN_TRY(checkMaterial(reader));
  KILN_TRY(reader.object("dsseEnvelope"));
  KILN_ASSIGN(const Json* envelope, reader.any("dsseEnvelope"));
  KILN_ASSIGN(Envelope out, readEnvelope(withoutKeyIds(*envelope), kInTotoPayload));
  if (out.signatures.size() != 1)
    return badMember("bundle.dsseEnvelope.signatures", "must hold exactly one signature");
  return out;
}

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

Result<SignedModel> openModelSignature(std::string_view text, std::span<const ModelKey> keys) {
  const auto evidence = [](const Error& error) { return error.asEvidence("model signature"); };
  KILN_ASSIGN(Envelope envelope, parseSignature(text).map_error(evidence));
  const std::string message = preAuthenticationEncoding(envelope.payloadType, envelope.payload);
  const auto signer = std::ranges::find_if(keys, [&](const ModelKey& key) {
    return key.verifies(asBytes(message), asBytes(envelope.signatures[0]));
  });
  if (signer == keys.end())
    return fail(Code::kDataLoss, keys.size() == 1
                                     ? "model signature: it was not made by the key that is named"
                                     : "model signature: it was made by none of the keys that are named");
  KILN_ASSIGN(ModelManifest manifest, ModelManifest::fromStatement(envelope.payload).map_error(evidence));
  return SignedModel{std::move(manifest), signer->id(), std::move(envelope)};
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
      if (!std::ranges::binary_search(resources, name, {}, &ModelResource::name)) added.push_back(name);
  if (!missing.empty() || !added.empty()) return differ(path, changed, missing, added);
  for (const ModelResource& resource : resources) {
    KILN_ASSIGN(const Digest found, files.digest(resource.name));
    if (found.hash != resource.digest.hash) changed.push_back(resource.name);
  }
  return differ(path, changed, missing, added);
}

Result<std::string> signModel(const std::string& path, const PrivateKey& key, const ModelScope& scope) {
  KILN_ASSIGN(const ModelFiles files, ModelFiles::open(path, rulesOf(path, scope, {})));
  if (files.names().empty()) return fail(Code::kInvalidArgument, path + ": there is no file to sign");
  ModelManifest manifest{files.name(), {}, false, files.ignored()};
  for (const std::string& name : files.names()) {
    KILN_ASSIGN(Digest digest, files.digest(name));
    digest.size = 0;
    manifest.resources.push_back({name, digest});
  }
  KILN_ASSIGN(const std::string statement, manifest.statement());
  KILN_ASSIGN(const Envelope envelope, signEnvelope(kInTotoPayload, statement, key));
  const Json material{{"publicKey", {{"hint", modelKeyHint(key.publicKey().pem())}}},
                      {"tlogEntries", Json::array()}};
  return toCanonicalJson(
      {{"mediaType", kMediaType}, {"verificationMaterial", material}, {"dsseEnvelope", envelope.toJson()}});
}

std::string modelSignaturePath(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) ? (fs::path(path) / "model.sig").string() : path + ".sig";
}

}  // namespace kiln::signing
