#include <fmt/format.h>

#include "api/cli/commands.h"
#include "api/cli/print.h"
#include "api/cli/trust_settings.h"
#include "manifest/base/printable.h"

namespace kiln::cli {
namespace {

struct Options {
  std::string artifact, format = "text";
};

void printMaterial(const char* title, const Material& material) {
  std::string text = fmt::format("  {:<10} {} {}", title, material.name, material.digest.text());
  if (!material.uri.empty()) text += " from " + material.uri;
  for (const auto& [key, value] : material.annotations) text += fmt::format(" {}={}", key, value);
  printLine(text);
}

void printStatement(const Provenance& provenance) {
  printLine("built by    " + provenance.builderId);
  printLine("job         " + provenance.invocationId);
  printLine(
      fmt::format("time        {} to {}", rfc3339(provenance.startedOn), rfc3339(provenance.finishedOn)));
  for (const auto& builder : provenance.builders) {
    printLine(fmt::format("  {:<10} {} of {}, receipt {}", "worker", builder.worker, builder.operatorName,
                          builder.receipt.text()));
  }
  printLine("from");
  for (const auto& material : provenance.resolvedDependencies) printMaterial("material", material);
  printLine("as asked");
  for (const auto& [key, value] : provenance.externalParameters)
    printLine(fmt::format("  {:<16} {}", key, value));
  printLine("decided by the farm");
  for (const auto& [key, value] : provenance.internalParameters)
    printLine(fmt::format("  {:<16} {}", key, value));
  for (const auto& [key, value] : provenance.builderVersion)
    printLine(fmt::format("  {:<16} {}", key, value));
  if (!provenance.byproducts.empty()) printLine("and left");
  for (const auto& material : provenance.byproducts) printMaterial("by-product", material);
}

void printReproduction(const Reproduction& again) {
  printLine(fmt::format("reproduced  by {} of {} ({})", again.worker, again.operatorName, again.rebuilderId));
  printLine(fmt::format("time        {} to {}", rfc3339(again.startedOn), rfc3339(again.finishedOn)));
  if (!again.invocationId.empty()) printLine("job         " + again.invocationId);
  printLine(fmt::format("  {:<16} {}", "compile", again.compile.text()));
  if (again.reference) printLine(fmt::format("  {:<16} {}", "reference", again.reference->text()));
  printLine(fmt::format("  {:<16} {}", "sandboxPolicy", again.sandboxPolicy.text()));
  for (const auto& file : again.absent)
    printLine(fmt::format("  {:<16} {} {}", "without", file.path, file.digest.text()));
}

// Everything shown is read from statements whose signatures hold under the named root; the index is not
// asked.
Status run(const Context& context, const Options& options) {
  if (options.format != "text" && options.format != "json") {
    return fail(Code::kInvalidArgument, "--format " + options.format + ": text and json are served");
  }
  KILN_ASSIGN(const auto opened, openArtifact(context, options.artifact));
  const auto& statements = opened.verdict.statements;
  if (context.json || options.format == "json") {
    Json list = Json::array();
    for (const auto& provenance : statements) list.push_back(provenance.toJson());
    Json reproductions = Json::array();
    for (const auto& again : opened.verdict.reproductions) reproductions.push_back(again.toJson());
    Json tombstones = Json::array();
    for (const auto& tombstone : opened.verdict.tombstones) tombstones.push_back(tombstone.toJson());
    printJson({{"artifact", opened.verdict.artifact.text()},
               {"provenance", std::move(list)},
               {"reproductions", std::move(reproductions)},
               {"tombstones", std::move(tombstones)}});
    return {};
  }
  printLine("artifact    " + opened.verdict.artifact.text());
  for (const auto& provenance : statements) printStatement(provenance);
  for (const auto& again : opened.verdict.reproductions) printReproduction(again);
  for (const auto& tombstone : opened.verdict.tombstones)
    printLine(fmt::format("tombstone   not rebuildable since {}: {}", rfc3339(tombstone.issuedOn),
                          kiln::printable(tombstone.reason, kMaxTombstoneReason)));
  for (const auto& line : opened.verdict.lines)
    if (line.detail.starts_with("not counted")) printLine(line.check + "    " + line.detail);
  return {};
}

}  // namespace

void addProvenance(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(
      app, context, "provenance", "Who built and reproduced an artifact from what, by its signed statements",
      "kiln provenance sha256:<hex> --format json", [&context, options] { return run(context, *options); });
  command.add_option("ARTIFACT", options->artifact, "sha256:<hex> or a fetched directory")->required();
  command.add_option("--format", options->format, "text or json");
  addFarmOptions(command, context);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli
