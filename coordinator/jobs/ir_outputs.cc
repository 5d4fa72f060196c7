#include "coordinator/jobs/ir_outputs.h"

#include <fmt/format.h>

#include "manifest/base/exit_code.h"
#include "manifest/json/json.h"
#include "manifest/statement/ir_statement.h"

namespace kiln::jobs {
namespace {

constexpr std::string_view kIrPrefix = "ir/";

Status checkSame(const Outputs& outputs, const std::string& path, const Digest& wanted) {
  const OutputFile* file = outputs.find(path);
  if (file && file->digest == wanted) return {};
  return fail(
      Error{Code::kFailedPrecondition,
            fmt::format("the compile for the IR made another artifact: {} is {}, and not {}; the IR is "
                        "not kept",
                        path, file ? file->digest.text() : "missing", wanted.text()),
            Json{{"exitCode", kExitNotReproducible}}.dump()});
}

}  // namespace

std::vector<ModelFile> irFiles(const Outputs& outputs) {
  std::vector<ModelFile> out;
  for (const OutputFile& file : outputs.files)
    if (file.path.starts_with(kIrPrefix)) out.push_back({file.path.substr(kIrPrefix.size()), file.digest});
  return out;
}

Status checkIrOutputs(const Outputs& outputs, const OciManifest& artifact) {
  KILN_TRY(checkSame(outputs, kIrManifestFile, artifact.config));
  for (const ArtifactFile& layer : artifact.layers)
    KILN_TRY(checkSame(outputs, "artifact/" + layer.path, layer.digest));
  const std::vector<ModelFile> files = irFiles(outputs);
  std::uint64_t bytes = 0;
  for (const ModelFile& file : files) bytes += file.digest.size;
  if (files.size() <= kMaxIrFiles && bytes <= kMaxIrBytes) return {};
  return fail(
      Code::kUnimplemented,
      fmt::format("the IR has {} bytes in {} files; at most {} in {} are kept: build without --keep-ir, "
                  "and write it by hand with kiln-cc compile --emit-ir",
                  bytes, files.size(), kMaxIrBytes, kMaxIrFiles));
}

}  // namespace kiln::jobs
