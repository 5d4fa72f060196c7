#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/cli/artifact/commands.h"
#include "api/cli/base/artifact_option.h"
#include "api/cli/base/print.h"
#include "api/cli/base/trust_settings.h"
#include "api/cli/view/device_view.h"
#include "api/cli/view/provenance_text.h"
#include "api/cli/view/stage_view.h"
#include "api/client/exports/sbom.h"
#include "manifest/base/counted.h"
#include "manifest/base/printable.h"

namespace kiln::cli {
namespace {

std::string tensorText(const TensorInfo& tensor) {
  std::string dims;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const bool named = i < tensor.dimNames.size() && !tensor.dimNames[i].empty();
    dims += fmt::format("{}{}{}", i == 0 ? "" : ",", named ? tensor.dimNames[i] + "=" : "",
                        tensor.shape[i].text());
  }
  return fmt::format("{} {} [{}]", tensor.name, tensor.isText ? "text" : dtypeName(tensor.dtype), dims);
}

void printManifest(const signing::Verdict& verdict) {
  const auto& manifest = verdict.manifest;
  const auto& spec = manifest.spec;
  printOneLine("artifact    " + verdict.artifact.text());
  printOneLine("target      " + spec.target);
  printOneLine("toolchain   " + spec.toolchainDigest.text());
  if (spec.tuning) printOneLine("tuning      " + spec.tuning->text());
  for (const auto& file : spec.files) {
    printOneLine(
        fmt::format("model file  {} {} {}", file.path, file.digest.text(), humanBytes(file.digest.size)));
  }
  for (const auto& profile : spec.profiles) {
    std::string dims;
    for (const auto& [dim, range] : profile.dims) {
      dims += fmt::format(" {}={}:{}:{}{}", dim, range.min, range.opt, range.max,
                          range.multiple == 1 ? "" : fmt::format(":{}", range.multiple));
    }
    printOneLine(fmt::format("profile     {}{}", profile.name, dims));
  }
  printOneLine(fmt::format("numerics    contraction {}, reassociation {}, precision {}",
                           spec.numerics.contraction, spec.numerics.reassociation, spec.numerics.precision));
  for (const auto& symbol : manifest.symbols) {
    printOneLine(fmt::format("symbol      {}: {} {} of input {}{}", symbol.name,
                             symbol.element ? "element" : "dimension", symbol.index, symbol.input,
                             symbol.pad ? ", may be padded" : ""));
  }
  for (const auto& input : manifest.inputs) printOneLine("input       " + tensorText(input));
  for (const auto& output : manifest.outputs) printOneLine("output      " + tensorText(output));
  std::uint64_t weights = 0;
  for (const auto& file : manifest.weights) weights += file.digest.size;
  printOneLine(fmt::format("program     {} {}, ABI {}", manifest.program.path,
                           humanBytes(manifest.program.digest.size), manifest.programAbi));
  for (const std::string& line : deviceLines(manifest)) printOneLine("device      " + line);
  printOneLine(
      fmt::format("weights     {} in {}", humanBytes(weights), counted(manifest.weights.size(), "file")));
  for (const auto& profile : manifest.profiles) {
    printOneLine(fmt::format("memory      profile {}: arena {} and {} per thread{}", profile.name,
                             humanBytes(profile.arenaBytes), humanBytes(profile.scratchBytes),
                             deviceMemoryText(manifest, profile)));
  }
  for (const std::string& line : stageLines(manifest.stages)) printOneLine(line);
}

// " on NVIDIA H200, driver for CUDA 13.0" of a report about a GPU, " on llvmpipe ..., Vulkan 1.3.230 by
// llvmpipe: Mesa 22.3.6 (software)" of one about a Vulkan device; "" of one about a processor.
std::string onDevice(const Json& report) {
  const auto gpu = report.at("device").find("gpu");
  const auto text = [&](const char* member) {
    if (gpu == report.at("device").end() || !gpu->is_object()) return std::string();
    const auto at = gpu->find(member);
    return at != gpu->end() && at->is_string() ? kiln::printable(at->get<std::string>(), 128) : std::string();
  };
  std::string out;
  if (const std::string name = text("name"); !name.empty()) out = " on " + name;
  const std::string driver = text("driver");
  if (text("api") == "vulkan")
    return out + ", Vulkan " + text("apiVersion") + " by " + driver + " (" + text("type") + ")";
  if (!driver.empty()) out += ", driver for CUDA " + driver;
  return out + (saysEmulated(report) ? " (emulated)" : "");
}

// What signed checks found, the latest last.
void printChecks(const std::vector<CheckStatement>& checks) {
  for (const CheckStatement& check : checks) {
    printOneLine(fmt::format("check       {} by {} ({}) at {}{}", check.passed() ? "passed" : "FAILED",
                             check.worker, check.operatorName, rfc3339(check.finishedOn),
                             onDevice(check.report)));
    for (const Json& item : check.report.at("items"))
      printOneLine(fmt::format("  {} {} {}: {}", item.at("passed").get<bool>() ? "passed" : "FAILED",
                               item.at("kind").get<std::string>(), item.at("name").get<std::string>(),
                               item.at("detail").get<std::string>()));
    for (const auto& [key, value] : check.report.at("measured").items())
      printOneLine(
          fmt::format("  {:<20} {}", key, value.is_string() ? value.get<std::string>() : value.dump()));
  }
}

// Prints the verdicts of those who held it against a policy and may say so.
void printVerdicts(const std::vector<signing::Attestation>& attestations) {
  for (const signing::Attestation& each : attestations)
    if (each.summary)
      printOneLine("verdict     " + verdictText(*each.summary) + " by " + each.summary->verifierId);
}

// The IR of its compile that the farm keeps.
void printIr(const IrStatement& ir) {
  std::uint64_t bytes = 0;
  for (const ModelFile& file : ir.files) bytes += file.digest.size;
  printOneLine(fmt::format("IR          {} {} in {} by {} ({})", ir.ir.text(), humanBytes(bytes),
                           counted(ir.files.size(), "file"), ir.worker, ir.operatorName));
}

struct Options {
  std::string artifact, sbom;
};

Status run(const Context& context, const Options& options) {
  KILN_ASSIGN(const auto opened, openArtifact(context, options.artifact));
  if (!options.sbom.empty()) {
    KILN_ASSIGN(const Json bill,
                options.sbom == "spdx" ? client::spdx(opened.verdict) : client::cycloneDx(opened.verdict));
    printJson(bill);
    return {};
  }
  if (context.json) {
    Json checks = Json::array();
    for (const CheckStatement& check : opened.verdict.checks) checks.push_back(check.toJson());
    Json verdicts = Json::array();
    for (const signing::Attestation& each : opened.verdict.attestations)
      if (each.summary) verdicts.push_back(each.summary->toJson());
    Json json{{"artifact", opened.verdict.artifact.text()},
              {"manifest", opened.manifest().toJson()},
              {"checks", std::move(checks)},
              {"verdicts", std::move(verdicts)}};
    if (const IrStatement* ir = opened.verdict.ir()) json["ir"] = ir->toJson();
    printJson(json);
  } else {
    printManifest(opened.verdict);
    if (const IrStatement* ir = opened.verdict.ir()) printIr(*ir);
    printChecks(opened.verdict.checks);
    printVerdicts(opened.verdict.attestations);
  }
  return {};
}

}  // namespace

void addShow(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(app, context, "show", "Show the manifest of a verified artifact, stage by stage",
                             "kiln show DIR", [&context, options] { return run(context, *options); });
  addArtifactOption(command, "ARTIFACT", options->artifact,
                    "sha256:<hex>, 12 digits or more, or a fetched directory")
      ->required();
  command
      .add_option(
          "--sbom", options->sbom,
          "Print what it was made of by its signed provenance, as JSON: cyclonedx (1.6, an ML-BOM) or "
          "spdx (2.3)")
      ->check(CLI::IsMember({"cyclonedx", "spdx"}));
  addFarmOptions(command, context);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli
