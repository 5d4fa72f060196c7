#include "compiler_core/runtime/session/artifact.h"

#include "compiler_core/runtime/program/cpu_features.h"
#include "compiler_core/runtime/session/guards.h"
#include "manifest/base/file.h"

namespace kiln::runtime {
namespace {

constexpr std::uint64_t kMaxDocument = 4u << 20;

// Whatever is wrong with a document of the artifact, the artifact is what is wrong.
Error asInvalidArtifact(Error error, const std::string& path) {
  error.code = Code::kDataLoss;
  return error.in(path);
}

Result<Manifest> readManifest(const std::string& path) {
  KILN_ASSIGN(const std::string text, readDocument(path));
  const auto json = parseStrictJson(text, {.bytes = kMaxDocument});
  if (!json) return fail(asInvalidArtifact(json.error(), path));
  auto manifest = Manifest::fromJson(*json);
  if (!manifest) return fail(asInvalidArtifact(manifest.error(), path));
  return manifest;
}

}  // namespace

Result<std::string> readDocument(const std::string& path) {
  auto text = readRegular(path, kMaxDocument);
  if (!text) return fail(Code::kDataLoss, text.error().message);
  return text;
}

Result<std::shared_ptr<const LoadedArtifact>> LoadedArtifact::load(const std::string& directory) {
  const auto start = std::chrono::steady_clock::now();
  KILN_ASSIGN(Manifest manifest, readManifest(directory + "/manifest.json"));
  KILN_TRY(checkTensorSizes(manifest));
  KILN_TRY(checkHostFeatures(manifest.spec.features, manifest.spec.target));
  KILN_ASSIGN(auto program, Program::load(directory + "/" + manifest.program.path, manifest));
  KILN_ASSIGN(Weights weights, Weights::map(directory, manifest));
  KILN_ASSIGN(DeviceImages images, DeviceImages::read(directory, manifest));
  auto artifact = std::make_shared<LoadedArtifact>();
  artifact->directory = directory;
  artifact->manifest = std::move(manifest);
  artifact->program = std::move(program);
  artifact->weights = std::move(weights);
  artifact->images = std::move(images);
  artifact->loadTime = std::chrono::steady_clock::now() - start;
  return artifact;
}

}  // namespace kiln::runtime
