// From a CompileSpec to the parameters and dependencies of its provenance, and back as a check.
#include <algorithm>

#include "manifest/statement/provenance.h"
#include "manifest/tuning/entries.h"

namespace kiln {

Result<std::map<std::string, std::string>> externalParameters(const CompileSpec& spec) {
  if (spec.files.empty()) return fail(Code::kInvalidArgument, "spec.files: names no model");
  Json json = spec.toJson();
  std::map<std::string, std::string> out;
  for (const char* name : {"profiles", "pins", "numerics", "budgets"}) {
    KILN_ASSIGN(out[name], toCanonicalJson(json[name]));
  }
  for (const char* name : {"sequences", "parameters", "partition"}) {
    if (!json.contains(name)) continue;
    KILN_ASSIGN(out[name], toCanonicalJson(json[name]));
  }
  KILN_ASSIGN(out["features"], toCanonicalJson(json["target"]["features"]));
  Json data = json["files"];
  data.erase(0);
  KILN_ASSIGN(out["externalData"], toCanonicalJson(data));
  out["model"] = spec.files[0].digest.text();
  out["toolchain"] = spec.toolchainDigest.text();
  out["target"] = spec.target;
  out["outOfProfile"] = spec.outOfProfile;
  out["fallback"] = spec.fallback;
  return out;
}

std::vector<Material> dependencies(const CompileSpec& spec) {
  std::vector<Material> out;
  out.push_back({"toolchain", "", spec.toolchainDigest, {}});
  for (const ModelFile& file : spec.files) out.push_back({"input/" + file.path, "", file.digest, {}});
  if (spec.tuning) out.push_back({std::string("input/") + kTuningEntriesFile, "", *spec.tuning, {}});
  return out;
}

Status checkAgainstSpec(const Provenance& provenance, const CompileSpec& spec) {
  KILN_ASSIGN(auto wanted, externalParameters(spec));
  for (const auto& [name, value] : wanted) {
    auto found = provenance.externalParameters.find(name);
    if (found == provenance.externalParameters.end() || found->second != value)
      return fail(Code::kInvalidArgument,
                  "externalParameters." + name + " is not what the artifact's spec says");
  }
  std::vector<Material> inputs = dependencies(spec);
  bool same = std::equal(inputs.begin(), inputs.end(), provenance.resolvedDependencies.begin(),
                         provenance.resolvedDependencies.end(), [](const Material& a, const Material& b) {
                           return a.name == b.name && a.digest == b.digest;
                         });
  if (!same)
    return fail(Code::kInvalidArgument,
                "resolvedDependencies are not the toolchain and files that the artifact's spec names");
  return {};
}

}  // namespace kiln
