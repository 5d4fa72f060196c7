#include "manifest/statement/compare.h"

#include <algorithm>
#include <map>
#include <set>

namespace kiln {
namespace {

using Facts = std::map<std::pair<std::string, std::string>, std::string>;  // (what, name) -> value

void addComponents(const ToolchainDescription& toolchain, Facts& facts) {
  for (const ToolchainComponent& component : toolchain.components)
    facts[{"component", component.name + " " + component.path}] =
        component.version + " " + component.digest.text();
}

Facts factsOf(const Provenance& provenance) {
  Facts out;
  for (const auto& [name, value] : provenance.externalParameters) out[{"parameter", name}] = value;
  if (auto policy = provenance.internalParameters.find("sandboxPolicy");
      policy != provenance.internalParameters.end())
    out[{"farm", policy->first}] = policy->second;
  out[{"farm", "builder"}] = provenance.builderId;
  for (const auto& [name, version] : provenance.builderVersion) out[{"farm", name}] = version;
  for (const Material& material : provenance.resolvedDependencies) {
    out[{"input", material.name}] = material.digest.text();
    const auto claimed = material.annotations.find("claimedOrigin");
    if (!material.uri.empty())
      out[{"source", material.name}] = material.uri;
    else if (claimed != material.annotations.end())
      out[{"source", material.name}] = claimed->second + " (claimed)";
  }
  std::map<std::string, std::set<std::string>> operators;  // who has a worker of this name among the builders
  for (const Builder& builder : provenance.builders) operators[builder.worker].insert(builder.operatorName);
  for (const auto& [worker, names] : operators)
    for (const std::string& name : names) {
      std::string& text = out[{"builder", worker}];
      text += (text.empty() ? "" : ", ") + name;
    }
  return out;
}

}  // namespace

std::vector<ProvenanceDifference> compareProvenance(const Provenance& first, const Provenance& second,
                                                    const ToolchainDescription* firstToolchain,
                                                    const ToolchainDescription* secondToolchain) {
  Facts a = factsOf(first), b = factsOf(second);
  if (firstToolchain && secondToolchain) {
    addComponents(*firstToolchain, a);
    addComponents(*secondToolchain, b);
  }
  std::vector<ProvenanceDifference> out;
  for (const auto& [key, value] : a)
    if (auto other = b.find(key); other == b.end() || other->second != value)
      out.push_back({key.first, key.second, value, other == b.end() ? "" : other->second});
  for (const auto& [key, value] : b)
    if (!a.contains(key)) out.push_back({key.first, key.second, "", value});
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace kiln
