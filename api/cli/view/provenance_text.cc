#include "api/cli/view/provenance_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/cli/base/print.h"
#include "manifest/base/printable.h"
#include "manifest/statement/compile_summary.h"

namespace kiln::cli {
namespace {

void printMaterial(const char* title, const Material& material) {
  std::string text = fmt::format("  {:<10} {} {}", title, material.name, material.digest.text());
  if (!material.uri.empty()) text += " from " + material.uri;
  for (const auto& [key, value] : material.annotations) text += fmt::format(" {}={}", key, value);
  printOneLine(text);
}

void printMembers(const std::map<std::string, std::string>& members) {
  for (const auto& [key, value] : members) printOneLine(fmt::format("  {:<16} {}", key, value));
}

void printStatement(const Provenance& provenance, const std::string& statement) {
  printOneLine("built by    " + provenance.builderId);
  printOneLine("statement   " + statement);
  printOneLine("job         " + provenance.invocationId);
  printOneLine(
      fmt::format("time        {} to {}", rfc3339(provenance.startedOn), rfc3339(provenance.finishedOn)));
  for (const auto& builder : provenance.builders)
    printOneLine(fmt::format("  {:<10} {} of {}, receipt {}{}", "worker", builder.worker,
                             builder.operatorName, builder.receipt.text(),
                             builder.sandbox.empty() ? "" : ", not in Kiln's sandbox: " + builder.sandbox));
  printOneLine("from");
  for (const auto& material : provenance.resolvedDependencies) printMaterial("material", material);
  printOneLine("as asked");
  printMembers(provenance.externalParameters);
  printOneLine("decided by the farm");
  printMembers(provenance.internalParameters);
  printMembers(provenance.builderVersion);
  if (!provenance.byproducts.empty()) printOneLine("and left");
  for (const auto& material : provenance.byproducts) printMaterial("by-product", material);
}

void printReproduction(const Digest& artifact, const Reproduction& again) {
  printOneLine(
      fmt::format("reproduced  by {} of {} ({})", again.worker, again.operatorName, again.rebuilderId));
  printOneLine("statement   " + graph::statementOf(artifact, again));
  printOneLine(fmt::format("time        {} to {}", rfc3339(again.startedOn), rfc3339(again.finishedOn)));
  if (!again.invocationId.empty()) printOneLine("job         " + again.invocationId);
  printOneLine(fmt::format("  {:<16} {}", "compile", again.compile.text()));
  if (again.reference) printOneLine(fmt::format("  {:<16} {}", "reference", again.reference->text()));
  printOneLine(fmt::format("  {:<16} {}", "sandboxPolicy", again.sandboxPolicy.text()));
  for (const auto& file : again.absent)
    printOneLine(fmt::format("  {:<16} {} {}", "without", file.path, file.digest.text()));
}

void printCheck(const Digest& artifact, const CheckStatement& check) {
  printOneLine(fmt::format("check       {} by {} of {}, {}", check.passed() ? "passed" : "failed",
                           check.worker, check.operatorName, rfc3339(check.finishedOn)));
  printOneLine("statement   " + graph::statementOf(artifact, check));
}

// What else was said: of the compile, and by others.
void printAttestation(const signing::Attestation& said) {
  const char* how = said.summary                         ? "judged"
                    : said.image                         ? "imaged"
                    : said.ir                            ? "compiled"
                    : said.predicateType == kCompileType ? "summarised"
                                                         : "attested";
  printOneLine(fmt::format("{:<11} by {}", how, fmt::join(said.evidence.ids, ", ")));
  if (said.summary)
    printOneLine("  verdict    " + verdictText(*said.summary));
  else if (said.image)
    printOneLine("  image      " + said.image->text());
  else if (said.ir)
    printOneLine("  IR         " + said.ir->ir.text());
  else if (said.predicateType != kCompileType)
    printOneLine("  type       " + said.predicateType);
  printOneLine("statement   " + said.evidence.payload.text());
}

}  // namespace

std::string verdictText(const VerificationSummary& said) {
  return fmt::format("{} under {} ({}) at {}{}", said.passed() ? "PASSED" : "FAILED", said.policyUri,
                     said.policy.text(), rfc3339(said.timeVerified),
                     said.passed() ? "" : fmt::format(": {}", fmt::join(said.failed, ", ")));
}

void printOneLine(std::string_view text) {
  printLine(kiln::printable(text, std::string::npos));
}

void printProvenance(const signing::Verdict& verdict, const graph::Ancestry& ancestry) {
  printOneLine("artifact    " + verdict.artifact.text());
  for (const auto& built : ancestry.provenances) printStatement(built.provenance, built.statement);
  if (ancestry.toolchain) {
    printOneLine("toolchain   " + ancestry.toolchain->label);
    for (const auto& component : ancestry.toolchain->components)
      printOneLine(fmt::format("  {:<10} {} {} {} {}", "component", component.name, component.version,
                               component.path, component.digest.text()));
  }
  for (const auto& again : verdict.reproductions) printReproduction(verdict.artifact, again);
  for (const auto& check : verdict.checks) printCheck(verdict.artifact, check);
  for (const auto& said : verdict.attestations) printAttestation(said);
  for (const auto& tombstone : verdict.tombstones)
    printOneLine(fmt::format("tombstone   not rebuildable since {}: {}", rfc3339(tombstone.issuedOn),
                             tombstone.reason));
  for (const auto& submitter : ancestry.submitters)
    printOneLine(fmt::format("submitted   by {} as job {} (the farm's record, signed by nobody)",
                             submitter.name, submitter.job));
  for (const auto& line : verdict.lines)
    if (line.detail.starts_with("not counted")) printOneLine(line.check + "    " + line.detail);
}

}  // namespace kiln::cli
