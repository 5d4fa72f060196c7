#include "manifest/statement/provenance.h"

#include <algorithm>
#include <set>

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"

namespace kiln {
namespace {

using Strings = std::map<std::string, std::string>;

constexpr std::size_t kMaxMaterials = 8192;
constexpr std::string_view kRequired[] = {"externalData", "fallback",     "features", "model",
                                          "numerics",     "outOfProfile", "pins",     "profiles",
                                          "target",       "toolchain",    "budgets"};
constexpr std::string_view kOptional[] = {"modelSource", "parameters", "partition", "sequences",
                                          "toolchainLabel"};

Json materialJson(const Material& material) {
  Json annotations = material.annotations;
  annotations["size"] = std::to_string(material.digest.size);
  Json out{{"name", material.name},
           {"digest", {{"sha256", material.digest.hex()}}},
           {"annotations", std::move(annotations)}};
  if (!material.uri.empty()) out["uri"] = material.uri;
  return out;
}

Result<Strings> readStrings(ObjectReader& parent, std::string_view name) {
  KILN_ASSIGN(const Json* json, parent.any(name));
  if (!json->is_object()) return badMember(parent.path(name), "must be an object");
  Strings out;
  for (auto it = json->begin(); it != json->end(); ++it) {
    const auto* text = it->get_ptr<const std::string*>();
    if (!text) return badMember(parent.path(name) + "." + printable(it.key()), "must be a string");
    out.emplace(it.key(), *text);
  }
  return out;
}

Result<Material> readMaterial(const Json& json, const std::string& place) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
  Material material;
  KILN_ASSIGN(material.name, reader.string("name"));
  if (reader.has("uri")) {
    KILN_ASSIGN(material.uri, reader.string("uri"));
  }
  KILN_ASSIGN(material.annotations, readStrings(reader, "annotations"));
  auto size = parseDecimal(material.annotations["size"]);
  if (!size) return badMember(reader.path("annotations.size"), "must be a decimal string");
  material.annotations.erase("size");
  KILN_ASSIGN(ObjectReader digests, reader.object("digest"));
  KILN_ASSIGN(std::string hex, digests.string("sha256"));
  auto digest = Digest::parse(hex, *size);
  if (!digest || hex.size() != 64)
    return badMember(digests.path("sha256"), "must be 64 lowercase hex digits");
  material.digest = *digest;
  KILN_TRY(digests.finish());
  KILN_TRY(reader.finish());
  return material;
}

Result<std::vector<Material>> readMaterials(ObjectReader& parent, std::string_view name) {
  KILN_ASSIGN(const Json* list, parent.array(name));
  if (list->size() > kMaxMaterials) return badMember(parent.path(name), "too many entries");
  std::vector<Material> out;
  for (const Json& element : *list) {
    KILN_ASSIGN(Material material,
                readMaterial(element, parent.path(name) + "[" + std::to_string(out.size()) + "]"));
    out.push_back(std::move(material));
  }
  return out;
}

// Only what did not run in Kiln's sandbox says where it ran.
bool hasSandbox(const Material& material) {
  return material.annotations.contains(kSandboxAnnotation);
}

// A name and a digest, and whose sandbox they are from unless it is Kiln's; there is one list of fixtures or
// none.
Status checkFixtures(const Material& material, const Provenance& provenance) {
  if (!material.uri.empty() || material.annotations.size() != (hasSandbox(material) ? 1 : 0))
    return fail(Code::kInvalidArgument, "predicate: the fixtures must have a digest and a size alone");
  if (provenance.fixtures()) return fail(Code::kInvalidArgument, "predicate: names fixtures twice");
  return {};
}

// By-products named "receipt" are the builders.
Status splitByproducts(std::vector<Material> all, Provenance& provenance) {
  std::set<std::pair<std::string, std::string>> workers;  // by operator, name
  for (Material& material : all) {
    if (material.name == kFixturesByproduct) KILN_TRY(checkFixtures(material, provenance));
    if (material.name != "receipt") {
      provenance.byproducts.push_back(std::move(material));
      continue;
    }
    const bool foreign = hasSandbox(material);
    Builder builder{material.annotations["worker"], material.annotations["operator"], material.digest,
                    foreign ? material.annotations[kSandboxAnnotation] : ""};
    bool known = material.annotations.size() == (foreign ? 3 : 2) && material.uri.empty();
    if (!known || builder.worker.empty() || builder.operatorName.empty() ||
        foreign == builder.sandbox.empty())
      return fail(
          Code::kInvalidArgument,
          "predicate: a receipt must name its worker and operator, the sandbox if it is not Kiln's, and "
          "nothing else");
    if (!workers.insert({builder.operatorName, builder.worker}).second)
      return fail(Code::kInvalidArgument,
                  "predicate: worker " + inQuotes(builder.worker) + " is listed twice as a builder");
    provenance.builders.push_back(std::move(builder));
  }
  if (provenance.builders.empty())
    return fail(Code::kInvalidArgument, "predicate: names no builder's receipt");
  return {};
}

Status checkParameters(const Provenance& provenance) {
  for (const auto& [name, value] : provenance.externalParameters) {
    auto in = [&](auto& names) {
      return std::find(std::begin(names), std::end(names), name) != std::end(names);
    };
    if (!in(kRequired) && !in(kOptional))
      return fail(Code::kInvalidArgument, "externalParameters: unknown parameter " + inQuotes(name));
  }
  for (std::string_view name : kRequired)
    if (!provenance.externalParameters.contains(std::string(name)))
      return fail(Code::kInvalidArgument, "externalParameters: \"" + std::string(name) + "\" is missing");
  for (const auto& [name, value] : provenance.internalParameters)
    if (provenance.externalParameters.contains(name))
      return fail(Code::kInvalidArgument,
                  "internalParameters: " + inQuotes(name) + " is an external parameter's name");
  return {};
}

Status readDefinition(ObjectReader definition, Provenance& out) {
  KILN_TRY(definition.expect("buildType", kCompileBuildType));
  KILN_ASSIGN(out.externalParameters, readStrings(definition, "externalParameters"));
  KILN_ASSIGN(out.internalParameters, readStrings(definition, "internalParameters"));
  KILN_ASSIGN(out.resolvedDependencies, readMaterials(definition, "resolvedDependencies"));
  KILN_TRY(checkParameters(out));
  return definition.finish();
}

Status readRun(ObjectReader run, Provenance& out) {
  KILN_ASSIGN(ObjectReader builder, run.object("builder"));
  KILN_ASSIGN(out.builderId, builder.string("id"));
  if (out.builderId.empty()) return badMember(builder.path("id"), "must not be empty");
  KILN_ASSIGN(out.builderVersion, readStrings(builder, "version"));
  KILN_TRY(builder.finish());
  KILN_ASSIGN(ObjectReader metadata, run.object("metadata"));
  KILN_ASSIGN(out.invocationId, metadata.string("invocationId"));
  for (auto [name, time] :
       {std::pair{"startedOn", &out.startedOn}, std::pair{"finishedOn", &out.finishedOn}}) {
    KILN_ASSIGN(std::string text, metadata.string(name));
    auto parsed = parseRfc3339(text);
    if (!parsed) return badMember(metadata.path(name), parsed.error().message);
    *time = *parsed;
  }
  if (out.finishedOn < out.startedOn) return badMember(metadata.path("finishedOn"), "is before startedOn");
  KILN_TRY(metadata.finish());
  KILN_ASSIGN(std::vector<Material> byproducts, readMaterials(run, "byproducts"));
  KILN_TRY(splitByproducts(std::move(byproducts), out));
  return run.finish();
}

}  // namespace

std::optional<Digest> Provenance::fixtures() const {
  for (const Material& material : byproducts)
    if (material.name == kFixturesByproduct) return material.digest;
  return {};
}

std::string Provenance::fixturesSandbox() const {
  for (const Material& material : byproducts)
    if (material.name == kFixturesByproduct && hasSandbox(material))
      return material.annotations.at(kSandboxAnnotation);
  return {};
}

std::string sandboxPolicyText(const std::set<Digest>& policies) {
  std::string text;
  for (const Digest& policy : policies) text += (text.empty() ? "" : ",") + policy.text();
  return text;
}

Json Provenance::toJson() const {
  Json inputs = Json::array(), results = Json::array();
  for (const Material& material : resolvedDependencies) inputs.push_back(materialJson(material));
  for (const Builder& builder : builders) {
    Material receipt{
        "receipt", "", builder.receipt, {{"worker", builder.worker}, {"operator", builder.operatorName}}};
    if (!builder.sandbox.empty()) receipt.annotations[kSandboxAnnotation] = builder.sandbox;
    results.push_back(materialJson(receipt));
  }
  for (const Material& material : byproducts) results.push_back(materialJson(material));
  return {{"buildDefinition",
           {{"buildType", kCompileBuildType},
            {"externalParameters", externalParameters},
            {"internalParameters", internalParameters},
            {"resolvedDependencies", std::move(inputs)}}},
          {"runDetails",
           {{"builder", {{"id", builderId}, {"version", builderVersion}}},
            {"metadata",
             {{"invocationId", invocationId},
              {"startedOn", rfc3339(startedOn)},
              {"finishedOn", rfc3339(finishedOn)}}},
            {"byproducts", std::move(results)}}}};
}

Result<Provenance> Provenance::fromJson(const Json& predicate) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(predicate, "predicate"));
  Provenance out;
  KILN_ASSIGN(ObjectReader definition, reader.object("buildDefinition"));
  KILN_TRY(readDefinition(std::move(definition), out));
  KILN_ASSIGN(ObjectReader run, reader.object("runDetails"));
  KILN_TRY(readRun(std::move(run), out));
  KILN_TRY(reader.finish());
  return out;
}

Result<std::string> provenanceStatement(const Digest& artifact, const Provenance& provenance) {
  KILN_TRY(Provenance::fromJson(provenance.toJson()));  // nothing is written that a reader would refuse
  return toCanonicalJson(
      Statement{{{"artifact.json", artifact.hash}}, kProvenanceType, provenance.toJson()}.toJson());
}

}  // namespace kiln
