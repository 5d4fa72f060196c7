#include "signing/model/input_statement.h"

#include <algorithm>
#include <vector>

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "manifest/statement/statement.h"
#include "signing/model/model_manifest.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxSubjects = 1024;
// As GitHub, cosign and Tekton Chains write it in their older forms.
constexpr char kOldStatementType[] = "https://in-toto.io/Statement/v0.1";

Status about(const std::string& what) {
  return fail(Code::kDataLoss, "it is about other files: " + what);
}

bool holds(const ModelManifest& said, const std::string& name, const Digest& digest) {
  const auto found = std::ranges::lower_bound(said.resources, name, {}, &ModelResource::name);
  return found != said.resources.end() && found->name == name && found->digest.hash == digest.hash;
}

// Whether the files beside the model were signed where the model names them, seen from `folder` ("" or with a
// slash at its end). What a build calls params/... had another name there.
bool besides(const ModelManifest& said, const CompileSpec& spec, const std::string& folder) {
  return std::all_of(spec.files.begin() + 1, spec.files.end(), [&](const ModelFile& file) {
    if (std::ranges::find(spec.parameters, file.path) == spec.parameters.end())
      return holds(said, folder + file.path, file.digest);
    return std::ranges::any_of(said.resources, [&](const ModelResource& resource) {
      return resource.digest.hash == file.digest.hash;
    });
  });
}

Status checkModelFiles(const ModelManifest& said, const CompileSpec& spec) {
  for (const ModelResource& resource : said.resources)
    if (resource.digest.hash == spec.files[0].digest.hash &&
        besides(said, spec, resource.name.substr(0, resource.name.rfind('/') + 1)))
      return {};
  if (std::ranges::any_of(said.resources, [](const ModelResource& one) { return one.shards.size() > 1; }))
    return fail(
        Code::kUnimplemented,
        "it was signed in several shards of a file, which say nothing of the whole file's digest; have "
        "it signed by whole files");
  return about("the model signature does not cover the artifact's model with all that belongs to it");
}

// The inputs that the statement has as subjects.
Result<std::vector<ModelFile>> subjectsAmong(ObjectReader& reader, const CompileSpec& spec) {
  KILN_ASSIGN(const Json* subjects, reader.array("subject"));
  if (subjects->empty() || subjects->size() > kMaxSubjects)
    return badMember("statement.subject", "must hold 1 to 1024 subjects");
  std::vector<ModelFile> out;
  for (const ModelFile& file : spec.files)
    if (std::ranges::any_of(*subjects, [&](const Json& subject) {
          const Json::json_pointer place("/digest/sha256");
          return subject.is_object() && subject.contains(place) && subject[place] == file.digest.hex();
        }))
      out.push_back(file);
  if (out.empty()) return fail(about("none of its subjects is a file of the artifact's model").error());
  return out;
}

}  // namespace

Result<Json> inputStatement(std::string_view text, const AcceptedSigners& signers, const CompileSpec& spec) {
  KILN_ASSIGN(const SignedEnvelope opened, openSignedEnvelope(text, signers, EnvelopeForm::kBundleOrBare));
  const std::string& payload = opened.envelope.payload;
  KILN_ASSIGN(const Json json, parseJson(payload, {.bytes = kMaxForeignBytes}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "statement"));
  KILN_ASSIGN(const std::string form, reader.string("_type"));
  if (form != kStatementType && form != kOldStatementType)
    return badMember("statement._type", inQuotes(form) + " is no in-toto statement");
  KILN_ASSIGN(const std::string type, reader.string("predicateType"));
  std::vector<ModelFile> inputs = spec.files;
  if (type == kModelSignatureType) {
    KILN_ASSIGN(const ModelManifest said, ModelManifest::fromStatement(payload));
    KILN_TRY(checkModelFiles(said, spec));
  } else {
    KILN_ASSIGN(inputs, subjectsAmong(reader, spec));
  }
  Json list = Json::array();
  for (const ModelFile& input : inputs)
    list.push_back({{"path", input.path}, {"digest", input.digest.text()}});
  Json out{{"inputs", std::move(list)},           {"predicateType", type},
           {"payload", digestOf(payload).text()}, {"keyId", opened.signer.keyId},
           {"publicKey", opened.signer.pem},      {"envelope", opened.envelope.toJson()}};
  if (opened.signer.identity.empty()) return out;
  out["identity"] = opened.signer.identity;
  out["root"] = digestOf(opened.signer.chain.back().der()).text();
  for (const X509Certificate& one : opened.signer.chain)
    out["certificates"].push_back(toBase64(asBytes(one.der())));
  if (opened.signer.issuer.empty()) return out;
  out["issuer"] = opened.signer.issuer;
  out["time"] = rfc3339(*opened.signer.at);
  out["verificationMaterial"] = opened.signer.material;
  return out;
}

}  // namespace kiln::signing
