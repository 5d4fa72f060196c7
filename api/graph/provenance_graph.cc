#include "api/graph/provenance_graph.h"

namespace kiln::graph {
namespace {

constexpr std::size_t kShortDigest = 7 + 16;  // "sha256:" and 16 digits
constexpr std::size_t kMaxComponents = 40;

std::string brief(const std::string& digest) {
  return digest.substr(0, kShortDigest);
}

// The processor that a report names (compiler_core/runtime/check/report.h); "" if it names none.
std::string deviceOf(const CheckStatement& check) {
  const auto device = check.report.find("device");
  if (device == check.report.end() || !device->is_object()) return "";
  const auto name = device->find("processor");
  return name != device->end() && name->is_string() ? name->get<std::string>() : "";
}

class Drawing {
 public:
  explicit Drawing(const Ancestry& ancestry)
      : ancestry_(ancestry),
        artifact_(graph_.node("artifact", Shape::kArtifact, {"artifact", brief(ancestry.artifact.text())})) {}

  Graph draw() {
    for (const Built& built : ancestry_.provenances) add(built.provenance, built.statement);
    for (const Reproduction& again : ancestry_.reproductions)
      later("reproduced", again.worker, again.operatorName, statementOf(ancestry_.artifact, again), "");
    for (const CheckStatement& check : ancestry_.checks)
      later(check.passed() ? "check passed" : "check failed", check.worker, check.operatorName,
            statementOf(ancestry_.artifact, check), deviceOf(check));
    return std::move(graph_);
  }

 private:
  std::size_t who(const std::string& worker, const std::string& operatorName) {
    return graph_.node("worker " + worker, Shape::kWho, {"worker " + worker, "of " + operatorName});
  }

  void source(const std::string& uri, const char* heading, std::size_t input) {
    if (!uri.empty()) graph_.edge(graph_.node("source " + uri, Shape::kSource, {heading, uri}), input);
  }

  std::size_t toolchain(const Material& material) {
    std::vector<std::string> lines{"toolchain", brief(material.digest.text())};
    if (ancestry_.toolchain) lines[0] += " " + ancestry_.toolchain->label;
    const std::size_t node = graph_.node("input " + material.digest.text(), Shape::kInput, std::move(lines));
    if (!ancestry_.toolchain) return node;
    const auto& components = ancestry_.toolchain->components;
    for (std::size_t i = 0; i < components.size() && i < kMaxComponents; ++i)
      graph_.edge(
          graph_.node("part " + components[i].path, Shape::kPart,
                      {components[i].name + " " + components[i].version, brief(components[i].digest.text())}),
          node);
    if (components.size() > kMaxComponents)
      graph_.edge(
          graph_.node("parts", Shape::kPart,
                      {"and " + std::to_string(components.size() - kMaxComponents) + " more components"}),
          node);
    return node;
  }

  void add(const Provenance& provenance, const std::string& digest) {
    const std::size_t built = graph_.node(
        "statement " + digest, Shape::kStatement,
        {"built by " + provenance.builderId, "statement " + brief(digest), rfc3339(provenance.finishedOn)});
    graph_.edge(built, artifact_);
    for (std::size_t i = 0; i < provenance.resolvedDependencies.size(); ++i) {
      const Material& material = provenance.resolvedDependencies[i];
      const std::size_t input = i == 0 ? toolchain(material)
                                       : graph_.node("input " + material.digest.text(), Shape::kInput,
                                                     {material.name, brief(material.digest.text())});
      graph_.edge(input, built);
      source(material.uri, "git", input);
      if (const auto claimed = material.annotations.find("claimedOrigin");
          claimed != material.annotations.end())
        source(claimed->second, "git, as the submitter claims", input);
    }
    for (const Builder& builder : provenance.builders)
      graph_.edge(who(builder.worker, builder.operatorName), built);
    for (const Submitter& submitter : ancestry_.submitters)
      if (submitter.job == provenance.invocationId)
        graph_.edge(graph_.node("submitter " + submitter.name, Shape::kWho,
                                {"submitter " + submitter.name, "as the farm recorded"}),
                    built);
  }

  void later(const char* what, const std::string& worker, const std::string& operatorName,
             const std::string& digest, const std::string& device) {
    std::vector<std::string> lines{std::string(what) + " by " + worker, "of " + operatorName,
                                   "statement " + brief(digest)};
    if (!device.empty()) lines.push_back("on " + device);
    graph_.edge(artifact_, graph_.node("statement " + digest, Shape::kStatement, std::move(lines)));
  }

  const Ancestry& ancestry_;
  Graph graph_;
  const std::size_t artifact_;
};

std::string digestText(const Result<std::string>& statement) {
  return statement ? digestOf(*statement).text() : "";
}

}  // namespace

Graph provenanceGraph(const Ancestry& ancestry) {
  return Drawing(ancestry).draw();
}

std::string statementOf(const Digest& artifact, const Reproduction& said) {
  return digestText(reproductionStatement(artifact, said));
}
std::string statementOf(const Digest& artifact, const CheckStatement& said) {
  return digestText(checkStatement(artifact, said));
}

}  // namespace kiln::graph
