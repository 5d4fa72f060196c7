// The statement that a worker has compiled an artifact again for the IR behind each stage of the compiler,
// and which files came out. Described in manifest/FORMAT.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "manifest/artifact/oci_layout.h"
#include "manifest/spec/compile_spec.h"
#include "manifest/statement/stated_run.h"
#include "manifest/statement/statement.h"

namespace kiln {

inline constexpr char kIrType[] = "urn:kiln:predicate:ir:v1";
// The artifactType of the OCI manifest by which IR refers to its artifact.
inline constexpr char kIrArtifactType[] = "application/vnd.kiln.ir.v1";
inline constexpr std::size_t kMaxIrFiles = 1024;          // whose OCI manifest is then one that clients take
inline constexpr std::uint64_t kMaxIrBytes = 256u << 20;  // of all files together

// "application/vnd.kiln.ir.v1" with the files as its layers, in the order given. A pure function: the same
// files of an artifact are the same OCI manifest (makeReferrer()).
Referrer irReferrer(const Digest& artifact, const std::vector<ModelFile>& files);

struct IrStatement : StatedRun {
  Digest toolchain;              // its tree, as in the artifact's spec
  Digest ir;                     // the OCI manifest of irReferrer()
  std::vector<ModelFile> files;  // one per stage, and of several profiles and targets per unit; by path

  // The predicate.
  Json toJson() const;
  // kInvalidArgument naming the member. 1 to 1024 files of 256 MiB together.
  static Result<IrStatement> fromJson(const Json& predicate);
  // kDataLoss unless `ir` is what the files of this artifact make, and the toolchain its spec's.
  Status checkAbout(const Digest& artifact, const CompileSpec& spec) const;
};

// The statement about one artifact, in canonical JSON: what the signer signs. Sets `ir`. kInvalidArgument for
// files that a reader would refuse.
Result<std::string> irStatement(const Digest& artifact, IrStatement& ir);

}  // namespace kiln
