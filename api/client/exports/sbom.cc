#include "api/client/exports/sbom.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

namespace kiln::client {
namespace {

enum class Role { kModel, kData, kToolchain, kFile };

// One thing that went in or came out.
struct Part {
  Role role;
  std::string name, uri;  // uri: "" where nobody says
  Digest digest;
};

struct Bill {
  std::string name;  // of the model
  const Provenance* provenance;
  std::vector<Part> inputs, files;
};

Role roleOf(const std::string& dependency, const CompileSpec& spec) {
  if (dependency == "toolchain") return Role::kToolchain;
  return !spec.files.empty() && dependency == "input/" + spec.files.front().path ? Role::kModel : Role::kData;
}

Result<Bill> billOf(const signing::Verdict& verdict) {
  if (verdict.statements.empty()) {
    return fail(Code::kFailedPrecondition,
                "no provenance counted, so that nothing says what the artifact was made of");
  }
  const Manifest& manifest = verdict.manifest;
  Bill bill{manifest.spec.files.empty() ? "model"
                                        : std::filesystem::path(manifest.spec.files.front().path).filename(),
            &*std::ranges::min_element(verdict.statements, {}, &Provenance::finishedOn),
            {},
            {}};
  for (const Material& material : bill.provenance->resolvedDependencies)
    bill.inputs.push_back(
        {roleOf(material.name, manifest.spec), material.name, material.uri, material.digest});
  for (const ArtifactFile& file : manifest.files())
    bill.files.push_back({Role::kFile, file.path, "", file.digest});
  return bill;
}

// --- CycloneDX

Json hashes(const Digest& digest) {
  return Json::array({{{"alg", "SHA-256"}, {"content", digest.hex()}}});
}

Json property(const char* name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

std::string typeName(Role role) {
  switch (role) {
    case Role::kModel:
      return "machine-learning-model";
    case Role::kData:
      return "data";
    case Role::kToolchain:
      return "application";
    case Role::kFile:
      break;
  }
  return "file";
}

Json tensors(const std::vector<TensorInfo>& infos) {
  Json list = Json::array();
  for (const TensorInfo& info : infos) {
    std::vector<std::string> dims;
    for (const Dim& dim : info.shape) dims.push_back(dim.text());
    list.push_back(
        {{"format", fmt::format("{}: {}[{}]", info.name, info.isText ? "text" : dtypeName(info.dtype),
                                fmt::join(dims, ","))}});
  }
  return list;
}

// Two files may have the same bytes, so a reference has the place too.
std::string referenceOf(const char* list, std::size_t place) {
  return fmt::format("{}-{}", list, place);
}

Json componentsOf(const std::vector<Part>& parts, const char* list) {
  Json components = Json::array();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    Json component = {{"type", typeName(part.role)},
                      {"bom-ref", referenceOf(list, i)},
                      {"name", part.name},
                      {"hashes", hashes(part.digest)}};
    if (!part.uri.empty())
      component["externalReferences"] =
          Json::array({{{"type", part.uri.starts_with("git+") ? "vcs" : "distribution"}, {"url", part.uri}}});
    components.push_back(std::move(component));
  }
  return components;
}

// Of a hash, so that the same artifact has the same serial number: a UUID of version 8 (RFC 9562).
std::string serialNumber(const Digest& digest) {
  std::string hex = digest.hex().substr(0, 32);
  hex[12] = '8';
  hex[16] = 'a';
  return fmt::format("urn:uuid:{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4),
                     hex.substr(16, 4), hex.substr(20));
}

// --- SPDX

Json spdxPackage(const std::string& id, const Part& part, const char* purpose) {
  return {{"SPDXID", id},
          {"name", part.name},
          {"downloadLocation", part.uri.empty() ? "NOASSERTION" : part.uri},
          {"filesAnalyzed", false},
          {"checksums", Json::array({{{"algorithm", "SHA256"}, {"checksumValue", part.digest.hex()}}})},
          {"licenseConcluded", "NOASSERTION"},
          {"licenseDeclared", "NOASSERTION"},
          {"copyrightText", "NOASSERTION"},
          {"primaryPackagePurpose", purpose}};
}

Json relationship(const std::string& from, const char* type, const std::string& to) {
  return {{"spdxElementId", from}, {"relationshipType", type}, {"relatedSpdxElement", to}};
}

}  // namespace

Result<Json> cycloneDx(const signing::Verdict& verdict) {
  KILN_ASSIGN(const Bill bill, billOf(verdict));
  const Manifest& manifest = verdict.manifest;
  Json inputs = componentsOf(bill.inputs, "input"), files = componentsOf(bill.files, "file");
  Json ingredients = Json::array();
  for (const Json& input : inputs) ingredients.push_back(input.at("bom-ref"));
  Json properties = Json::array({property("kiln:target", manifest.spec.target),
                                 property("kiln:builder", bill.provenance->builderId),
                                 property("kiln:job", bill.provenance->invocationId)});
  for (const Builder& builder : bill.provenance->builders)
    properties.push_back(property("kiln:worker", builder.worker + " of " + builder.operatorName));
  const Json artifact = {
      {"type", "machine-learning-model"},
      {"bom-ref", "artifact"},
      {"name", bill.name},
      {"version", verdict.artifact.text()},
      {"hashes", hashes(verdict.artifact)},
      {"modelCard",
       {{"modelParameters", {{"inputs", tensors(manifest.inputs)}, {"outputs", tensors(manifest.outputs)}}}}},
      {"components", std::move(files)},
      {"properties", std::move(properties)}};
  return Json{{"bomFormat", "CycloneDX"},
              {"specVersion", "1.6"},
              {"serialNumber", serialNumber(verdict.artifact)},
              {"version", 1},
              {"metadata", {{"timestamp", rfc3339(bill.provenance->finishedOn)}, {"component", artifact}}},
              {"components", std::move(inputs)},
              {"dependencies", Json::array({{{"ref", "artifact"}, {"dependsOn", std::move(ingredients)}}})}};
}

Result<Json> spdx(const signing::Verdict& verdict) {
  KILN_ASSIGN(const Bill bill, billOf(verdict));
  const std::string document = "SPDXRef-DOCUMENT", artifact = "SPDXRef-artifact";
  Json packages =
      Json::array({spdxPackage(artifact, {Role::kModel, bill.name, "", verdict.artifact}, "APPLICATION")});
  packages.back()["versionInfo"] = verdict.artifact.text();
  packages.back()["comment"] = "An artifact of Kiln for " + verdict.manifest.spec.target +
                               "; the checksum is that of its OCI manifest, artifact.json.";
  Json relations = Json::array({relationship(document, "DESCRIBES", artifact)});
  for (std::size_t i = 0; i < bill.inputs.size(); ++i) {
    const std::string id = "SPDXRef-" + referenceOf("input", i);
    const bool isTool = bill.inputs[i].role == Role::kToolchain;
    packages.push_back(spdxPackage(id, bill.inputs[i], isTool ? "APPLICATION" : "SOURCE"));
    relations.push_back(isTool ? relationship(id, "BUILD_TOOL_OF", artifact)
                               : relationship(artifact, "GENERATED_FROM", id));
  }
  for (std::size_t i = 0; i < bill.files.size(); ++i) {
    const std::string id = "SPDXRef-" + referenceOf("file", i);
    packages.push_back(spdxPackage(id, bill.files[i], "FILE"));
    relations.push_back(relationship(artifact, "CONTAINS", id));
  }
  return Json{
      {"spdxVersion", "SPDX-2.3"},
      {"dataLicense", "CC0-1.0"},
      {"SPDXID", document},
      {"name", bill.name},
      {"documentNamespace", "urn:kiln:sbom:" + verdict.artifact.hex()},
      {"creationInfo",
       {{"created", rfc3339(bill.provenance->finishedOn)}, {"creators", Json::array({"Tool: kiln"})}}},
      {"packages", std::move(packages)},
      {"relationships", std::move(relations)}};
}

}  // namespace kiln::client
