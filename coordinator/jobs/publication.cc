#include "coordinator/jobs/publication.h"

#include <algorithm>

#include "manifest/artifact/fixture_list.h"
#include "manifest/artifact/oci.h"
#include "manifest/statement/compile_summary.h"
#include "manifest/statement/provenance.h"
#include "manifest/toolchain/description.h"
#include "signing/receipt/receipt.h"

namespace kiln::jobs {
namespace {

Status mismatch(const std::string& what) {
  return fail(Code::kDataLoss, what);
}

Status checkFile(const ArtifactFile& file, const Outputs& outputs) {
  const OutputFile* output = outputs.find(file.path);
  if (!output) return mismatch("the evidence names " + file.path + ", which is not among the outputs");
  if (output->digest != file.digest)
    return mismatch("the evidence gives " + file.path + " another digest than the bytes uploaded have");
  return {};
}

// A source that was given for this file of the spec; files come from sources, so there is one.
const index::SourceRecord& sourceOf(const index::JobSnapshot& job, const std::string& path) {
  return *std::find_if(job.sources.begin(), job.sources.end(),
                       [&](const index::SourceRecord& source) { return source.path == path; });
}

// The spec's inputs with where they came from: a fetched source has a URI, an uploaded one a claim.
std::vector<Material> dependenciesOf(const CompileSpec& spec, const index::JobSnapshot& job) {
  std::vector<Material> out = dependencies(spec);
  for (std::size_t i = 0; i < spec.files.size(); ++i) {
    const index::SourceRecord& source = sourceOf(job, spec.files[i].path);
    if (source.git) out[i + 1].uri = gitUri(*source.git);
    if (source.origin) out[i + 1].annotations["claimedOrigin"] = gitUri(*source.origin);
  }
  return out;
}

// From receipts that were verified when they came; the signer verifies them again.
Result<std::set<Digest>> sandboxPoliciesOf(const std::vector<index::ResultRecord>& evidence) {
  std::set<Digest> policies;
  for (const index::ResultRecord& result : evidence) {
    auto receipt = signing::readReceipt(result.receipt);
    if (!receipt)
      return fail(Code::kDataLoss,
                  "stored receipt of worker " + result.worker + ": " + receipt.error().message);
    policies.insert(receipt->sandboxPolicy);
  }
  return policies;
}

// Whose sandbox it ran in: "" for Kiln's own.
Result<std::string> sandboxOf(const PublicationInput& input, const index::ResultRecord& result) {
  KILN_ASSIGN(const signing::Receipt receipt, signing::readReceipt(result.receipt));
  const auto foreign = input.foreignSandboxes.find(receipt.sandboxPolicy);
  return foreign == input.foreignSandboxes.end() ? std::string() : foreign->second;
}

Result<std::vector<std::string>> receiptDocumentsOf(const std::vector<index::ResultRecord>& results) {
  std::vector<std::string> documents;
  for (const index::ResultRecord& result : results) {
    KILN_ASSIGN(signing::Certificate certificate, signing::Certificate::fromPem(result.certificate));
    KILN_ASSIGN(std::string document, signing::receiptDocument(result.receipt, certificate));
    documents.push_back(std::move(document));
  }
  return documents;
}

Result<Provenance> provenanceOf(const PublicationInput& input, const Publication& publication,
                                const Outputs& outputs) {
  const index::JobSnapshot& job = input.job;
  Provenance out;
  KILN_ASSIGN(out.externalParameters, externalParameters(input.spec));
  out.externalParameters["toolchainLabel"] = job.job.toolchainLabel;
  if (const auto& git = sourceOf(job, input.spec.files[0].path).git)
    out.externalParameters["modelSource"] = gitUri(*git);
  out.internalParameters["action"] = input.action.text();
  out.internalParameters["sandboxPolicy"] = sandboxPolicyText(publication.sandboxPolicies);
  out.resolvedDependencies = dependenciesOf(input.spec, job);
  out.builderId = input.builder.id;
  out.builderVersion = input.builder.version;
  out.invocationId = job.job.key.id;
  out.startedOn = input.evidence.front().leased;
  out.finishedOn = input.evidence.front().recorded;
  for (std::size_t i = 0; i < input.evidence.size(); ++i) {
    const index::ResultRecord& result = input.evidence[i];
    out.startedOn = std::min(out.startedOn, result.leased);
    out.finishedOn = std::max(out.finishedOn, result.recorded);
    KILN_ASSIGN(std::string sandbox, sandboxOf(input, result));
    out.builders.push_back(
        {result.worker, result.operatorName, digestOf(publication.receiptDocuments[i]), std::move(sandbox)});
  }
  out.finishedOn = std::max(out.startedOn, out.finishedOn);
  out.byproducts.push_back({"evidence", "", outputs.find(kEvidenceFile)->digest, {}});
  KILN_ASSIGN(Outputs reference, readOutputs(input.reference));
  const OutputFile* fixtures = reference.find(kFixtureList);
  if (!fixtures) return fail(Code::kDataLoss, "the reference's outputs lack fixtures.json");
  Material made{kFixturesByproduct, "", fixtures->digest, {}};
  KILN_ASSIGN(const std::string sandbox, sandboxOf(input, input.reference));
  if (!sandbox.empty()) made.annotations[kSandboxAnnotation] = sandbox;
  out.byproducts.push_back(std::move(made));
  for (std::size_t i = 0; i < input.dissent.size(); ++i)
    out.byproducts.push_back(
        {kDissentByproduct,
         "",
         digestOf(publication.dissentDocuments[i]),
         {{"worker", input.dissent[i].worker}, {"operator", input.dissent[i].operatorName}}});
  return out;
}

index::PublicationRecord recordOf(const PublicationInput& input, const Manifest& manifest,
                                  const Outputs& outputs, const Publication& publication) {
  index::PublicationRecord record;
  index::ArtifactRecord& artifact = record.artifact;
  artifact.instance = input.job.job.key.instance;
  artifact.digest = digestOf(publication.ociManifest);
  artifact.config = outputs.find(kManifestFile)->digest;
  artifact.target = input.spec.target;
  artifact.toolchainLabel = input.job.job.toolchainLabel;
  artifact.toolchainDigest = input.spec.toolchainDigest;
  artifact.published = input.now;
  for (const ArtifactFile& file : manifest.files())
    artifact.files.push_back({file.path, file.mediaType, file.digest});
  record.job = input.job.job.key;
  record.targetOrdinal = input.target;
  record.action = input.action;
  record.bundle.payload = digestOf(publication.statement);
  record.bundle.predicateType = kProvenanceType;
  record.bundle.jobId = record.job.id;
  record.bundle.recorded = input.now;
  record.materials = materialsOf(input.spec, input.job, input.toolchain);
  for (const index::ResultRecord& result : input.evidence)
    record.builders.push_back({result.worker, result.operatorName});
  return record;
}

}  // namespace

std::string gitUri(const index::GitSource& source) {
  return "git+" + source.url + "@" + source.commit + "#" + source.path;
}

Result<Manifest> checkCompileOutputs(const CompileSpec& spec, const Outputs& outputs,
                                     std::string_view evidenceText, std::string_view manifestText) {
  auto evidence = parseStrictJson(evidenceText);
  if (!evidence) return fail(evidence.error().in(kEvidenceFile));
  auto manifest = makeManifest(spec, *evidence);
  if (!manifest) return fail(manifest.error().in(kEvidenceFile));
  KILN_ASSIGN(std::string text, toCanonicalJson(manifest->toJson()));
  if (text != manifestText)
    KILN_TRY(mismatch("manifest.json is not what the spec and the compiler's evidence make"));
  KILN_TRY(checkFile(manifest->program, outputs));
  for (const ArtifactFile& file : manifest->weights) KILN_TRY(checkFile(file, outputs));
  return std::move(*manifest);
}

Status checkReferenceOutputs(const Outputs& outputs, std::string_view list) {
  auto fixtures = parseFixtureList(list);
  if (!fixtures) return mismatch(fixtures.error().in(kFixtureList).message);
  for (const FixtureFile& file : fixtures->files) {
    const OutputFile* output = outputs.find(file.path);
    if (!output || output->digest != file.digest)
      return mismatch("fixtures.json lists " + file.path + ", which is not among the outputs as it says");
  }
  if (outputs.files.size() != fixtures->files.size() + 1)
    return mismatch("the outputs have files that fixtures.json does not list");
  return {};
}

std::vector<index::MaterialRecord> materialsOf(const CompileSpec& spec, const index::JobSnapshot& job,
                                               const index::ToolchainRecord& toolchain) {
  std::vector<index::MaterialRecord> out;
  for (const Material& material : dependenciesOf(spec, job)) {
    const char* kind = out.empty() ? "toolchain" : out.size() == 1 ? "model" : "data";
    auto claimed = material.annotations.find("claimedOrigin");
    const std::string& uri =
        material.uri.empty() && claimed != material.annotations.end() ? claimed->second : material.uri;
    out.push_back({kind, material.name, uri, material.digest});
  }
  // The description was validated when the label was added; an unreadable one names no components.
  if (auto description = readToolchainDescription(toolchain.description))
    for (const ToolchainComponent& component : description->components)
      out.push_back({"component", component.name + " " + component.path, "", component.digest});
  return out;
}

Result<Publication> makePublication(const PublicationInput& input) {
  KILN_ASSIGN(Outputs outputs, readOutputs(input.evidence.front()));
  if (!outputs.find(kEvidenceFile) || !outputs.find(kManifestFile))
    return fail(Code::kDataLoss, "the outputs lack evidence.json or manifest.json");
  KILN_ASSIGN(Manifest manifest,
              checkCompileOutputs(input.spec, outputs, input.evidenceText, input.manifestText));
  Publication out;
  KILN_ASSIGN(out.sandboxPolicies, sandboxPoliciesOf(input.evidence));
  KILN_ASSIGN(out.ociManifest, makeOciManifest(manifest, outputs.find(kManifestFile)->digest));
  KILN_ASSIGN(out.receiptDocuments, receiptDocumentsOf(input.evidence));
  KILN_ASSIGN(out.dissentDocuments, receiptDocumentsOf(input.dissent));
  KILN_ASSIGN(Provenance provenance, provenanceOf(input, out, outputs));
  KILN_ASSIGN(out.statement, provenanceStatement(digestOf(out.ociManifest), provenance));
  KILN_ASSIGN(out.compile,
              compileStatement(digestOf(out.ociManifest), manifest, outputs.find(kManifestFile)->digest));
  out.record = recordOf(input, manifest, outputs, out);
  return out;
}

}  // namespace kiln::jobs
