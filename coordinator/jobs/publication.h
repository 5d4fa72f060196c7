// From agreed outputs to what is published: OCI manifest, provenance and compile statements, index rows.
// Pure: two coordinators, or one before and after a crash, make the same bytes from the same stored state, so
// signing again returns the first bundle. Nothing is taken from a worker but bytes that the coordinator has
// hashed itself.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/jobs/evidence.h"
#include "manifest/artifact/document_limit.h"
#include "manifest/artifact/manifest.h"
#include "manifest/spec/compile_spec.h"
#include "storage/index/rows/records.h"

namespace kiln::jobs {

// The two documents among a compile's outputs that the coordinator reads, and how large they may be.
inline constexpr char kEvidenceFile[] = "evidence.json";
inline constexpr char kManifestFile[] = "manifest.json";
inline constexpr std::uint64_t kMaxDocument = kMaxCompileDocumentBytes;

// kDataLoss unless `list` is a well-formed fixtures.json of exactly the other outputs.
Status checkReferenceOutputs(const Outputs& outputs, std::string_view list);

// Computes the Manifest from the spec that the coordinator asked for and the compiler's evidence, and
// compares: with the manifest.json that the worker uploaded, and each file it names with the worker's
// outputs. kDataLoss if any differs, naming it.
Result<Manifest> checkCompileOutputs(const CompileSpec& spec, const Outputs& outputs,
                                     std::string_view evidenceText, std::string_view manifestText);

// Who this farm says it is.
struct BuilderIdentity {
  std::string id;                              // the builder.id URI that trust roots name
  std::map<std::string, std::string> version;  // "kiln" -> "0.1.0"
};

struct PublicationInput {
  const index::JobSnapshot& job;
  const index::ToolchainRecord& toolchain;
  int target = 0;
  Digest action;
  const CompileSpec& spec;
  const std::vector<index::ResultRecord>& evidence;  // at least one; all agree
  const std::vector<index::ResultRecord>& dissent;   // left something else and were outvoted
  const index::ResultRecord& reference;              // made the fixtures
  std::string_view evidenceText, manifestText;
  const BuilderIdentity& builder;
  TimePoint now;  // for the index alone
  // Of the sandbox policies of evidence and reference, those that are not Kiln's: their names.
  std::map<Digest, std::string> foreignSandboxes = {};
};

struct Publication {
  std::string ociManifest;                    // canonical JSON; its digest is the artifact's
  std::string statement;                      // the provenance, canonical JSON, to be signed
  std::string compile;                        // the compile statement, likewise
  std::vector<std::string> receiptDocuments;  // of the builders; blobs that the statement names
  std::vector<std::string> dissentDocuments;  // receipts of the outvoted; blobs that the statement names
  std::set<Digest> sandboxPolicies;           // by the receipts; blobs that the workers left
  index::PublicationRecord record;            // all but the digests of the bundle and of the fixtures' tree
};

Result<Publication> makePublication(const PublicationInput& input);

// What a statement of this job about its inputs must name, to tell whether an artifact already has such a
// statement.
std::vector<index::MaterialRecord> materialsOf(const CompileSpec& spec, const index::JobSnapshot& job,
                                               const index::ToolchainRecord& toolchain);

// "git+https://host/repo@<commit>#<path>"
std::string gitUri(const index::GitSource& source);

}  // namespace kiln::jobs
