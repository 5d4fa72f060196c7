#include "api/client/artifact_paths.h"

#include <filesystem>

namespace kiln::client {
namespace {

namespace fs = std::filesystem;

// Files below `folder` of `directory`, which need not be there.
Status addFiles(const std::string& directory, const std::string& folder, Paths& paths) {
  std::error_code error;
  const fs::path root = fs::path(directory) / folder;
  if (!fs::exists(root, error)) return {};
  for (fs::recursive_directory_iterator it(root, error), end; !error && it != end; it.increment(error))
    if (it->is_regular_file(error)) paths.insert(fs::relative(it->path(), directory, error).generic_string());
  return error ? Status(fail(errnoError(error.value(), root.string()))) : Status{};
}

}  // namespace

Result<ArtifactPaths> pathsOf(const node::VerifiedArtifact& artifact) {
  ArtifactPaths paths{{"artifact.json", "manifest.json"}, {}};
  for (const ArtifactFile& file : artifact.manifest().files()) paths.own.insert(file.path);
  KILN_TRY(addFiles(artifact.directory, "bundles", paths.evidence));
  // What else lies there was not looked at by whoever verified the directory.
  std::erase_if(paths.evidence, [](const std::string& path) { return !path.ends_with(".sigstore.json"); });
  KILN_TRY(addFiles(artifact.directory, "fixtures", paths.evidence));
  std::error_code error;
  if (fs::exists(fs::path(artifact.directory) / signing::kRecallsFile, error))
    paths.evidence.insert(signing::kRecallsFile);
  return paths;
}

}  // namespace kiln::client
